import { unreachable } from '../base/brand.ts';
import type { DeliveryError, DeliveryTrigger } from './webhook.ts';

/**
 * When a delivery is tried again, and when it is given up. A plan is data; time is an argument: milliseconds since the start of
 * the first attempt, without the time while the service was down.
 */

/** Times in ms. */
export interface DeliveryPlan {
  /** What follows the end of the first failed attempt, the second and so on; one attempt more than there are waits. */
  readonly waitsMs: readonly number[];
  /** Of one attempt in all, 1 and up. */
  readonly attemptMs: number;
  /** Nothing of the delivery goes on beyond it; null for none. */
  readonly deadlineMs: number | null;
}

const ATTEMPT_MS = 5_000;

/** Source: open points, section 4: the waits, and a deadline of their sum plus one attempt. */
const DECISION_PLAN: DeliveryPlan = { waitsMs: [2_000, 4_000, 8_000], attemptMs: ATTEMPT_MS, deadlineMs: 19_000 };
/** Source: open points, section 4: a probe has no retries. Choice: nor has a test, whose caller waits for the answer. */
const SINGLE_PLAN: DeliveryPlan = { waitsMs: [], attemptMs: ATTEMPT_MS, deadlineMs: null };
/** Source: open points, section 5: over hours. */
const EXTRACTION_PLAN: DeliveryPlan = {
  waitsMs: [5_000, 60_000, 300_000, 1_800_000, 7_200_000],
  attemptMs: ATTEMPT_MS,
  deadlineMs: null,
};

export const PLANS: Readonly<Record<DeliveryTrigger, DeliveryPlan>> = {
  decision: DECISION_PLAN,
  manual: DECISION_PLAN,
  probe: SINGLE_PLAN,
  test: SINGLE_PLAN,
  extraction: EXTRACTION_PLAN,
};

/**
 * Choice: ms that a delivery waits for its next attempt with a place among those that are under way. One that waits for longer goes
 * back to the store until then, so that what is down for hours takes no room from what is not.
 */
export const HELD_WAIT_MS_MAX = 30_000;

/** What one attempt came to. An outcome of the guarded client is one. */
export type AttemptOutcome =
  /** The answer, received whole. */
  { readonly kind: 'response'; readonly status: number } | { readonly kind: 'failed'; readonly error: DeliveryError };

/** A delivery at the end of an attempt. */
export interface Attempted {
  /** This one included, 1 and up. */
  readonly attemptsMade: number;
  /** At the end of the attempt. */
  readonly elapsedMs: number;
  readonly outcome: AttemptOutcome;
}

/** Where a delivery goes from there: `waiting` leads to the next attempt, the other two are the end. */
export type NextPhase =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'waiting'; readonly waitMs: number }
  | { readonly kind: 'failed'; readonly error: DeliveryError };

/** Why an attempt did not succeed; null when it did. Source: open points, section 4, "Success". */
export function attemptError(outcome: AttemptOutcome): DeliveryError | null {
  switch (outcome.kind) {
    case 'failed':
      return outcome.error;
    case 'response':
      return statusError(outcome.status);
    default:
      return unreachable(outcome);
  }
}

function statusError(status: number): DeliveryError | null {
  if (status >= 200 && status <= 299) return null;
  if (status >= 300 && status <= 399) return 'redirect_blocked';
  return status === 410 ? 'gone' : 'http_status';
}

/**
 * What follows an attempt. A wait runs from the attempt's end. A retry that would begin at the deadline or later falls away, and
 * the delivery fails at once with the error of its last attempt.
 */
export function afterAttempt(plan: DeliveryPlan, { attemptsMade, elapsedMs, outcome }: Attempted): NextPhase {
  const error = attemptError(outcome);
  if (error === null) return { kind: 'succeeded' };
  if (error === 'gone') return { kind: 'failed', error };
  const waitMs = plan.waitsMs[attemptsMade - 1];
  if (waitMs === undefined || attemptLimitMs(plan, elapsedMs + waitMs) === 0) return { kind: 'failed', error };
  return { kind: 'waiting', waitMs };
}

/**
 * What an attempt that begins at `elapsedMs` may take: the plan's limit, or what is left until the deadline. 0 when it would come
 * too late, for example after a long wait for a free connection: then the delivery fails with the error of its last attempt.
 */
export function attemptLimitMs(plan: DeliveryPlan, elapsedMs: number): number {
  if (plan.deadlineMs === null) return plan.attemptMs;
  return Math.max(0, Math.min(plan.attemptMs, plan.deadlineMs - elapsedMs));
}
