import { openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Preloaded into the server (`--import`): measures the duration of single turns of its main thread's event loop, without the time in which
 * the thread was runnable and other processes had the processor. A message `begin` starts a measurement; `end` is answered with the longest
 * turn, ms. It keeps the loop spinning, so it is unsuitable for anything else. Linux only.
 */
if (isMainThread && process.send !== undefined) {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const bytes = Buffer.alloc(128);
  /** Time the thread has waited for a processor since its start, ms. Linux updates it exactly whenever the thread is scheduled again. */
  const waitedMs = (): number => {
    const length = readSync(file, bytes, 0, bytes.length, 0);
    return Number(bytes.toString('latin1', 0, length).split(' ')[1]) / 1e6;
  };
  let isOn = false;
  let last = { atMs: 0, waitedMs: 0 };
  let longestMs = 0;
  const turn = (): void => {
    const now = { atMs: performance.now(), waitedMs: waitedMs() };
    longestMs = Math.max(longestMs, now.atMs - last.atMs - (now.waitedMs - last.waitedMs));
    last = now;
    if (isOn) setImmediate(turn);
  };
  process.on('message', (order) => {
    if (order === 'begin') {
      isOn = true;
      longestMs = 0;
      last = { atMs: performance.now(), waitedMs: waitedMs() };
      setImmediate(turn);
    } else if (order === 'end') {
      isOn = false;
      process.send?.({ longestMs });
    }
  });
  // The channel must not keep a stopped server alive.
  process.channel?.unref();
}
