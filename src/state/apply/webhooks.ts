import type { Apply } from './applying.ts';

/** Customers' webhooks. Their deliveries are written elsewhere. */

export const createWebhook: Apply<'webhook.created'> = ({ tables: { webhooks }, bounds }, { webhook, sealed }) => {
  if (webhooks.count(webhook.customer) >= bounds.webhooks) return 'limit_reached';
  webhooks.put(webhook, sealed);
  return 'created';
};

export const changeWebhook: Apply<'webhook.changed'> = ({ tables: { webhooks }, nowMs }, { customer, id, change }) => {
  const row = webhooks.sealed(customer, id);
  if (row === null) return null;
  const webhook = { ...row.webhook, ...change, updatedAtMs: nowMs };
  webhooks.put(webhook, row.sealed);
  return webhook;
};

export const removeWebhook: Apply<'webhook.removed'> = ({ tables: { webhooks } }, { customer, id }) =>
  webhooks.remove(customer, id);

export const rotateWebhook: Apply<'webhook.rotated'> = ({ tables: { webhooks }, nowMs }, change) => {
  const row = webhooks.sealed(change.customer, change.id);
  if (row === null) return null;
  if (!Buffer.from(row.sealed).equals(change.replaces)) return 'conflict';
  const webhook = { ...row.webhook, updatedAtMs: nowMs };
  webhooks.put(webhook, change.sealed);
  return webhook;
};

export const setHealth: Apply<'webhook.health'> = ({ tables: { webhooks } }, { changed }) => {
  for (const { customer, id, health } of changed) webhooks.putHealth(customer, id, health);
  return null;
};
