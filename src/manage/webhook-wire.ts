import type { Delivery, DeliveryAttempt, DeliveryId, Webhook, WebhookId } from '../core/webhook.ts';

/** Webhooks and deliveries as they stand on the wire, field by field and in that order. Source: open points, section 4. */

/** `secret` is the text to show: whole in the answer that made it, else masked. */
export function webhookJson(webhook: Webhook, secret: string): Record<string, unknown> {
  const { health } = webhook;
  return {
    id: webhook.id,
    url: webhook.url,
    event_types: webhook.eventTypes,
    description: webhook.description,
    disabled: webhook.disabled,
    secret,
    status: health.status,
    consecutive_failures: health.consecutiveFailures,
    unhealthy_since: secondsOrNull(health.unhealthySinceMs),
    next_probe_at: secondsOrNull(health.nextProbeAtMs),
    last_success_at: secondsOrNull(health.lastSuccessAtMs),
    last_failure_at: secondsOrNull(health.lastFailureAtMs),
    created_at: seconds(webhook.createdAtMs),
    updated_at: seconds(webhook.updatedAtMs),
  };
}

const MASK = 'whsec_****************';

/** The mask and the last 4 characters; the mask alone where the secret cannot be read. */
export function maskedSecret(secret: string | null): string {
  return secret === null ? MASK : MASK + secret.slice(-4);
}

export function deliveryJson(delivery: Delivery): Record<string, unknown> {
  const last = delivery.attempts.at(-1);
  return {
    id: delivery.id,
    webhook_id: isWebhookId(delivery.endpointId) ? delivery.endpointId : null,
    url: delivery.url,
    event: delivery.event,
    request_id: delivery.requestId,
    status: delivery.status,
    trigger: delivery.trigger,
    attempt_count: delivery.attempts.length,
    last_status_code: last?.statusCode ?? null,
    last_error: delivery.error ?? last?.error ?? null,
    created_at: seconds(delivery.createdAtMs),
    completed_at: secondsOrNull(delivery.completedAtMs),
    next_attempt_at: secondsOrNull(delivery.nextAttemptAtMs),
    attempts: delivery.attempts.map(attemptJson),
  };
}

function attemptJson(attempt: DeliveryAttempt): Record<string, unknown> {
  return {
    attempt: attempt.attempt,
    started_at: seconds(attempt.startedAtMs),
    duration_ms: Math.round(attempt.durationMs),
    status_code: attempt.statusCode,
    error: attempt.error,
  };
}

/** 26 digits of Crockford's base 32 that hold 128 bits, so the first is 7 at most. */
const ID_DIGITS = '[0-7][0-9A-HJKMNP-TV-Z]{25}';
const WEBHOOK_ID = new RegExp(`^wh_${ID_DIGITS}$`);
const DELIVERY_ID = new RegExp(`^dlv_${ID_DIGITS}$`);

/** Whether a text has the form of such an id; the store is asked for no other, whatever its length. */
export function isWebhookId(text: string): text is WebhookId {
  return WEBHOOK_ID.test(text);
}

export function isDeliveryId(text: string): text is DeliveryId {
  return DELIVERY_ID.test(text);
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function secondsOrNull(ms: number | null): number | null {
  return ms === null ? null : seconds(ms);
}
