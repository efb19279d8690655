import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSimulatedClock, systemClock } from '../../../src/base/clock.ts';

describe('the system clock', () => {
  test('tells the time of the machine and follows no timestamp', () => {
    const before = Date.now();
    systemClock.observe(4_000_000_000);
    expect(systemClock.nowMs()).toBeGreaterThanOrEqual(before);
    expect(systemClock.nowMs()).toBeLessThan(4_000_000_000_000);
    expect(systemClock.followsTimestamps).toBe(false);
  });
});

describe('the simulated clock', () => {
  test('stands at its start until it is shown a timestamp', () => {
    expect(createSimulatedClock().nowMs()).toBe(0);
    expect(createSimulatedClock(1_234).nowMs()).toBe(1_234);
    expect(createSimulatedClock().followsTimestamps).toBe(true);
  });

  test('is the newest timestamp it was shown and never runs back', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 40), fc.array(fc.nat(999_999_999_999)), (startMs, timestamps) => {
        const clock = createSimulatedClock(startMs);
        let newest = startMs;
        for (const seconds of timestamps) {
          clock.observe(seconds);
          newest = Math.max(newest, seconds * 1000);
          expect(clock.nowMs()).toBe(newest);
        }
      }),
    );
  });
});
