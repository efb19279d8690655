import type { ClusterDeliveries, DeliveryLogReads } from '../cluster/reads/cluster-deliveries.ts';
import { createWebhookTable } from '../webhooks/webhook-changes.ts';
import { Control } from '../webhooks/webhook-control.ts';
import { Dispatcher, type DispatcherParts } from '../webhooks/dispatcher.ts';
import type { NodeRole } from '../contract/node-roles.ts';
import type { WebhookManagementParts } from '../api/resource-handlers.ts';
import { openDeliverPool, openNoDeliverPool } from '../webhooks/deliver-pool.ts';
import { Notices } from '../webhooks/notices.ts';
import type { OpenPolicies } from './service-parts.ts';
import type { Committer } from '../state/feed/changes.ts';
import { openHeaders } from '../state/tables/webhook-headers.ts';
import type { Store } from '../state/feed/open-store.ts';
import { createTargetCheck } from './target-check.ts';
import { reportFaults } from './maintenance.ts';
import { hasRole } from './roles.ts';

/** Wires webhooks: the store's tables, the worker that sends, and the API's operations on both. */

interface WebhookWiring {
  readonly store: Store;
  /** Encrypts the secrets. */
  readonly key: Uint8Array;
  readonly egressAllow: readonly string[];
}

/** Deliveries and their health use real time, even if the service uses the virtual clock. */
const nowMs = (): number => Date.now();

/** A node without the role `deliver` stores deliveries and sends none. */
export function openDispatcher(
  parts: WebhookWiring &
    Pick<DispatcherParts, 'journal' | 'extractionEndpoint' | 'log' | 'mirror'> & {
      readonly roles: readonly NodeRole[];
    },
): Dispatcher {
  const { store, key, journal, egressAllow, log } = parts;
  const { webhooks, deliveries, changes } = store;
  return new Dispatcher({
    webhooks: {
      loadAll: () => webhooks.loadAll(),
      secretsOf(webhook) {
        const secrets = webhooks.secretsOf(key, webhook);
        // A webhook that was just removed has no secret either.
        if (secrets === null && webhooks.find(webhook.customer, webhook.id) !== null) {
          const { id, customer } = webhook;
          log.error({ webhook: id, customer }, "a webhook's secret cannot be read; its deliveries stay pending");
        }
        return secrets;
      },
      headersOf: (webhook) => openHeaders(key, webhook, webhook.headers),
      healthChanged: (changed) =>
        changes.commit({ kind: 'webhook.health', changed }, { by: 'service', nowMs: nowMs() }, { until: 'visible' }),
    },
    deliveries,
    extractionEndpoint: (id) => parts.extractionEndpoint(id),
    journal,
    mirror: parts.mirror ?? null,
    egressAllow,
    log,
    nowMs,
    openPool: hasRole(parts.roles, 'deliver') ? openDeliverPool : openNoDeliverPool,
    onStoreFaults: (faults) => reportFaults(faults, log),
  });
}

/** Delivers further events of this node: of its changes, of rules that its circuit breaker sets back, and of unhealthy webhooks. */
export function openNotices(
  dispatcher: Dispatcher,
  store: Pick<Store, 'ownChanges'>,
  policies: Pick<OpenPolicies, 'trips'> | null,
): void {
  const notices = new Notices({ dispatcher, nowMs });
  store.ownChanges.onOwnCommitted((change, outcome) => notices.changed(change, outcome));
  dispatcher.health.onSuspended = (webhook) => notices.suspended(webhook);
  if (policies === null) return;
  policies.trips.onFileTripped = (customer, rule, counted) =>
    notices.send(customer, { event: 'rule.tripped', requestId: null, fields: { rule, ...counted } });
}

/** Returns the parts needed by the endpoints of webhooks and deliveries. Health is taken from memory, which is newer than the store. */
export function webhookParts(
  parts: WebhookWiring & {
    /** Takes the changes of webhooks. */
    readonly changes: Committer;
    readonly dispatcher: Dispatcher;
    /** The deliveries of all nodes of a cluster; null on a node that works alone. */
    readonly allDeliveries: ClusterDeliveries | null;
  },
): WebhookManagementParts {
  const { store, changes, key, egressAllow, dispatcher, allDeliveries } = parts;
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
    deliveries: allDeliveries ?? ownDeliveries(dispatcher, deliveries),
    control: new Control({
      dispatcher,
      webhooks: createWebhookTable({ changes, webhooks, key }),
      deliveries,
      ...(allDeliveries !== null && { findAnywhere: (customer, id) => allDeliveries.find(customer, id) }),
      nowMs,
    }),
    checkTarget: createTargetCheck(egressAllow, () => dispatcher.listening),
  };
}

/** Returns the reads of this node's delivery log. */
export function ownDeliveries(
  dispatcher: Pick<Dispatcher, 'settled'>,
  deliveries: Store['deliveries'],
): DeliveryLogReads {
  return {
    settled: () => dispatcher.settled(),
    find: (customer, id) => deliveries.find(customer, id),
    page: (customer, query) => deliveries.page(customer, query),
  };
}
