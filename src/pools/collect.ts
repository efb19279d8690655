import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Choice: a collection stops its thread for some 10 ms, which less memory than this is not worth. */
const WORTH_BYTES = 16 * 1024 * 1024;

let collect: (() => void) | null = null;

/**
 * Collects this thread's garbage after shared memory of that many bytes was let go of. The engine does not count shared memory towards its
 * heap, so without this a replaced database stays until the heap itself has grown, on an idle server for ever.
 * Measured: 12 swaps of a 134 MB database took the process from 290 to 1,250 MB without; with it they stay at 224 MB, and each stops its
 * thread for 8 to 20 ms.
 */
export function collectShared(bytes: number): void {
  if (bytes < WORTH_BYTES) return;
  if (collect === null) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  // Not now: what is being replaced is still on the caller's stack.
  setImmediate(() => collect?.());
}
