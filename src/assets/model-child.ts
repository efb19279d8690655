import { fork } from 'node:child_process';
import { programPath } from '../kernel/programs.ts';
import type { ModelCheck } from './asset-messages.ts';

/**
 * Choice: starting Node and the runtime takes some 300 ms, 100 MB of model a few seconds; a check that takes longer than this never ends.
 */
const CHECK_MS_MAX = 30_000;

/**
 * Checks a model in a separate process, so that a file that crashes or blocks the loading process affects no other. Never rejects. The path
 * is a folder, a `.onnx` file or a `.json` file.
 */
export function checkModelApart(path: string, msMax = CHECK_MS_MAX): Promise<ModelCheck> {
  return new Promise((resolve) => {
    const child = fork(programPath('model-check-child'), [path], {
      // The child must not inherit the parent's debugger or loaders.
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, msMax);
    const end = (check: ModelCheck): void => {
      clearTimeout(timer);
      resolve(check);
    };
    child.once('message', (message) => {
      end(message as ModelCheck);
      child.disconnect();
    });
    child.once('error', (error) => end(failed(`the check did not start: ${error.message}`)));
    child.once('exit', (code, signal) => {
      if (timedOut) end(failed(`loading took longer than ${msMax} ms`));
      else end(failed(`loading ended the process (${signal ?? `exit code ${code}`})`));
    });
  });
}

function failed(detail: string): ModelCheck {
  return { kind: 'fault', code: 'load_failed', detail };
}
