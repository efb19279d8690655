import { randomBytes } from 'node:crypto';
import { newId } from '../kernel/ids.ts';
import { messageOf } from '../state/tables/durable.ts';
import { signedHeaders } from '../webhooks/sign-delivery.ts';

/** Source: contract, 10.6: an attempt has 5 s. */
const ATTEMPT_MS_MAX = 5_000;
const SECRET_BYTES = 32;
const SECRET_FORM = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/;

/** A webhook's secret that belongs to no webhook. */
export function newLocalSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

export function isWebhookSecret(text: string): boolean {
  return SECRET_FORM.test(text);
}

/** A signed event for a receiver that this machine reaches, for example on localhost. */
export interface LocalDelivery {
  readonly id: string;
  readonly event: string;
  readonly requestId: string;
  readonly body: string;
}

export interface LocalAttempt {
  /** Null if the receiver did not respond. */
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

export function newDelivery(event: string, requestId: string, body: string): LocalDelivery {
  return { id: newId('dlv', Date.now()), event, requestId, body };
}

/** Sends a delivery from this process, with the headers of a webhook. Never follows a redirect, as the service does not. */
export async function sendLocally(url: string, secret: string, delivery: LocalDelivery): Promise<LocalAttempt> {
  const body = Buffer.from(delivery.body);
  const headers = signedHeaders({
    deliveryId: delivery.id,
    body,
    secrets: { current: secret, previous: [] },
    nowMs: Date.now(),
  });
  const startedAtMs = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedAtMs);
  try {
    const signal = AbortSignal.timeout(ATTEMPT_MS_MAX);
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return { statusCode: response.status, error: null, durationMs: durationMs() };
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return { statusCode: null, error: messageOf(cause) || 'no response', durationMs: durationMs() };
  }
}

export function isAccepted({ statusCode }: LocalAttempt): boolean {
  return statusCode !== null && statusCode >= 200 && statusCode < 300;
}

export function attemptJson(delivery: LocalDelivery, attempt: LocalAttempt): object {
  return {
    webhook_id: delivery.id,
    event: delivery.event,
    request_id: delivery.requestId,
    status_code: attempt.statusCode,
    error: attempt.error,
    duration_ms: attempt.durationMs,
  };
}

export function attemptText(delivery: LocalDelivery, attempt: LocalAttempt): string {
  const outcome = attempt.statusCode ?? attempt.error;
  return `${delivery.event.padEnd(14)}  ${delivery.requestId}  → ${outcome}  ${attempt.durationMs} ms`;
}
