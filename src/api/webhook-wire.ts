import { MASKED_HEADER } from '../contract/requests/extra-headers.ts';
import { idPattern } from '../contract/wire-ids.ts';
import { filterFaultOf } from '../work/webhook-filter.ts';
import type { Delivery, DeliveryAttempt, DeliveryId, Webhook, WebhookId } from '../work/webhook.ts';

/** Serialises webhooks and deliveries for the wire, with their fields in a fixed order. Source: contract, 10.1 and 10.8. */

/** `secret` is the text to show: complete in the response that created it, else masked. */
export function webhookJson(webhook: Webhook, secret: string): Record<string, unknown> {
  const { health } = webhook;
  return {
    id: webhook.id,
    url: webhook.url,
    event_types: webhook.eventTypes,
    events: webhook.events ?? [],
    description: webhook.description,
    disabled: webhook.disabled,
    filter: webhook.filter ?? null,
    filter_error: filterFaultOf(webhook.filter),
    headers: maskedHeaders(webhook),
    format: webhook.format ?? 'standard',
    fields: webhook.fields ?? 'event',
    retry: webhook.retry ?? 'fast',
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

function maskedHeaders({ headers }: Webhook): Readonly<Record<string, string>> {
  return Object.fromEntries((headers?.names ?? []).map((name) => [name, MASKED_HEADER]));
}

const MASK = 'whsec_****************';

/** Returns the mask and the last 4 characters, or the mask alone if the secret cannot be read. */
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

/** With what every attempt sends, except records of an extraction, which have up to 1 MiB and are dropped when they have arrived. */
export function deliveryDetailJson(delivery: Delivery): Record<string, unknown> {
  const body = delivery.trigger === 'extraction' ? null : delivery.body.toString();
  return { ...deliveryJson(delivery), body };
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

const WEBHOOK_ID = idPattern('wh');
const DELIVERY_ID = idPattern('dlv');

/** Returns whether a text has the format of a webhook id. The store looks up no other ids, whatever their length. */
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
