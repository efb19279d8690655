import { describe, expect, test } from 'vitest';
import { DELIVERY_ERRORS } from '../../../src/work/webhook.ts';
import {
  afterAttempt,
  attemptError,
  attemptLimitMs,
  PLANS,
  type AttemptOutcome,
  type DeliveryPlan,
} from '../../../src/work/webhook-schedule.ts';

const REFUSED: AttemptOutcome = { kind: 'failed', error: 'connection_refused' };
const HANGING: AttemptOutcome = { kind: 'failed', error: 'timeout' };

const status = (code: number): AttemptOutcome => ({ kind: 'response', status: code });

interface Played {
  readonly startsMs: readonly number[];
  readonly limitsMs: readonly number[];
  readonly end: unknown;
  readonly endMs: number;
}

/** Simulates a delivery to an endpoint with a constant outcome; attempts take `takesMs`, limited by their time limit. */
function play(plan: DeliveryPlan, outcome: AttemptOutcome, takesMs: number): Played {
  const startsMs: number[] = [];
  const limitsMs: number[] = [];
  let elapsedMs = 0;
  for (;;) {
    const limitMs = attemptLimitMs(plan, elapsedMs);
    startsMs.push(elapsedMs);
    limitsMs.push(limitMs);
    elapsedMs += Math.min(takesMs, limitMs);
    const next = afterAttempt(plan, { attemptsMade: startsMs.length, elapsedMs, outcome });
    if (next.kind !== 'waiting') return { startsMs, limitsMs, end: next, endMs: elapsedMs };
    elapsedMs += next.waitMs;
  }
}

describe("a decision's delivery", () => {
  test("A decision's delivery to an endpoint that refuses at once is attempted at 0, 2, 6 and 14 s", () => {
    expect(play(PLANS.decision, REFUSED, 0)).toEqual({
      startsMs: [0, 2_000, 6_000, 14_000],
      limitsMs: [5_000, 5_000, 5_000, 5_000],
      end: { kind: 'failed', error: 'connection_refused' },
      endMs: 14_000,
    });
  });

  test("A decision's delivery to an endpoint that never responds is attempted at 0, 7 and 16 s, the last time for 3 s, without a fourth attempt", () => {
    expect(play(PLANS.decision, HANGING, Number.POSITIVE_INFINITY)).toEqual({
      startsMs: [0, 7_000, 16_000],
      limitsMs: [5_000, 5_000, 3_000],
      end: { kind: 'failed', error: 'timeout' },
      endMs: 19_000,
    });
  });

  test("A decision's delivery has its fourth attempt up to a millisecond before the deadline, and not at it", () => {
    const third = (elapsedMs: number) => afterAttempt(PLANS.decision, { attemptsMade: 3, elapsedMs, outcome: REFUSED });
    expect(third(10_999)).toEqual({ kind: 'waiting', waitMs: 8_000 });
    expect(third(11_000)).toEqual({ kind: 'failed', error: 'connection_refused' });
    expect(attemptLimitMs(PLANS.decision, 18_999)).toBe(1);
  });

  test("A decision's delivery must not start an attempt at the deadline or later, even after waiting for its slot", () => {
    expect(attemptLimitMs(PLANS.decision, 19_000)).toBe(0);
    expect(attemptLimitMs(PLANS.decision, 40_000)).toBe(0);
  });

  test("A decision's delivery fails with the error of its last attempt", () => {
    const last = { attemptsMade: 4, elapsedMs: 14_000, outcome: status(503) };
    expect(afterAttempt(PLANS.decision, last)).toEqual({ kind: 'failed', error: 'http_status' });
  });
});

describe('an attempt', () => {
  test.each([200, 201, 202, 204, 206, 299])('An attempt with status %d completes the delivery', (code) => {
    expect(attemptError(status(code))).toBeNull();
    expect(afterAttempt(PLANS.decision, { attemptsMade: 4, elapsedMs: 19_000, outcome: status(code) })).toEqual({
      kind: 'succeeded',
    });
  });

  test.each([
    [300, 'redirect_blocked'],
    [301, 'redirect_blocked'],
    [308, 'redirect_blocked'],
    [399, 'redirect_blocked'],
    [101, 'http_status'],
    [199, 'http_status'],
    [400, 'http_status'],
    [404, 'http_status'],
    [411, 'http_status'],
    [500, 'http_status'],
    [599, 'http_status'],
  ])('An attempt with status %d is a %s, and is retried', (code, error) => {
    expect(attemptError(status(code))).toBe(error);
    expect(afterAttempt(PLANS.decision, { attemptsMade: 1, elapsedMs: 10, outcome: status(code) })).toEqual({
      kind: 'waiting',
      waitMs: 2_000,
    });
  });

  test.each(['decision', 'extraction'] as const)(
    'An attempt with status 410 ends the delivery of a %s at once',
    (trigger) => {
      expect(afterAttempt(PLANS[trigger], { attemptsMade: 1, elapsedMs: 10, outcome: status(410) })).toEqual({
        kind: 'failed',
        error: 'gone',
      });
    },
  );

  test.each(DELIVERY_ERRORS.filter((error) => error !== 'gone'))('An attempt that ends with %s is retried', (error) => {
    const outcome: AttemptOutcome = { kind: 'failed', error };
    expect(attemptError(outcome)).toBe(error);
    expect(afterAttempt(PLANS.decision, { attemptsMade: 2, elapsedMs: 7_000, outcome })).toEqual({
      kind: 'waiting',
      waitMs: 4_000,
    });
  });
});

describe('the other plans', () => {
  test.each(['probe', 'test'] as const)('A %s has one attempt of 5 s', (trigger) => {
    expect(play(PLANS[trigger], HANGING, Number.POSITIVE_INFINITY)).toMatchObject({ startsMs: [0], endMs: 5_000 });
  });

  test('A delivery that is resent manually has the complete schedule', () => {
    expect(PLANS.manual).toEqual(PLANS.decision);
  });

  test("An extraction's delivery is retried over hours, however long its attempts take", () => {
    const { startsMs, end } = play(PLANS.extraction, HANGING, Number.POSITIVE_INFINITY);
    const waits = startsMs.slice(1).map((startMs, i) => startMs - (startsMs[i] ?? 0) - 5_000);
    expect(waits).toEqual([5_000, 60_000, 300_000, 1_800_000, 7_200_000]);
    expect(end).toEqual({ kind: 'failed', error: 'timeout' });
  });
});
