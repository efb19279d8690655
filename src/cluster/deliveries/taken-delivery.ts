import type { Delivery, DeliveryAttempt, WebhookRetry } from '../../work/webhook.ts';
import { planOf } from '../../work/webhook-schedule.ts';

/**
 * Returns a delivery of a node that is gone, as another node continues it. An attempt that was due may have been made, so it counts: no
 * receiver gets more attempts than the plan has. If it was the last one, the delivery has failed. A trial is sent again, because without
 * its result the webhook would stay suspended. Nobody waits for a test any more.
 */
export function takenOver(row: Delivery, retry: WebhookRetry, nowMs: number): Delivery {
  const { trigger, attempts, nextAttemptAtMs, createdAtMs } = row;
  if (trigger === 'test') return failed(row, attempts, 'shutdown', nowMs);
  const dueAtMs = nextAttemptAtMs ?? createdAtMs;
  if (trigger === 'probe' || dueAtMs > nowMs) return row;
  const made = attempts.filter(({ error }) => error !== 'shutdown').length + 1;
  const unknown: DeliveryAttempt = {
    attempt: attempts.length + 1,
    startedAtMs: dueAtMs,
    durationMs: 0,
    statusCode: null,
    error: 'connection_reset',
  };
  const all = [...attempts, unknown];
  const waitMs = planOf(trigger, retry).waitsMs[made - 1];
  if (waitMs === undefined) return failed(row, all, 'connection_reset', nowMs);
  return { ...row, attempts: all, nextAttemptAtMs: Math.max(nowMs, dueAtMs + waitMs) };
}

function failed(
  row: Delivery,
  attempts: readonly DeliveryAttempt[],
  error: NonNullable<Delivery['error']>,
  nowMs: number,
): Delivery {
  return { ...row, attempts, status: 'failed', error, completedAtMs: nowMs, nextAttemptAtMs: null };
}
