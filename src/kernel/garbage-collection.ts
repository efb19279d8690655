import { setFlagsFromString } from 'node:v8';

/**
 * The phases of a collection that V8 divides among threads while the collecting thread stands still. Never add `--no-parallel-marking`: with
 * concurrent marking, which stays on, it ends the process (Node.js 20).
 */
const UNDIVIDED = ['--no-parallel-scavenge', '--no-parallel-compaction', '--no-parallel-pointer-update'] as const;

/**
 * Makes each thread of this process do its collections alone. By default the thread waits for V8's helper threads, each of which may wait
 * for a processor first.
 * Measured (two busy processors, five young collections a second): a collection stops the thread for 0.6 ms instead of 3.7 ms; 2.7 ms of
 * these it waited for helpers, up to 98 ms once. Its own processor time is the same, 0.33 ms.
 */
export function collectGarbageAlone(): void {
  for (const flag of UNDIVIDED) setFlagsFromString(flag);
}
