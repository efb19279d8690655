import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Deadline, TICK_MS, TimerWheel } from '../../../src/egress/timer-wheel.ts';
import { leastCpuMs } from '../../support/cpu-time.ts';
import { virtualClock } from './virtual-clock.ts';

describe('TimerWheel', () => {
  test('each deadline fires once, never early and at most a tick late', () => {
    const delays = fc.array(fc.double({ min: 0, max: 30_000, noNaN: true }), { minLength: 1, maxLength: 60 });
    const steps = fc.array(fc.double({ min: 0.1, max: 700, noNaN: true }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(delays, steps, (waits, passes) => {
        const clock = virtualClock();
        const wheel = new TimerWheel(clock);
        const fired: number[] = [];
        const due: number[] = [];
        for (const [i, waitMs] of waits.entries()) {
          const dueMs = clock.nowMs() + waitMs;
          due.push(dueMs);
          wheel.add(waitMs, () => {
            expect(fired[i]).toBeUndefined();
            fired[i] = clock.nowMs();
          });
          clock.pass(passes[i % passes.length] ?? 1);
        }
        clock.pass(31_000);
        for (const [i, dueMs] of due.entries()) {
          expect(fired[i]).toBeGreaterThanOrEqual(dueMs);
          // The ticks of the platform and of the wheel need not start at the same moment, so each may add one tick.
          expect((fired[i] ?? 0) - dueMs).toBeLessThanOrEqual(2 * TICK_MS);
        }
        expect(wheel.size).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  test('a deadline added to an idle wheel fires at most a tick late', () => {
    const clock = virtualClock();
    const wheel = new TimerWheel(clock);
    let firedMs = 0;
    wheel.add(500, () => {
      firedMs = clock.nowMs();
    });
    clock.pass(1000);
    expect(firedMs).toBeGreaterThanOrEqual(1500.5);
    expect(firedMs).toBeLessThanOrEqual(1500.5 + TICK_MS);
  });

  test('a cancelled deadline never fires, even if another deadline of the same tick cancels it', () => {
    const clock = virtualClock();
    const wheel = new TimerWheel(clock);
    const fired: string[] = [];
    const pair: Deadline[] = [];
    const other = (i: number): void => {
      fired.push(`one of the pair`);
      const its = pair[1 - i];
      if (its !== undefined) wheel.cancel(its);
    };
    pair.push(
      wheel.add(50, () => other(0)),
      wheel.add(50, () => other(1)),
    );
    const cancelled = wheel.add(60, () => fired.push('cancelled'));
    wheel.add(90, () => fired.push('kept'));
    wheel.cancel(cancelled);
    wheel.cancel(cancelled);
    clock.pass(200);
    expect(fired).toEqual(['one of the pair', 'kept']);
    expect(wheel.size).toBe(0);
  });

  test('the wheel catches up on ticks that a blocked event loop missed, even on more than a full round', () => {
    for (const blockedMs of [300, 9_000, 45_000]) {
      const clock = virtualClock();
      const wheel = new TimerWheel(clock);
      const fired: number[] = [];
      for (const waitMs of [20, 250, 8_000, 12_000, 44_000]) wheel.add(waitMs, () => fired.push(waitMs));
      clock.jump(blockedMs);
      expect(fired.toSorted((a, b) => a - b)).toEqual([20, 250, 8_000, 12_000, 44_000].filter((ms) => ms < blockedMs));
      clock.pass(60_000);
      expect(fired).toHaveLength(5);
    }
  });

  test('a deadline can be added while others fire', () => {
    const clock = virtualClock();
    const wheel = new TimerWheel(clock);
    let fired = 0;
    const again = (): void => {
      if (++fired < 5) wheel.add(0, again);
    };
    wheel.add(0, again);
    clock.pass(40);
    expect(fired).toBeLessThan(5);
    clock.pass(200);
    expect(fired).toBe(5);
  });

  test('the wheel has one timer, which keeps the process alive only while a deadline is pending and stops after an idle second', () => {
    const clock = virtualClock();
    const wheel = new TimerWheel(clock);
    expect(clock.isTicking()).toBe(false);
    const deadline = wheel.add(400, () => {});
    expect([clock.isTicking(), clock.isHeld()]).toEqual([true, true]);
    wheel.cancel(deadline);
    expect([clock.isTicking(), clock.isHeld()]).toEqual([true, false]);
    wheel.add(400, () => {});
    expect(clock.isHeld()).toBe(true);
    clock.pass(2_000);
    expect([clock.isTicking(), clock.isHeld()]).toEqual([false, false]);
    let fired = false;
    wheel.add(40, () => {
      fired = true;
    });
    clock.pass(100);
    expect(fired).toBe(true);
  });

  test('a hundred thousand deadlines are handled without scanning them', () => {
    const clock = virtualClock();
    const wheel = new TimerWheel(clock);
    const ms = leastCpuMs(500, () => {
      const deadlines = Array.from({ length: 100_000 }, (_, i) => wheel.add(5_000 + (i % 1000), () => {}));
      for (const deadline of deadlines) wheel.cancel(deadline);
    });
    expect(ms).toBeLessThan(500);
    expect(wheel.size).toBe(0);
  });
});
