import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LocalAdmission } from '../../../src/local/local-admission.ts';
import { visitorShare } from '../../../src/kernel/capacity-share.ts';
import { ReplayGuard } from '../../../src/local/replay-guard.ts';
import type { RateState } from '../../../src/ports/admission.ts';
import { RATE_WINDOW_SECONDS } from '../../../src/kernel/limits.ts';

const START = Date.UTC(2026, 10, 21, 12) / 1000;

/** The windows of an admission that gets one request without id at a time. */
class Windows {
  readonly #admission = new LocalAdmission(new ReplayGuard(1, Buffer.alloc(16)), { stage: () => {} });

  take(keyNumber: number, allowance: number, nowSeconds: number, source: string | null = null) {
    const request = { window: 'decide', keyNumber, allowance, source, requestId: null } as const;
    const [verdict] = this.#admission.admit([{ ...request, timestampSeconds: 0, nowSeconds }]);
    if (verdict === undefined || verdict.outcome === 'unavailable') throw new Error('no verdict');
    const state: RateState = verdict;
    return { ...state, allowed: verdict.outcome === 'admitted' };
  }

  takeVisitor(keyNumber: number, allowance: number, source: string, nowSeconds: number) {
    return this.take(keyNumber, allowance, nowSeconds, source);
  }
}

describe('rate windows', () => {
  test('A clock that steps back 2 s across the start of a window stays in that window', () => {
    const rates = new Windows();
    rates.take(1, 10, START);
    const back = rates.take(1, 10, START - 2);
    expect(back).toMatchObject({ remaining: 8, resetSeconds: START + RATE_WINDOW_SECONDS, retryAfterSeconds: 62 });
  });

  test('A clock that steps back 400 s starts a new window, and no client waits for longer than two windows', () => {
    const rates = new Windows();
    for (let i = 0; i < 10; i++) rates.take(1, 10, START + 5);
    expect(rates.take(1, 10, START + 5).allowed).toBe(false);
    const back = rates.take(1, 10, START + 5 - 400);
    expect(back.allowed).toBe(true);
    expect(back.resetSeconds - (START + 5 - 400)).toBeLessThanOrEqual(RATE_WINDOW_SECONDS);
    fc.assert(
      fc.property(fc.integer({ min: -100_000, max: 100_000 }), (by) => {
        const one = new Windows();
        one.take(1, 10, START);
        expect(one.take(1, 10, START + by).retryAfterSeconds).toBeLessThanOrEqual(2 * RATE_WINDOW_SECONDS);
      }),
    );
  });

  test('A clock that jumps forward a day and back gives the full allowance of each window it enters', () => {
    const rates = new Windows();
    for (let i = 0; i < 10; i++) rates.take(1, 10, START);
    expect(rates.take(1, 10, START + 86_400)).toMatchObject({ allowed: true, remaining: 9 });
    expect(rates.take(1, 10, START)).toMatchObject({ allowed: true, remaining: 9 });
  });

  test("Requests are counted per key, however high the key's number is", () => {
    const rates = new Windows();
    for (const key of [0, 1, 63, 64, 65, 127, 128, 1_000_000]) {
      expect(rates.take(key, 2, START).remaining).toBe(1);
      expect(rates.take(key, 2, START).remaining).toBe(0);
      expect(rates.take(key, 2, START).allowed).toBe(false);
    }
    expect(rates.take(5_000_000, 2, START)).toMatchObject({ allowed: true, remaining: 1 });
  });

  test('A source can use up only its own share of a public key, and other sources are not affected', () => {
    const rates = new Windows();
    const share = visitorShare(60_000);
    expect(share).toBe(3_000);
    const states = Array.from({ length: share }, () => {
      const { allowed, limit, remaining } = rates.takeVisitor(2, 60_000, '198.51.100.1', START);
      return [allowed, limit, remaining];
    });
    expect(states).toEqual(Array.from({ length: share }, (_, i) => [true, share, share - 1 - i]));
    expect(rates.takeVisitor(2, 60_000, '198.51.100.1', START)).toMatchObject({ allowed: false, remaining: 0 });
    expect(rates.takeVisitor(2, 60_000, '198.51.100.2', START)).toMatchObject({ allowed: true, remaining: share - 1 });
    expect(rates.takeVisitor(3, 60_000, '198.51.100.1', START)).toMatchObject({ allowed: true, remaining: share - 1 });
    // Requests rejected for the source did not consume the key's allowance.
    expect(rates.take(2, 60_000, START).remaining).toBe(60_000 - share - 2);
    expect(rates.takeVisitor(2, 60_000, '198.51.100.1', START + RATE_WINDOW_SECONDS).allowed).toBe(true);
  });

  test("All sources together have the allowance of the key, and a rejection because of it does not consume a source's share", () => {
    const rates = new Windows();
    const allowance = 70;
    expect(visitorShare(allowance)).toBe(60);
    for (let i = 0; i < 60; i++) rates.takeVisitor(2, allowance, 'a', START);
    for (let i = 9; i >= 0; i--) {
      expect(rates.takeVisitor(2, allowance, 'b', START)).toMatchObject({ allowed: true, remaining: i });
    }
    expect(rates.takeVisitor(2, allowance, 'c', START)).toMatchObject({ allowed: false, limit: 60, remaining: 0 });
    expect(visitorShare(5)).toBe(5);
  });

  test('A flood of sources hardly reduces what another source may use', () => {
    const rates = new Windows();
    for (let i = 0; i < 60_000; i++) rates.takeVisitor(2, 1_000_000, `2001:db8:0:${i.toString(16)}::`, START);
    const states = Array.from({ length: 200 }, (_x, i) => rates.takeVisitor(2, 1_000_000, `198.51.100.${i}`, START));
    for (const { allowed, limit, remaining } of states) {
      expect(allowed).toBe(true);
      expect(remaining).toBeGreaterThan(limit - 20);
    }
  });
});
