import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LocalRateWindows, rateFields } from '../../../src/decide/rate-windows.ts';
import { RATE_ADDRESSES_MAX, RATE_FAILED_AUTHENTICATIONS, RATE_WINDOW_SECONDS } from '../../../src/limits.ts';

const START = Date.UTC(2026, 10, 21, 12) / 1000;

describe('rate windows', () => {
  test('a clock that steps back 2 s over a window’s start stays in that window', () => {
    const rates = new LocalRateWindows();
    rates.take(1, 10, START);
    const back = rates.take(1, 10, START - 2);
    expect(back).toMatchObject({ remaining: 8, resetSeconds: START + RATE_WINDOW_SECONDS, retryAfterSeconds: 62 });
  });

  test('a clock that steps back 400 s begins a window there, and none is held for longer than two', () => {
    const rates = new LocalRateWindows();
    for (let i = 0; i < 10; i++) rates.take(1, 10, START + 5);
    expect(rates.take(1, 10, START + 5).allowed).toBe(false);
    const back = rates.take(1, 10, START + 5 - 400);
    expect(back.allowed).toBe(true);
    expect(back.resetSeconds - (START + 5 - 400)).toBeLessThanOrEqual(RATE_WINDOW_SECONDS);
    fc.assert(
      fc.property(fc.integer({ min: -100_000, max: 100_000 }), (by) => {
        const one = new LocalRateWindows();
        one.take(1, 10, START);
        expect(one.take(1, 10, START + by).retryAfterSeconds).toBeLessThanOrEqual(2 * RATE_WINDOW_SECONDS);
      }),
    );
  });

  test('a clock that steps forward a day and back again gives the allowance of the windows it is in', () => {
    const rates = new LocalRateWindows();
    for (let i = 0; i < 10; i++) rates.take(1, 10, START);
    expect(rates.take(1, 10, START + 86_400)).toMatchObject({ allowed: true, remaining: 9 });
    expect(rates.take(1, 10, START)).toMatchObject({ allowed: true, remaining: 9 });
  });

  test('keys are counted apart, however high their numbers', () => {
    const rates = new LocalRateWindows();
    for (const key of [0, 1, 63, 64, 65, 127, 128, 1_000_000]) {
      expect(rates.take(key, 2, START).remaining).toBe(1);
      expect(rates.take(key, 2, START).remaining).toBe(0);
      expect(rates.take(key, 2, START).allowed).toBe(false);
    }
    expect(rates.peek(5_000_000, 2, START)).toMatchObject({ allowed: true, remaining: 2 });
  });

  test('failed authentications are counted by address, apart from keys', () => {
    const rates = new LocalRateWindows();
    for (let i = 1; i <= RATE_FAILED_AUTHENTICATIONS; i++) {
      const state = rates.takeFailure('198.51.100.1', START);
      expect(state.allowed).toBe(true);
      expect(state.remaining).toBe(RATE_FAILED_AUTHENTICATIONS - i);
    }
    expect(rates.peekFailures('198.51.100.1', START)).toMatchObject({ allowed: true, remaining: 0 });
    expect(rates.takeFailure('198.51.100.1', START)).toMatchObject({ allowed: false, remaining: 0 });
    expect(rates.takeFailure('198.51.100.2', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
    expect(rates.take(1, 5, START).remaining).toBe(4);
    expect(rates.takeFailure('198.51.100.1', START + RATE_WINDOW_SECONDS).allowed).toBe(true);
  });

  test('past the bound of addresses all further ones share one counter', () => {
    const rates = new LocalRateWindows();
    for (let i = 0; i < RATE_ADDRESSES_MAX; i++) rates.takeFailure(`a${i}`, START);
    expect(rates.takeFailure('a0', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 2);
    expect(rates.takeFailure('new-1', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
    expect(rates.takeFailure('new-2', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 2);
  });

  test('the fields of an answer are the contract’s three and the IETF’s two', () => {
    const state = { allowed: true, limit: 600, remaining: 599, resetSeconds: START, retryAfterSeconds: 42 };
    expect(rateFields(state)).toBe(
      `\r\nX-SVC-Rl-Limit: 600\r\nX-SVC-Rl-Remaining: 599\r\nX-SVC-Rl-Reset: ${START}` +
        '\r\nRateLimit-Policy: "default";q=600;w=60\r\nRateLimit: "default";r=599;t=42',
    );
  });
});
