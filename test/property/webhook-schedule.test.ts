import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterAttempt,
  attemptLimitMs,
  PLANS,
  type AttemptOutcome,
  type DeliveryPlan,
} from '../../src/work/webhook-schedule.ts';

/** Behaviour of the endpoint on one attempt: how long it would take, and how long the next retry waits for a connection. */
interface Turn {
  readonly wouldTakeMs: number;
  readonly outcome: AttemptOutcome;
  readonly queuedMs: number;
}

/** Course of a delivery: start and end of its attempts, ms since the first start, and its result. */
interface Trace {
  readonly attempts: readonly { readonly startMs: number; readonly endMs: number }[];
  readonly end: string;
}

const CALM: Turn = { wouldTakeMs: 0, outcome: { kind: 'response', status: 500 }, queuedMs: 0 };
const RUNS = { numRuns: 1_000, seed: 20_261_121 };

const status = fc.oneof(
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 599 }) },
  { weight: 6, arbitrary: fc.constantFrom(500, 503, 404, 302) },
  { weight: 1, arbitrary: fc.constantFrom(200, 204, 410) },
);
const outcome: fc.Arbitrary<AttemptOutcome> = fc.oneof(
  fc.record({ kind: fc.constant('response' as const), status }),
  fc.record({
    kind: fc.constant('failed' as const),
    error: fc.constantFrom('timeout', 'dns_error', 'connection_reset', 'tls_error', 'blocked_address'),
  }),
);
const wouldTakeMs = fc.oneof(
  fc.integer({ min: 0, max: 6_000 }),
  fc.constantFrom(0, 1, 2_999, 3_000, 4_999, 5_000, 1e9),
);
const turn = (queuedMsMax: number): fc.Arbitrary<Turn> =>
  fc.record({ wouldTakeMs, outcome, queuedMs: fc.oneof(fc.constant(0), fc.nat(queuedMsMax)) });

const timedOut = (turnOf: Turn, limitMs: number): AttemptOutcome =>
  turnOf.wouldTakeMs >= limitMs ? { kind: 'failed', error: 'timeout' } : turnOf.outcome;

/** Drives the schedule like a delivery worker, on a virtual clock. */
function drive(plan: DeliveryPlan, turns: readonly Turn[]): Trace {
  const attempts: { startMs: number; endMs: number }[] = [];
  let nowMs = 0;
  let lastError = 'none';
  for (let i = 0; ; i++) {
    const at = turns[i] ?? CALM;
    const limitMs = attemptLimitMs(plan, nowMs);
    if (limitMs === 0) {
      // The schedule announces no retry that would be too late without waiting for a connection.
      expect(turns[i - 1]?.queuedMs).toBeGreaterThan(0);
      return { attempts, end: lastError };
    }
    const startMs = nowMs;
    nowMs += Math.min(at.wouldTakeMs, limitMs);
    attempts.push({ startMs, endMs: nowMs });
    const next = afterAttempt(plan, { attemptsMade: i + 1, elapsedMs: nowMs, outcome: timedOut(at, limitMs) });
    if (next.kind === 'succeeded') return { attempts, end: 'succeeded' };
    if (next.kind === 'failed') return { attempts, end: next.error };
    nowMs += next.waitMs + at.queuedMs;
    lastError = errorOf(timedOut(at, limitMs)) ?? 'none';
  }
}

/** The contract's mapping of statuses, implemented independently. */
function errorOf(seen: AttemptOutcome): string | null {
  if (seen.kind === 'failed') return seen.error;
  const hundreds = Math.trunc(seen.status / 100);
  if (hundreds === 2) return null;
  if (seen.status === 410) return 'gone';
  return hundreds === 3 ? 'redirect_blocked' : 'http_status';
}

