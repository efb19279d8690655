/**
 * Time-outs for work done elsewhere, measured only while this process runs: after a suspension of its own, this process cannot know whether
 * the other side is late.
 */

/**
 * Choice: a pause of the process, however long, counts as at most one part. Unless it falls into the last part, another part follows it, in
 * which results that arrived meanwhile are handled: a quarter of any time limit here is hundreds of milliseconds.
 */
const PARTS = 4;

export interface RunningTimer {
  readonly passed: Promise<void>;
  /** Call when nobody waits any longer. */
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
