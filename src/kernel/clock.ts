/** The service's clock in Unix milliseconds. Never used for durations: those use `performance.now()`. */
export interface Clock {
  nowMs(): number;
  /** Reports a verified client timestamp. The system clock ignores it; the virtual clock advances to it. */
  observe(timestampSeconds: number): void;
  /** The virtual clock advances to timestamps ahead of it, so no timestamp is too far ahead. */
  readonly followsTimestamps: boolean;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  observe: () => {},
  followsTimestamps: false,
};

/**
 * Creates the virtual clock of GATEHOUSE_SIMULATED_TIME: the newest timestamp observed. It never runs backwards. It starts at `startMs`, so
 * after a restart the caller passes the newest known time.
 */
export function createSimulatedClock(startMs = 0): Clock {
  let nowMs = startMs;
  return {
    nowMs: () => nowMs,
    followsTimestamps: true,
    observe(timestampSeconds) {
      const seenMs = timestampSeconds * 1000;
      if (seenMs > nowMs) nowMs = seenMs;
    },
  };
}

/**
 * Milliseconds of the process's monotonic clock: equal in all of its threads, where `performance.now()` counts from the thread's own start.
 * A step of the system's clock does not move it.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
