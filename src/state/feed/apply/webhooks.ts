import type { AuditFacts } from '../../../work/audit.ts';
import type { Webhook, WebhookChange } from '../../../work/webhook.ts';
import type { Apply } from './applying.ts';
import { isOtherHost } from '../../tables/webhook-headers.ts';
import { record } from './audit-record.ts';

/** Customers' webhooks. Their deliveries are written elsewhere. */

export const createWebhook: Apply<'webhook.created'> = (at, { webhook, sealed }) => {
  const { webhooks } = at.tables;
  if (webhooks.count(webhook.customer) >= at.bounds.webhooks) return 'limit_reached';
  webhooks.put(webhook, sealed);
  record(at, webhook.customer, { kind: 'webhook.created', target: webhook.id, after: factsOf(webhook) });
  return 'created';
};

export const changeWebhook: Apply<'webhook.changed'> = (at, { customer, id, change }) => {
  const row = at.tables.webhooks.sealed(customer, id);
  if (row === null) return null;
  const webhook = { ...row.webhook, ...change, ...clearedHeaders(row.webhook, change), updatedAtMs: at.nowMs };
  at.tables.webhooks.put(webhook, row.sealed);
  const [before, after] = [factsOf(row.webhook), factsOf(webhook)];
  record(at, customer, { kind: 'webhook.changed', target: id, before, after });
  return webhook;
};

/** Headers with credentials must not reach another host than the one they were given for. */
function clearedHeaders({ url, headers }: Webhook, change: WebhookChange): { readonly headers?: null } {
  if (!headers || change.headers !== undefined || change.url === undefined) return {};
  return isOtherHost(url, change.url) ? { headers: null } : {};
}

export const removeWebhook: Apply<'webhook.removed'> = (at, { customer, id }) => {
  const before = at.tables.webhooks.find(customer, id);
  if (before === null) return false;
  at.tables.webhooks.remove(customer, id);
  record(at, customer, { kind: 'webhook.removed', target: id, before: factsOf(before) });
  return true;
};

export const rotateWebhook: Apply<'webhook.rotated'> = (at, { customer, id, sealed, replaces }) => {
  const row = at.tables.webhooks.sealed(customer, id);
  if (row === null) return null;
  if (!Buffer.from(row.sealed).equals(replaces)) return 'conflict';
  const webhook = { ...row.webhook, updatedAtMs: at.nowMs };
  at.tables.webhooks.put(webhook, sealed);
  record(at, customer, { kind: 'webhook.rotated', target: id });
  return webhook;
};

/** Only a webhook that became healthy or unhealthy is recorded: deliveries report its health every second. */
export const setHealth: Apply<'webhook.health'> = (at, { changed }) => {
  for (const { customer, id, health } of changed) {
    const before = at.tables.webhooks.putHealth(customer, id, health);
    if (before === null || before.status === health.status) continue;
    const facts = { before: { status: before.status }, after: { status: health.status } };
    record(at, customer, { kind: 'webhook.health', target: id, ...facts });
  }
  return null;
};

/** The query of a URL may hold a token, and a description is free text; both are left out. */
function factsOf({ url, eventTypes, events, disabled, filter = null, headers, format, fields }: Webhook): AuditFacts {
  return {
    url: url.replace(/\?.*$/s, '?…'),
    event_types: eventTypes,
    ...(events !== undefined && { events }),
    disabled,
    ...(filter !== null && { filter }),
    ...(headers && { headers: headers.names }),
    ...(format !== undefined && { format }),
    ...(fields !== undefined && { fields }),
  };
}