/** The reference: computes the whole delivery from the numbers of the contract instead of the plan. */
function expectedTrace(turns: readonly Turn[]): Trace {
  const attempts: { startMs: number; endMs: number }[] = [];
  let end = 'none';
  for (const [i, waitBeforeMs] of [0, 2_000, 4_000, 8_000].entries()) {
    const before = attempts.at(-1);
    const queuedMs = i === 0 ? 0 : (turns[i - 1] ?? CALM).queuedMs;
    const startMs = before === undefined ? 0 : before.endMs + waitBeforeMs + queuedMs;
    if (startMs >= 19_000) break;
    const at = turns[i] ?? CALM;
    const lastMs = startMs + 5_000 > 19_000 ? 19_000 : startMs + 5_000;
    const isCutOff = startMs + at.wouldTakeMs >= lastMs;
    attempts.push({ startMs, endMs: isCutOff ? lastMs : startMs + at.wouldTakeMs });
    const error = isCutOff ? 'timeout' : errorOf(at.outcome);
    if (error === null) return { attempts, end: 'succeeded' };
    end = error;
    if (error === 'gone') break;
  }
  return { attempts, end };
}

describe('the schedule of a delivery', () => {
  test.each(['decision', 'manual'] as const)(
    'A delivery with trigger %s follows the contract, whatever the endpoint does',
    (trigger) => {
      fc.assert(
        fc.property(fc.array(turn(9_000), { maxLength: 5 }), (turns) => {
          expect(drive(PLANS[trigger], turns)).toEqual(expectedTrace(turns));
        }),
        RUNS,
      );
    },
  );

  test('A delivery has at most 4 attempts, 2, 4 and 8 s after the end of the previous one, and none lasts beyond 19 s', () => {
    fc.assert(
      fc.property(fc.array(turn(0), { maxLength: 5 }), (turns) => {
        const { attempts } = drive(PLANS.decision, turns);
        expect(attempts.length).toBeGreaterThanOrEqual(1);
        expect(attempts.length).toBeLessThanOrEqual(4);
        const gaps = attempts.slice(1).map(({ startMs }, i) => startMs - (attempts[i]?.endMs ?? Number.NaN));
        expect(gaps).toEqual([2_000, 4_000, 8_000].slice(0, gaps.length));
        for (const { startMs, endMs } of attempts) {
          expect(startMs).toBeLessThan(19_000);
          expect(endMs).toBeLessThanOrEqual(19_000);
          expect(endMs - startMs).toBeLessThanOrEqual(5_000);
        }
      }),
      RUNS,
    );
  });

  test('A delivery of any plan keeps its waits, its limit and its deadline', () => {
    const plan = fc.record({
      waitsMs: fc.array(fc.nat(20_000), { maxLength: 6 }),
      attemptMs: fc.integer({ min: 1, max: 10_000 }),
      deadlineMs: fc.option(fc.integer({ min: 1, max: 60_000 })),
    });
    fc.assert(
      fc.property(plan, fc.array(turn(5_000), { maxLength: 7 }), (plan, turns) => {
        const { attempts, end } = drive(plan, turns);
        const deadlineMs = plan.deadlineMs ?? Number.POSITIVE_INFINITY;
        expect(attempts.length).toBeLessThanOrEqual(plan.waitsMs.length + 1);
        for (const [i, { startMs, endMs }] of attempts.entries()) {
          expect(startMs).toBeLessThan(deadlineMs);
          expect(endMs).toBeLessThanOrEqual(deadlineMs);
          expect(endMs - startMs).toBeLessThanOrEqual(plan.attemptMs);
          const before = attempts[i - 1];
          const pauseMs = (plan.waitsMs[i - 1] ?? 0) + (turns[i - 1] ?? CALM).queuedMs;
          if (before !== undefined) expect(startMs - before.endMs).toBe(pauseMs);
        }
        // A delivery ends early for three reasons only.
        const last = attempts.at(-1);
        const nextMs = (last?.endMs ?? 0) + (plan.waitsMs[attempts.length - 1] ?? 0);
        const queuedMs = (turns[attempts.length - 1] ?? CALM).queuedMs;
        const isOver = attempts.length === plan.waitsMs.length + 1 || nextMs + queuedMs >= deadlineMs;
        expect(isOver || end === 'succeeded' || end === 'gone').toBe(true);
      }),
      RUNS,
    );
  });
});
