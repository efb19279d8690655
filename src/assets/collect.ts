import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Choice: a collection stops its thread for some 10 ms, which is not worth it for less memory than this. */
const WORTH_BYTES = 16 * 1024 * 1024;

let collect: (() => void) | null = null;

/**
 * Collects this thread's garbage after that many bytes of shared memory were released. V8 does not count shared memory towards the heap, so
 * without this a replaced database stays in memory until the heap itself has grown; on an idle server that never happens.
 * Measured: 12 swaps of a 134 MB database took the process from 290 to 1,250 MB without it. With it the process stays at 224 MB, and each
 * swap stops its thread for 8 to 20 ms.
 */
export function collectShared(bytes: number): void {
  if (bytes < WORTH_BYTES) return;
  if (collect === null) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  // Deferred: the replaced object is still on the caller's stack.
  setImmediate(() => collect?.());
}
