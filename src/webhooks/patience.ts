import { FAST_ATTEMPTS } from '../work/webhook-schedule.ts';
import { probeWaitMs } from '../work/webhook-health.ts';
import type { Webhook } from '../work/webhook.ts';
import type { DeliverResult } from './deliver-messages.ts';
import type { EndpointWindow, HandedOut } from './in-flight-windows.ts';

/**
 * What differs for a patient webhook, which loses no delivery while its endpoint is down. A delivery counts as failed for the health when
 * its fast attempts are spent, and goes on. While the endpoint is unhealthy all deliveries wait in the store, and the oldest is its trial:
 * one attempt that is not recorded unless it succeeds. Source: contract, 10.14.
 */

/**
 * Returns the result as it counts for a patient webhook: what would end there as skipped, and a trial that failed, wait in the store.
 * `isFull`: no further delivery may wait for a late retry.
 */
export function keptByPatience(result: DeliverResult, { trigger }: HandedOut, isFull: boolean): DeliverResult {
  const { outcome, completedAtMs, attempt } = result;
  if (outcome.kind === 'skipped' && outcome.error === 'unhealthy')
    return { ...result, outcome: { kind: 'parked', nextAttemptAtMs: completedAtMs } };
  if (outcome.kind === 'failed' && trigger === 'probe')
    return { ...result, attempt: null, outcome: { kind: 'parked', nextAttemptAtMs: completedAtMs } };
  if (outcome.kind === 'parked' && isFull && attempt !== null)
    return { ...result, outcome: { kind: 'failed', error: attempt.error ?? 'timeout' } };
  return result;
}

/** Returns whether a delivery that goes on counts as a failed one for the health of its webhook. */
export function failsHealth({ attempt }: DeliverResult, { trigger }: HandedOut): boolean {
  return trigger === 'probe' || attempt?.attempt === FAST_ATTEMPTS;
}

/** Returns the time until the oldest delivery may be tried, ms; Infinity while a trial is out. */
export function trialWaitMs(window: EndpointWindow, { health }: Webhook, nowMs: number): number {
  for (const { trigger } of window.held.values()) if (trigger === 'probe') return Infinity;
  // The trial that was out is lost: its worker died.
  return health.nextProbeAtMs === null ? 0 : probeWaitMs(health, nowMs);
}
