/**
 * Time-outs for work done elsewhere, measured only while this process runs: after a suspension of its own, this process cannot know whether
 * the other side is late.
 */

/**
 * Choice: a time limit is waited for in this many parts, one timer after the other. A pause of the process, however long, uses up at most
 * one part. Another part follows unless it was the last one, and results that arrived during the pause are handled in it: a quarter of any
 * time limit here is hundreds of milliseconds.
 */
const PARTS = 4;

export interface RunningTimer {
  readonly passed: Promise<void>;
  /** Stops the timer; `passed` then never resolves. Call when nobody waits for it any more. */
  cancel(): void;
}

/**
 * Resolves after `ms` milliseconds in which this process ran and its event loop turned. A stop of the process (SIGSTOP, a paused virtual
 * machine, a long turn) delays it by the same time, except for up to a quarter of `ms`.
 */
export function runningTimer(ms: number): RunningTimer {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<void>((resolve) => {
    let left = PARTS;
    const part = (): void => {
      if (left-- === 0) resolve();
      else timer = setTimeout(part, ms / PARTS);
    };
    part();
  });
  return { passed, cancel: () => clearTimeout(timer) };
}
