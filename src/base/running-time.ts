/** Time that counts only while this process runs, for verdicts about others: what stood still itself cannot say that they are late. */

/**
 * Choice: a pause of the process counts as one part at most. It ends with a part to come, in which what finished meanwhile is heard:
 * a quarter of any bound here is hundreds of milliseconds.
 */
const PARTS = 4;

export interface RunningTimer {
  readonly passed: Promise<void>;
  /** Called when nobody waits any more. */
  cancel(): void;
}

/**
 * Passes after `ms` milliseconds in which this process ran and its event loop turned. What stops the process (SIGSTOP, a virtual
 * machine that is paused, a long turn) delays it by as long, but for a quarter of `ms`.
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
