import type { DeliveryTrigger, Webhook, WebhookHealth } from './webhook.ts';

/**
 * The health of an endpoint by its deliveries: healthy, or unhealthy until one succeeds. Pure: takes state and event, returns state and
 * signals; the caller stores the state and acts on the signals. Times are Unix milliseconds. Source: contract, 10.7.
 *
 *     healthy ── 10 failed in a row ──▶ cooling ── its end, next matching decision ──▶ trial out
 *        ▲                                │  ▲                                            │
 *        └────────── any success ─────────┴──┼────────────────────────────────────────────┤
 *                                            └──────── the trial failed: longer ──────────┘
 *
 * Cooling and trial out (half-open; `probe` in identifiers and on the wire) are both `unhealthy`; `nextProbeAtMs` is null while a trial is
 * out. Deliveries that were already in flight, and manual ones, still finish in both states. Choice: if they succeed, the endpoint becomes
 * healthy, as after a successful trial, because they prove the same. If they fail, only `lastFailureAtMs` changes, because the endpoint is
 * known to be down; the cool-down is not lengthened and the count is not incremented.
 */

/** Failed deliveries in a row. Source: contract, 10.7. */
const FAILURES_MAX = 10;
/** Choice: warns an operator before an endpoint is cut off, but not at every single failure. */
const WARNING_FAILURES: readonly number[] = [5, 7, 9];
/** Source: contract, 10.7. */
const COOLDOWN_MS_MIN = 15_000;
const COOLDOWN_MS_MAX = 60_000;
/**
 * Choice: a trial scheduled further ahead than this was scheduled before the clock was set back, and is sent at the next matching decision.
 */
const PROBE_AHEAD_MS_MAX = 2 * COOLDOWN_MS_MAX;

const NO_SIGNALS: readonly HealthSignal[] = [];

/** The health of a new webhook. */
export const HEALTHY: WebhookHealth = {
  status: 'healthy',
  consecutiveFailures: 0,
  unhealthySinceMs: null,
  cooldownMs: 0,
  nextProbeAtMs: null,
  lastSuccessAtMs: null,
  lastFailureAtMs: null,
};

/** Returns the health of a webhook whose address changed, or that is paused: the results of its previous deliveries no longer apply. */
export function healthAnew({ lastSuccessAtMs, lastFailureAtMs }: WebhookHealth): WebhookHealth {
  return { ...HEALTHY, lastSuccessAtMs, lastFailureAtMs };
}

/** Changes to report or to act on. */
export type HealthSignal =
  | { readonly kind: 'warning'; readonly consecutiveFailures: number }
  /** Pending deliveries of the endpoint are to be skipped. */
  | { readonly kind: 'unhealthy'; readonly cooldownMs: number }
  | { readonly kind: 'healed' }
  | { readonly kind: 'probe_failed'; readonly cooldownMs: number };

export interface HealthChange {
  /** The same object when nothing changed. */
  readonly health: WebhookHealth;
  readonly signals: readonly HealthSignal[];
}

/** A delivery that ended; skipped ones do not count. */
export interface EndedDelivery {
  readonly result: 'succeeded' | 'failed';
  readonly trigger: DeliveryTrigger;
}

/** How to handle a matching decision's delivery: `deliver` with retries, `probe` once and without retries, `skip` not at all. */
export type DeliveryRoute = 'deliver' | 'probe' | 'skip';

/**
 * Returns the health after a delivery; call in the order in which deliveries end. A test counts when it succeeds and never when it fails.
 * An extraction job's own endpoint has no health, so its deliveries change nothing.
 */
export function applyDelivery(health: WebhookHealth, { result, trigger }: EndedDelivery, nowMs: number): HealthChange {
  if (trigger === 'extraction') return { health, signals: [] };
  if (result === 'succeeded') return afterSuccess(health, nowMs);
  if (trigger === 'test') return { health, signals: [] };
  const failed = { ...health, lastFailureAtMs: nowMs };
  if (health.status === 'healthy') return afterFailure(failed, nowMs);
  return trigger === 'probe' && isProbeOut(health) ? afterProbeFailure(failed, nowMs) : { health: failed, signals: [] };
}

/**
 * Decides how to handle a matching decision's delivery now. After `probe`, store the result of `probeSent`, so that no second trial is
 * sent. A patient webhook takes every delivery; the oldest of them is its trial.
 */
export function decideRoute({ health, retry }: Pick<Webhook, 'health' | 'retry'>, nowMs: number): DeliveryRoute {
  if (health.status === 'healthy' || retry === 'patient') return 'deliver';
  return probeWaitMs(health, nowMs) === 0 ? 'probe' : 'skip';
}

