/** The service's clock in Unix milliseconds. Durations never come from it: those use `performance.now()`. */
export interface Clock {
  nowMs(): number;
  /** A verified client timestamp was seen. Real time ignores it; simulated time moves on to it. */
  observe(timestampSeconds: number): void;
  /** Simulated time moves on to timestamps that are ahead of it, so none is too far ahead of it. */
  readonly followsTimestamps: boolean;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  observe: () => {},
  followsTimestamps: false,
};

/**
 * The clock of GATEHOUSE_SIMULATED_TIME: the newest timestamp it was shown. It never runs back.
 * Before the first timestamp it stands at `startMs`, so a restart passes in the newest time it knows of.
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
