import { checkModel } from './model-check.ts';

/**
 * Checks the model whose path is the first argument, in a process of its own, and sends the result to the parent. The process ends when the
 * parent closes the channel or exits, without unloading the runtime.
 */
const [, , path] = process.argv;
if (process.send === undefined || path === undefined) throw new Error('this program must be forked with a path');
process.once('disconnect', () => process.exit(0));
process.send(await checkModel(path));