/** Returns the time until an unhealthy endpoint may be tried, ms; Infinity while a trial is out. */
export function probeWaitMs({ nextProbeAtMs }: WebhookHealth, nowMs: number): number {
  if (nextProbeAtMs === null) return Infinity;
  const aheadMs = nextProbeAtMs - nowMs;
  return aheadMs > PROBE_AHEAD_MS_MAX ? 0 : Math.max(0, aheadMs);
}

/** Returns the health while a trial is out. */
export function probeSent(health: WebhookHealth): WebhookHealth {
  return health.status === 'healthy' ? health : { ...health, nextProbeAtMs: null };
}

/**
 * Returns the health after a trial whose result will never be known, for example because it is missing in the store after a kill. Such a
 * trial proves nothing about the endpoint, whose cool-down was over, so the next matching decision is the next trial. Returns `health`
 * unchanged if no trial is in flight.
 */
export function probeLost(health: WebhookHealth, nowMs: number): WebhookHealth {
  return isProbeOut(health) ? { ...health, nextProbeAtMs: nowMs } : health;
}

/**
 * Returns the health after another node saved `theirs`. The last event of both counts: failures of both since the last success add up, and
 * a success that is newer than the other's failures heals. `failures`: times of failures that are known here, and of those that `theirs`
 * adds.
 */
export function mergeHealth(
  own: WebhookHealth,
  theirs: WebhookHealth,
  failures: { readonly own: readonly number[]; readonly theirs: readonly number[] },
): WebhookHealth {
  const lastSuccessAtMs = latest(own.lastSuccessAtMs, theirs.lastSuccessAtMs);
  const lastFailureAtMs = latest(own.lastFailureAtMs, theirs.lastFailureAtMs);
  const times = { lastSuccessAtMs, lastFailureAtMs };
  if (theirs.status === 'unhealthy') {
    const isProvenHere = own.status === 'healthy' && (own.lastSuccessAtMs ?? 0) > (theirs.lastFailureAtMs ?? 0);
    return { ...(isProvenHere ? own : theirs), ...times };
  }
  if (own.status === 'unhealthy') {
    const isProvenThere = (theirs.lastSuccessAtMs ?? 0) > (own.lastFailureAtMs ?? 0);
    return { ...(isProvenThere ? theirs : own), ...times };
  }
  // Failures from before a restart have no times here.
  const older =
    own.lastSuccessAtMs === lastSuccessAtMs ? Math.max(0, own.consecutiveFailures - failures.own.length) : 0;
  const since = [...failures.own, ...failures.theirs].filter((atMs) => atMs > (lastSuccessAtMs ?? 0)).length;
  const merged = { ...own, ...times, consecutiveFailures: older + since };
  if (merged.consecutiveFailures < FAILURES_MAX) return merged;
  return afterFailure({ ...merged, consecutiveFailures: older + since - 1 }, lastFailureAtMs ?? 0).health;
}

function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

function isProbeOut(health: WebhookHealth): boolean {
  return health.status === 'unhealthy' && health.nextProbeAtMs === null;
}

function afterSuccess(health: WebhookHealth, nowMs: number): HealthChange {
  const isKnown = health.lastSuccessAtMs === nowMs && health.consecutiveFailures === 0 && health.status === 'healthy';
  // Many deliveries of a busy endpoint end in the same millisecond.
  if (isKnown) return { health, signals: NO_SIGNALS };
  return {
    health: { ...HEALTHY, lastSuccessAtMs: nowMs, lastFailureAtMs: health.lastFailureAtMs },
    signals: health.status === 'unhealthy' ? [{ kind: 'healed' }] : NO_SIGNALS,
  };
}

function afterFailure(health: WebhookHealth, nowMs: number): HealthChange {
  const consecutiveFailures = health.consecutiveFailures + 1;
  const counted: WebhookHealth = { ...health, consecutiveFailures };
  if (consecutiveFailures < FAILURES_MAX) {
    const isWarned = WARNING_FAILURES.includes(consecutiveFailures);
    return { health: counted, signals: isWarned ? [{ kind: 'warning', consecutiveFailures }] : [] };
  }
  const cooldownMs = COOLDOWN_MS_MIN;
  return {
    health: { ...counted, status: 'unhealthy', unhealthySinceMs: nowMs, cooldownMs, nextProbeAtMs: nowMs + cooldownMs },
    signals: [{ kind: 'unhealthy', cooldownMs }],
  };
}

function afterProbeFailure(health: WebhookHealth, nowMs: number): HealthChange {
  const cooldownMs = Math.min(2 * health.cooldownMs, COOLDOWN_MS_MAX);
  const consecutiveFailures = health.consecutiveFailures + 1;
  return {
    health: { ...health, consecutiveFailures, cooldownMs, nextProbeAtMs: nowMs + cooldownMs },
    signals: [{ kind: 'probe_failed', cooldownMs }],
  };
}
