import { planOf } from '../work/webhook-schedule.ts';
import type { Delivery, WebhookRetry } from '../work/webhook.ts';
import type { DeliverTask } from './deliver-messages.ts';

/** Returns the row as the worker gets it. An attempt that a shutdown aborted does not count as one of a delivery's attempts. */
export function taskOf(row: Delivery, retry: WebhookRetry, nowMs: number): DeliverTask {
  const { id, endpointId, trigger, body, elapsedMs } = row;
  const waitMs = waitMsOf(row, retry, nowMs);
  const notBeforeMs = waitMs === 0 ? 0 : nowMs + waitMs;
  return { deliveryId: id, endpointId, trigger, body, attemptsMade: attemptsMadeOf(row), elapsedMs, notBeforeMs };
}

function attemptsMadeOf({ attempts }: Delivery): number {
  return attempts.filter(({ error }) => error !== 'shutdown').length;
}

/** Returns the time until its next attempt is due, ms. */
export function waitMsOf(row: Delivery, retry: WebhookRetry, nowMs: number): number {
  const { trigger, nextAttemptAtMs } = row;
  if (nextAttemptAtMs === null) return 0;
  // A clock that was set back must not make a wait longer than planned.
  const waitMsMax = planOf(trigger, retry).waitsMs[attemptsMadeOf(row) - 1] ?? 0;
  return Math.max(0, Math.min(nextAttemptAtMs - nowMs, waitMsMax));
}
