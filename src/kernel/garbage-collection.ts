import { setFlagsFromString } from 'node:v8';

/**
 * The phases of a collection that V8 divides among threads, or gives to one, while the collecting thread may have to wait for it. Never add
 * `--no-parallel-marking`: with concurrent marking, which stays on, it ends the process (Node.js 20).
 */
const UNDIVIDED = [
  '--no-parallel-scavenge',
  '--no-parallel-compaction',
  '--no-parallel-pointer-update',
  '--no-concurrent-array-buffer-sweeping',
] as const;

/**
 * V8 collects the whole heap when it, with the buffers outside, has grown by this much since the last time. At the server's rate of
 * allocation V8 itself permits some 10 MB, a few large bodies.
 */
const GROWTH = '--heap-growing-percent=100';

/**
 * Threads that mark the heap of one isolate while it runs. By default all four helper threads of Node.js may: on two processors they
 * leave too little to the threads that decide.
 * Measured (two processors, open loop at 3,000/s, three rounds in turn): p99.9 14 to 20 ms with V8's default, 7 to 8 ms with one. Isolates
 * read it when they are created, so it counts for threads that start later, not for the one that sets it (D-547).
 */
export const MARKING = '--concurrent-marking-max-worker-num=1';

/**
 * MB of the old part of a heap before it is collected as a whole for the first time. By default V8 lowers that limit with each young
 * collection of a start, down to some 12 MB for a thread, which it exceeds while it only loads programs. Counts for threads that start
 * later, like `MARKING`.
 * Measured: a start takes 0.97 of the processor time before (D-551).
 */
const OLD_PART = '--initial-old-space-size=48';

/**
 * Every object begins in the young part of the heap. By default V8 puts the objects of a place in the code, of which the collections so far
 * found most alive, into the old part at once. A server collects while requests are in flight, so it chose objects of requests, which
 * live for milliseconds, and they kept alive what they refer to.
 * Measured at full load: a request leaves 48 instead of 327 bytes of the main thread in the old part, and the young collections of that
 * thread take 0.8 instead of 1.6 µs a request (D-550).
 */
const YOUNG_FIRST = '--no-allocation-site-pretenuring';

/**
 * Sets all of these: each thread of this process then does its collections alone, and those of the whole heap less often. By default the
 * thread waits for V8's helper threads, each of which may wait for a processor first.
 * Measured (two busy processors, five young collections a second): a collection stops the thread for 0.6 ms instead of 3.7 ms; 2.7 ms of
 * these it waited for helpers, up to 98 ms once. Its own processor time is the same, 0.33 ms. During a flood of bodies of 1 MB the whole
 * heap is collected 0.2 instead of 1.2 times a second; the process needs 22 MB more.
 */
export function collectGarbageAlone(): void {
  for (const flag of [...UNDIVIDED, GROWTH, MARKING, OLD_PART, YOUNG_FIRST]) setFlagsFromString(flag);
}
