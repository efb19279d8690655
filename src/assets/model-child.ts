import type { ModelCheck } from './asset-messages.ts';
import { CheckChild } from './check-child.ts';

/**
 * Choice: starting Node and the runtime takes some 300 ms, 100 MB of model a few seconds; a check that takes longer than this never ends.
 */
const CHECK_MS_MAX = 30_000;
/** Choice: loading takes several times the size of the file, which is at most 256 MiB. Files of a few MB take some 150 MiB. */
const MEMORY_BYTES_MAX = 2 * 1024 * 1024 * 1024;

/**
 * Checks a model in a separate process, so that a file that crashes or blocks the loading process, or takes all memory, affects no other.
 * Never rejects. The path is a folder, a `.onnx` file or a `.json` file.
 */
export async function checkModelApart(path: string, msMax = CHECK_MS_MAX): Promise<ModelCheck> {
  const child = new CheckChild('model-check-child', MEMORY_BYTES_MAX);
  const answer = await child.ask(path, msMax);
  child.close();
  if (answer.kind === 'answer') return answer.message as ModelCheck;
  const detail = answer.kind === 'absent' ? `the check did not start: ${answer.detail}` : `loading ${answer.detail}`;
  return { kind: 'fault', code: 'load_failed', detail };
}
