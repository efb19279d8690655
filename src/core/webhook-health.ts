import type { DeliveryTrigger, WebhookHealth } from './webhook.ts';

/**
 * What deliveries say of an endpoint: healthy, or unhealthy until one succeeds. Pure: state and event go in, state and signals
 * come out; the caller keeps the one and acts on the others. Times are Unix milliseconds. Source: open points, section 4,
 * "Health".
 *
 *     healthy ── 10 failed in a row ──▶ cooling ── its end, next matching decision ──▶ probe out
 *        ▲                                │  ▲                                            │
 *        └────────── any success ─────────┴──┼────────────────────────────────────────────┤
 *                                            └──────── the probe failed: longer ──────────┘
 *
 * Cooling and probe out are both `unhealthy`; `nextProbeAtMs` is null while a probe is out. Meanwhile deliveries that were sent
 * before, and those sent by hand, still end. Choice: a success of theirs heals as a probe's does, as it shows the same; a failure
 * only moves `lastFailureAtMs`, as the endpoint is known to be down, and neither lengthens the cool-down nor counts on.
 */

/** Failed deliveries in a row. Source: risk specification, section 3. */
const FAILURES_MAX = 10;
/** Choice: an operator hears of an endpoint before it is cut off, and not of every single failure. */
const WARNING_FAILURES: readonly number[] = [5, 7, 9];
/** Source: open points, section 4. */
const COOLDOWN_MS_MIN = 15_000;
const COOLDOWN_MS_MAX = 60_000;
/** Choice: a probe that is further away than this was set before the clock was put back; it is due. */
const PROBE_AHEAD_MS_MAX = 2 * COOLDOWN_MS_MAX;

/** A new webhook's. */
export const HEALTHY: WebhookHealth = {
  status: 'healthy',
  consecutiveFailures: 0,
  unhealthySinceMs: null,
  cooldownMs: 0,
  nextProbeAtMs: null,
  lastSuccessAtMs: null,
  lastFailureAtMs: null,
};

/** The health of a webhook that has another address, or that is paused: what its deliveries showed says nothing any more. */
export function healthAnew({ lastSuccessAtMs, lastFailureAtMs }: WebhookHealth): WebhookHealth {
  return { ...HEALTHY, lastSuccessAtMs, lastFailureAtMs };
}

/** What somebody may want to hear of or act on. */
export type HealthSignal =
  | { readonly kind: 'warning'; readonly consecutiveFailures: number }
  /** What is pending for the endpoint is to be skipped. */
  | { readonly kind: 'unhealthy'; readonly cooldownMs: number }
  | { readonly kind: 'healed' }
  | { readonly kind: 'probe_failed'; readonly cooldownMs: number };

export interface HealthChange {
  /** The very same object when nothing changed. */
  readonly health: WebhookHealth;
  readonly signals: readonly HealthSignal[];
}

/** A delivery that came to its end; one that was skipped is none. */
export interface EndedDelivery {
  readonly result: 'succeeded' | 'failed';
  readonly trigger: DeliveryTrigger;
}

/** What a matching decision's delivery is: `deliver` in full, `probe` once and without retries, `skip` not at all. */
export type Route = 'deliver' | 'probe' | 'skip';

/**
 * The health after a delivery, in the order in which deliveries end. A test counts when it succeeds and never when it fails; an
 * extraction job's own endpoint has no health, so its deliveries change nothing.
 */
export function applyDelivery(health: WebhookHealth, { result, trigger }: EndedDelivery, nowMs: number): HealthChange {
  if (trigger === 'extraction') return { health, signals: [] };
  if (result === 'succeeded') return afterSuccess(health, nowMs);
  if (trigger === 'test') return { health, signals: [] };
  const failed = { ...health, lastFailureAtMs: nowMs };
  if (health.status === 'healthy') return afterFailure(failed, nowMs);
  return trigger === 'probe' && isProbeOut(health) ? afterProbeFailure(failed, nowMs) : { health: failed, signals: [] };
}

/** What to do with a matching decision's delivery now. After `probe`, keep `probeSent`, so that no second probe goes out. */
export function decideRoute(health: WebhookHealth, nowMs: number): Route {
  if (health.status === 'healthy') return 'deliver';
  if (health.nextProbeAtMs === null) return 'skip';
  const aheadMs = health.nextProbeAtMs - nowMs;
  return aheadMs <= 0 || aheadMs > PROBE_AHEAD_MS_MAX ? 'probe' : 'skip';
}

/** The health once a probe is out. */
export function probeSent(health: WebhookHealth): WebhookHealth {
  return health.status === 'healthy' ? health : { ...health, nextProbeAtMs: null };
}

/**
 * For a probe whose end will never be heard of, such as one that is not in the store after a kill. It says nothing of the endpoint,
 * whose cool-down was over: the next matching decision is the next probe. Without a probe out nothing changes.
 */
export function probeLost(health: WebhookHealth, nowMs: number): WebhookHealth {
  return isProbeOut(health) ? { ...health, nextProbeAtMs: nowMs } : health;
}

function isProbeOut(health: WebhookHealth): boolean {
  return health.status === 'unhealthy' && health.nextProbeAtMs === null;
}

function afterSuccess(health: WebhookHealth, nowMs: number): HealthChange {
  return {
    health: { ...HEALTHY, lastSuccessAtMs: nowMs, lastFailureAtMs: health.lastFailureAtMs },
    signals: health.status === 'unhealthy' ? [{ kind: 'healed' }] : [],
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
