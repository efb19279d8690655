import { type RotationParts, rotateSecret } from '../state/feed/webhook-rotation.ts';
import { sealHeaders } from '../state/tables/webhook-headers.ts';
import { encryptSecrets } from '../state/tables/webhook-secrets.ts';
import type { WebhookTable } from './webhook-control.ts';

/** The operations on webhooks as changes of the store. */
export function createWebhookTable(parts: RotationParts): WebhookTable {
  const { changes, key } = parts;
  return {
    sealHeaders: (owner, headers) => sealHeaders(key, owner, headers),
    create(webhook, secret, origin) {
      const sealed = encryptSecrets(key, webhook, { current: secret, previous: [] });
      return changes.commit({ kind: 'webhook.created', webhook, sealed }, origin);
    },
    remove: (customer, id, origin) => changes.commit({ kind: 'webhook.removed', customer, id }, origin),
    change: (customer, id, change, origin) => changes.commit({ kind: 'webhook.changed', customer, id, change }, origin),
    rotate: (customer, id, rotation, origin) => rotateSecret(parts, { customer, id }, rotation, origin),
  };
}
