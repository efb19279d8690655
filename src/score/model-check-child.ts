import { checkModel } from './model-check.ts';

/**
 * Checks the model whose path is the first argument, in a process of its own, and sends the result to the parent. The process ends when the
 * parent closes the channel or exits, without unloading the runtime.
 */
const [, , path] = process.argv;
const send = process.send?.bind(process);
if (send === undefined || path === undefined) throw new Error('this program must be forked with a path');
process.once('disconnect', () => process.exit(0));
// Not awaited: a program of the bundle is a CommonJS file. A rejection ends the process, which the parent reports.
void checkModel(path).then((check) => send(check));
