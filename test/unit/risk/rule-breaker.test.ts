import { describe, expect, test } from 'vitest';
import {
  BREAKER_NETWORKS_MIN,
  BREAKER_TOUCHED_MIN,
  BREAKER_WINDOW_MS,
  RuleBreaker,
  tripShare,
} from '../../../src/risk/policy/rule-breaker.ts';

const MANY = { touched: 100, decisions: 10_000 };

/** Touches `count` decisions from as many networks; returns how many it takes to trip, or null. */
function touchMany(breaker: RuleBreaker, count: number, networks = 1_000, atMs = 0): number | null {
  for (let n = 1; n <= count; n++) if (breaker.touch(`net${n % networks}`, atMs)) return n;
  return null;
}

describe('the circuit breaker of a rule', () => {
  test('Few observed decisions predict little, so that the limit is higher', () => {
    expect(tripShare(MANY, 5)).toBeCloseTo(0.051_5, 4);
    expect(tripShare({ touched: 1, decisions: 100 }, 5)).toBeCloseTo(0.2, 4);
    expect(tripShare({ touched: 0, decisions: 10 }, 5)).toBeGreaterThan(1);
    expect(tripShare({ touched: 0, decisions: 0 }, 5)).toBe(Infinity);
  });

  test('It trips when a rule touches everything, but never below the smallest number', () => {
    expect(touchMany(new RuleBreaker(tripShare(MANY, 5)), BREAKER_TOUCHED_MIN - 1)).toBeNull();
    expect(touchMany(new RuleBreaker(tripShare(MANY, 5)), 1_000)).toBe(BREAKER_TOUCHED_MIN);
  });

  test('It does not trip while the share is what the factor allows', () => {
    const breaker = new RuleBreaker(tripShare(MANY, 5));
    for (let n = 0; n < 2_000; n++) breaker.pass(0);
    // 5.15 % of all decisions are allowed.
    expect(touchMany(breaker, 108)).toBeNull();
    expect(touchMany(breaker, 10)).toBe(1);
    expect(breaker.counted).toEqual({ touched: 109, decisions: 2_109 });
  });

  test('Traffic of few networks never trips it', () => {
    expect(touchMany(new RuleBreaker(tripShare(MANY, 5)), 10_000, BREAKER_NETWORKS_MIN - 1)).toBeNull();
    expect(touchMany(new RuleBreaker(tripShare(MANY, 5)), 10_000, BREAKER_NETWORKS_MIN)).toBe(BREAKER_TOUCHED_MIN);
  });

  test('What was counted an hour ago is forgotten', () => {
    const breaker = new RuleBreaker(tripShare(MANY, 5));
    expect(touchMany(breaker, BREAKER_TOUCHED_MIN - 1)).toBeNull();
    expect(touchMany(breaker, BREAKER_TOUCHED_MIN - 1, 1_000, BREAKER_WINDOW_MS)).toBeNull();
    expect(breaker.counted.decisions).toBe(BREAKER_TOUCHED_MIN - 1);
  });

  test('A predicted share of a fifth of all decisions cannot be exceeded fivefold', () => {
    expect(touchMany(new RuleBreaker(tripShare({ touched: 200, decisions: 1_000 }, 5)), 1_000)).toBeNull();
  });
});
