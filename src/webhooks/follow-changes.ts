import type { Change } from '../state/feed/changes.ts';
import type { Webhooks } from '../state/tables/webhook-table.ts';
import type { Dispatcher } from './dispatcher.ts';

/**
 * Brings the dispatcher up to date with a change that another node has made, as `Control` does for a change of this node. Failures of
 * all nodes add up: see `mergeHealth`.
 */
export function followWebhookChange(
  dispatcher: Pick<Dispatcher, 'subscribe' | 'subscribers' | 'prefetch' | 'health'>,
  webhooks: Pick<Webhooks, 'find'>,
  change: Change,
): void {
  const { subscribers, prefetch } = dispatcher;
  if (change.kind === 'webhook.created') {
    const webhook = webhooks.find(change.webhook.customer, change.webhook.id);
    // It may have been refused, or removed by one of the next changes.
    if (webhook !== null && subscribers.find(webhook.id) === undefined) dispatcher.subscribe(webhook);
  } else if (change.kind === 'webhook.removed') {
    if (webhooks.find(change.customer, change.id) !== null) return;
    subscribers.remove(change.id);
    prefetch.giveUp(change.id, 'gone', true);
  } else if (change.kind === 'webhook.changed' || change.kind === 'webhook.rotated') {
    const [webhook, known] = [webhooks.find(change.customer, change.id), subscribers.find(change.id)];
    if (webhook === null || known === undefined) return;
    const health = change.kind === 'webhook.changed' ? change.change.health : undefined;
    subscribers.replace({ ...webhook, health: health ?? known.webhook.health });
    if (webhook.disabled) prefetch.giveUp(change.id, 'disabled', true);
    else prefetch.changed(change.id);
  } else if (change.kind === 'webhook.health') {
    for (const { id, health, newFailures = [] } of change.changed) {
      const known = subscribers.find(id);
      if (known !== undefined) dispatcher.health.follow(known, health, newFailures);
    }
  }
}
