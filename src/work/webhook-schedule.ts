import { unreachable } from '../kernel/brand.ts';
import type { DeliveryError, DeliveryTrigger, WebhookRetry } from './webhook.ts';

/**
 * Decides when a delivery is retried, and when it fails for good. A plan is data; time is an argument: milliseconds since the start of the
 * first attempt, excluding downtime of the service.
 */

/** Times in ms. */
export interface DeliveryPlan {
  /** The wait after the first failed attempt, the second and so on; there is one attempt more than there are waits. */
  readonly waitsMs: readonly number[];
  /** Time limit of a whole attempt, at least 1. */
  readonly attemptMs: number;
  /** The delivery ends here at the latest; null for no deadline. */
  readonly deadlineMs: number | null;
}

const ATTEMPT_MS = 5_000;

/** Source: contract, 10.6: the waits, and a deadline of their sum plus one attempt. */
const DECISION_PLAN: DeliveryPlan = { waitsMs: [2_000, 4_000, 8_000], attemptMs: ATTEMPT_MS, deadlineMs: 19_000 };
/** Source: contract, 10.7: a probe has no retries. Choice: a test has none either, because its caller waits for the response. */
const SINGLE_PLAN: DeliveryPlan = { waitsMs: [], attemptMs: ATTEMPT_MS, deadlineMs: null };
/** Source: contract, 13.3: over hours. */
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
  event: DECISION_PLAN,
};

/** Source: contract, 10.14: the waits after the fast ones. */
const PATIENT_WAITS_MS: readonly number[] = [60_000, 300_000, 1_800_000, 7_200_000, 28_800_000, 86_400_000];
const PATIENT_PLAN: DeliveryPlan = {
  waitsMs: [...DECISION_PLAN.waitsMs, ...PATIENT_WAITS_MS],
  attemptMs: ATTEMPT_MS,
  deadlineMs: null,
};
/** The attempt of a patient webhook's delivery after which the endpoint counts as failing. Source: contract, 10.14. */
export const FAST_ATTEMPTS = DECISION_PLAN.waitsMs.length + 1;

/** Returns when a delivery is retried. A retry that a person asked for is as patient as its webhook. */
export function planOf(trigger: DeliveryTrigger, retry: WebhookRetry): DeliveryPlan {
  const plan = PLANS[trigger];
  return retry === 'patient' && plan === DECISION_PLAN ? PATIENT_PLAN : plan;
}

/**
 * Whether the deliveries wait while their webhook is unhealthy, or are skipped unless it is patient; others a person or a job waits for.
 */
export function isHeldWhileUnhealthy(trigger: DeliveryTrigger): boolean {
  return trigger === 'decision' || trigger === 'event';
}

/**
 * Choice: longest wait, ms, during which a delivery keeps its in-flight slot. With a longer wait it returns to the store until then, so
 * that endpoints that are down for hours occupy no slots.
 */
export const HELD_WAIT_MS_MAX = 30_000;

/** The result of one attempt. An outcome of the guarded client is one. */
export type AttemptOutcome =
  /** The complete response. */
  { readonly kind: 'response'; readonly status: number } | { readonly kind: 'failed'; readonly error: DeliveryError };

/** A delivery at the end of an attempt. */
export interface Attempted {
  /** Including this one, at least 1. */
  readonly attemptsMade: number;
  /** At the end of the attempt. */
  readonly elapsedMs: number;
  readonly outcome: AttemptOutcome;
}

/** The next phase of a delivery: `waiting` leads to the next attempt, the other two are final. */
export type NextPhase =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'waiting'; readonly waitMs: number }
  | { readonly kind: 'failed'; readonly error: DeliveryError };

/** Returns why an attempt failed; null when it succeeded. Source: contract, 10.5. */
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
 * Returns the phase after an attempt. A wait starts at the attempt's end. If a retry would begin at the deadline or later, the delivery
 * fails at once with the error of its last attempt.
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
 * Returns the time limit of an attempt that begins at `elapsedMs`: the plan's limit, or the time left until the deadline. 0 if it would
 * begin too late, for example after a long wait for a free connection: then the delivery fails with the error of its last attempt.
 */
export function attemptLimitMs(plan: DeliveryPlan, elapsedMs: number): number {
  if (plan.deadlineMs === null) return plan.attemptMs;
  return Math.max(0, Math.min(plan.attemptMs, plan.deadlineMs - elapsedMs));
}
