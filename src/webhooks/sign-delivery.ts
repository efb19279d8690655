import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { PreviousSecret, WebhookSecrets } from '../work/webhook.ts';

/** One attempt of a delivery. */
export interface DeliverySignInput {
  readonly deliveryId: string;
  /** The exact bytes that are sent. */
  readonly body: Uint8Array;
  readonly secrets: WebhookSecrets;
  /** The time of the attempt, Unix ms. */
  readonly nowMs: number;
}

/** `C`: all other bodies are objects. Read from the body, because a webhook's format may change while a delivery is pending. */
const FIRST_OF_CEF = 0x43;
const SECRET_PREFIX = 'whsec_';

const NONE: readonly PreviousSecret[] = [];

/**
 * Returns all headers of a delivery, signed for this attempt. After a rotation, until the grace period ends, `X-SVC-Webhook-Signature` is
 * made with the oldest valid secret, because it can carry only one signature; `webhook-signature` carries one per valid secret, the newest
 * first. Secrets are `whsec_` and base64. Source: contract, 10.4.
 *
 * `secrets` and its elements must not change; a rotation replaces them. Their keys are kept as long as they are.
 */
export function signedHeaders({ deliveryId, body, secrets, nowMs }: DeliverySignInput): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const content = `${deliveryId}.${timestamp}.`;
  const counting = previousInGrace(secrets, nowMs);
  const current = keysOf(secrets, secrets.current);
  const previous = counting.map((one) => keysOf(one, one.secret));
  const standard = standardSignature(current, content, body);
  return {
    'content-type': body[0] === FIRST_OF_CEF ? 'text/plain; charset=utf-8' : 'application/json',
    'user-agent': 'Gatehouse-Webhooks/1',
    'X-SVC-Webhook-Signature': createHmac('sha256', (previous.at(-1) ?? current).body)
      .update(body)
      .digest('hex'),
    'X-SVC-Webhook-Ts': timestamp,
    'webhook-id': deliveryId,
    'webhook-timestamp': timestamp,
    'webhook-signature':
      previous.length === 0
        ? standard
        : [standard, ...previous.map((keys) => standardSignature(keys, content, body))].join(' '),
  };
}

/** The keys that one secret stands for. */
interface Keys {
  /** The UTF-8 text of the whole secret. */
  readonly body: KeyObject;
  /** The decoded base64 part. Source: the Standard Webhooks specification, symmetric signatures. */
  readonly standard: KeyObject;
}

const prepared = new WeakMap<WebhookSecrets | PreviousSecret, Keys>();

function keysOf(holder: WebhookSecrets | PreviousSecret, secret: string): Keys {
  let keys = prepared.get(holder);
  if (keys === undefined) {
    keys = {
      body: createSecretKey(Buffer.from(secret)),
      standard: createSecretKey(Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')),
    };
    prepared.set(holder, keys);
  }
  return keys;
}

function standardSignature({ standard }: Keys, content: string, body: Uint8Array): string {
  return `v1,${createHmac('sha256', standard).update(content).update(body).digest('base64')}`;
}

function previousInGrace({ previous }: WebhookSecrets, nowMs: number): readonly PreviousSecret[] {
  return previous.length === 0 ? NONE : previous.filter(({ untilMs }) => nowMs < untilMs);
}
