import { Control } from '../webhooks/webhook-control.ts';
import { Dispatcher, type DispatcherParts } from '../webhooks/dispatcher.ts';
import type { WebhookManagementParts } from '../api/resource-handlers.ts';
import type { DeliveryLog } from '../extract/sinks/result-deliveries.ts';
import { openDeliverPool } from '../webhooks/deliver-pool.ts';
import type { Store } from '../state/open-store.ts';
import { createTargetCheck } from './target-check.ts';
import { reportFaults } from './maintenance.ts';

/** Wires webhooks: the store's tables, the worker that sends, and the API's operations on both. */

interface WebhookWiring {
  readonly store: Store;
  /** Encrypts the secrets. */
  readonly key: Uint8Array;
  readonly egressAllow: readonly string[];
}

/** Deliveries and their health use real time, even if the service uses the virtual clock. */
const nowMs = (): number => Date.now();

export function openDispatcher(
  parts: WebhookWiring & Pick<DispatcherParts, 'journal' | 'extractionEndpoint' | 'log'>,
): Dispatcher {
  const { store, key, journal, egressAllow, log } = parts;
  const { webhooks, deliveries } = store;
  return new Dispatcher({
    webhooks: {
      loadAll: () => webhooks.loadAll(),
      healthChanged: (changed) => webhooks.healthChanged(changed),
    },
    deliveries,
    extractionEndpoint: (id) => parts.extractionEndpoint(id),
    journal,
    worker: { egressAllow, dataDir: store.dataDir, secretsKey: key },
    log,
    nowMs,
    openPool: openDeliverPool,
    onStoreFaults: (faults) => reportFaults(faults, log),
  });
}

/** Returns the parts needed by the endpoints of webhooks and deliveries. Health is taken from memory, which is newer than the store. */
export function webhookParts(parts: WebhookWiring & { readonly dispatcher: Dispatcher }): WebhookManagementParts {
  const { store, key, egressAllow, dispatcher } = parts;
  const { webhooks, deliveries } = store;
  const newest: typeof dispatcher.newest = (webhook) => dispatcher.newest(webhook);
  return {
    webhooks: {
      find(customer, id) {
        const found = webhooks.find(customer, id);
        return found === null ? null : newest(found);
      },
      page(customer, query) {
        const { rows, next } = webhooks.page(customer, query);
        return { rows: rows.map(newest), next };
      },
      secretsOf: (webhook) => webhooks.secretsOf(key, webhook),
    },
    deliveries: {
      async settled() {
        await dispatcher.settled();
        deliveries.resetRead();
      },
      find: (customer, id) => deliveries.find(customer, id),
      page: (customer, query) => deliveries.page(customer, query),
    },
    control: new Control({
      dispatcher,
      webhooks: {
        create: (webhook, secret) => webhooks.create(key, webhook, secret),
        remove: (customer, id) => webhooks.remove(customer, id),
        change: (customer, id, change) => webhooks.change(customer, id, change),
        rotate: (customer, id, change) => webhooks.rotate(key, customer, id, change),
      },
      nowMs,
    }),
    checkTarget: createTargetCheck(egressAllow, () => dispatcher.listening),
  };
}

/** Returns what the delivery of extraction results needs of the dispatcher. */
export function deliveryLogOf(dispatcher: Dispatcher): DeliveryLog {
  return {
    find: (customer, id) => dispatcher.find(customer, id),
    add: async (row) => (await dispatcher.add(row)) === 'stored',
    ended: (id) => dispatcher.ended(id).done,
    forget: (id) => dispatcher.forget(id),
  };
}
