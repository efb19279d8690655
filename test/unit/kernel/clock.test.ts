import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSimulatedClock, systemClock } from '../../../src/kernel/clock.ts';

describe('the system clock', () => {
  test('The system clock returns the machine’s time and ignores observed timestamps', () => {
    const before = Date.now();
    systemClock.observe(4_000_000_000);
    expect(systemClock.nowMs()).toBeGreaterThanOrEqual(before);
    expect(systemClock.nowMs()).toBeLessThan(4_000_000_000_000);
    expect(systemClock.followsTimestamps).toBe(false);
  });
});

describe('the virtual clock', () => {
  test('The virtual clock returns its start time until it observes a timestamp', () => {
    expect(createSimulatedClock().nowMs()).toBe(0);
    expect(createSimulatedClock(1_234).nowMs()).toBe(1_234);
    expect(createSimulatedClock().followsTimestamps).toBe(true);
  });

  test('The virtual clock returns the newest observed timestamp and never runs back', () => {
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
