import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Origin } from '../../ports/change-feed.ts';
import type { Webhook, WebhookId } from '../../work/webhook.ts';
import type { Committer } from './changes.ts';
import { fault, type StoreWrite } from '../tables/durable.ts';
import { decryptSecrets, encryptSecrets, previousOf } from '../tables/webhook-secrets.ts';
import type { Webhooks } from '../tables/webhook-table.ts';

export interface Rotation {
  /** The new secret that signs. */
  readonly secret: string;
  /** Time until which the replaced secret remains valid alongside it; null ends that one and all earlier ones. */
  readonly previousUntilMs: number | null;
}

export interface RotationParts {
  readonly changes: Committer;
  readonly webhooks: Pick<Webhooks, 'sealed'>;
  /** Encrypts the secrets. */
  readonly key: Uint8Array;
}

/** Choice: a conflict needs another rotation of the same webhook within some milliseconds. */
const ROTATION_TRIES = 5;

/**
 * Sets a new secret; resolves to null if there is no such webhook. The replaced secret remains valid until `previousUntilMs`, and earlier
 * ones until the end of their own grace periods. Secrets that can no longer be decrypted are dropped.
 */
export async function rotateSecret(
  { changes, webhooks, key }: RotationParts,
  { customer, id }: { readonly customer: CustomerNumber; readonly id: WebhookId },
  { secret, previousUntilMs }: Rotation,
  origin: Origin,
): Promise<StoreWrite<Webhook | null>> {
  for (let tries = 0; tries < ROTATION_TRIES; tries++) {
    const row = webhooks.sealed(customer, id);
    if (row === null) return { kind: 'ok', value: null };
    const before = previousUntilMs === null ? null : decryptSecrets(key, row.webhook, row.sealed);
    const previous =
      before === null || previousUntilMs === null ? [] : previousOf(before, previousUntilMs, origin.nowMs);
    const sealed = encryptSecrets(key, row.webhook, { current: secret, previous });
    const replaces = row.sealed;
    const written = await changes.commit({ kind: 'webhook.rotated', customer, id, sealed, replaces }, origin);
    if (written.kind === 'fault') return written;
    if (written.value !== 'conflict') return { kind: 'ok', value: written.value };
  }
  return fault('store_write_failed', 'other calls rotated the secret at the same time');
}
