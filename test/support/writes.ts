import type { CustomerNumber, FingerprintHash } from '../../src/kernel/brand.ts';
import type { Label, ReviewVerdict } from '../../src/risk/judgement.ts';
import type { Committer, ExpiringTable } from '../../src/state/feed/changes.ts';
import { applying } from '../../src/state/feed/apply.ts';
import { withdraw } from '../../src/state/feed/apply/sightings.ts';
import { durably, type StoreWrite } from '../../src/state/tables/durable.ts';
import type { SightingKind } from '../../src/state/tables/sighting-row.ts';
import { createKeyPair, newCustomer } from '../../src/state/feed/key-changes.ts';
import type { JudgedDecision } from '../../src/state/tables/label-table.ts';
import type { ListEntryChange } from '../../src/state/tables/list-table.ts';
import { LmdbFeed } from '../../src/state/feed/lmdb-feed.ts';
import type { Store } from '../../src/state/feed/open-store.ts';
import { pruneState } from '../../src/state/feed/prune.ts';
import { reconcileRevocations } from '../../src/state/feed/reconcile-revocations.ts';
import type { RegistryEntry } from '../../src/state/tables/registry-table.ts';
import { STATE_BOUNDS, type StateBounds } from '../../src/state/tables/state-tables.ts';
import type { Slices } from '../../src/state/tables/turns.ts';
import { type Rotation, rotateSecret } from '../../src/state/feed/webhook-rotation.ts';
import { encryptSecrets } from '../../src/state/tables/webhook-secrets.ts';
import type { Webhook, WebhookChange, WebhookHealth, WebhookId } from '../../src/work/webhook.ts';

const BY = 'key:sk_live_test';

/** The changes of a store that tests make, table by table. `changes` may have other bounds than the store's. */
export function writesOf(store: Store, changes: Committer = store.changes) {
  const at = (nowSeconds: number) => ({ by: BY, nowMs: nowSeconds * 1000 }) as const;
  const prune =
    (table: ExpiringTable) =>
    async (nowSeconds: number, rowsMax: number): Promise<StoreWrite<number>> => {
      const { removed, faults } = await pruneState({ tables: store.tables, changes }, nowSeconds * 1000, rowsMax, [
        table,
      ]);
      return faults[0] ?? { kind: 'ok', value: removed };
    };
  return {
    customers: {
      create: (name: string, nowMs: number) => changes.commit(newCustomer(name, nowMs), { by: BY, nowMs }),
    },
    apiKeys: {
      createPair: (
        customer: CustomerNumber,
        rateLimit: number | null,
        nowSeconds: number,
        origins: readonly string[] = [],
      ) => createKeyPair(changes, customer, { rateLimit, origins }, at(nowSeconds)),
      revoke: (hash: string, nowSeconds: number) => changes.commit({ kind: 'key.revoked', hash }, at(nowSeconds)),
      reconcileRevocations: () => reconcileRevocations(store, Date.now()),
    },
    lists: {
      put: (customer: CustomerNumber, entry: ListEntryChange, nowSeconds: number) =>
        changes.commit({ kind: 'list.put', customer, entry }, at(nowSeconds)),
      putMany: (customer: CustomerNumber, entries: readonly ListEntryChange[], nowSeconds: number, slices?: Slices) =>
        changes.commit({ kind: 'list.batch', customer, entries }, at(nowSeconds), { slices }),
      remove: (customer: CustomerNumber, fingerprintHash: FingerprintHash, nowSeconds: number) =>
        changes.commit({ kind: 'list.removed', customer, fingerprintHash }, at(nowSeconds)),
      sweepExpired: prune('lists'),
    },
    namedLists: { sweepExpired: prune('namedListItems'), sweepVersions: prune('namedListVersions') },
    registry: {
      put: (entry: RegistryEntry) => changes.commit({ kind: 'registry.imported', entries: [entry], total: 1 }, at(1)),
      putMany: (entries: readonly RegistryEntry[]) =>
        changes.commit({ kind: 'registry.imported', entries, total: entries.length }, at(1)),
      prune: prune('registry'),
    },
    feedback: {
      label: (
        customer: CustomerNumber,
        decision: JudgedDecision,
        label: Label,
        note: string | null,
        nowSeconds: number,
      ) => store.feedback.label(customer, decision, label, note, nowSeconds, BY),
      judge: (customer: CustomerNumber, requestId: string, verdict: ReviewVerdict, nowSeconds: number) =>
        store.feedback.judge(customer, requestId, verdict, nowSeconds, BY),
    },
    labels: { prune: prune('labels') },
    shadowReviews: { prune: prune('shadowReviews') },
    sightings: {
      forgetFingerprint: (fingerprintHash: FingerprintHash) =>
        changes.commit({ kind: 'registry.removed', fingerprintHash }, at(1)),
      prune: prune('sightings'),
    },
    webhooks: {
      create: (key: Uint8Array, webhook: Webhook, secret: string) => {
        const sealed = encryptSecrets(key, webhook, { current: secret, previous: [] });
        return changes.commit({ kind: 'webhook.created', webhook, sealed }, { by: BY, nowMs: webhook.createdAtMs });
      },
      remove: (customer: CustomerNumber, id: WebhookId) =>
        changes.commit({ kind: 'webhook.removed', customer, id }, at(1)),
      rotate: (
        key: Uint8Array,
        customer: CustomerNumber,
        id: WebhookId,
        { nowMs, ...rotation }: Rotation & { readonly nowMs: number },
      ) => rotateSecret({ changes, webhooks: store.webhooks, key }, { customer, id }, rotation, { by: BY, nowMs }),
      change: (
        customer: CustomerNumber,
        id: WebhookId,
        { nowMs, ...change }: WebhookChange & { readonly health?: WebhookHealth; readonly nowMs: number },
      ) => changes.commit({ kind: 'webhook.changed', customer, id, change }, { by: BY, nowMs }),
      healthChanged: (changed: readonly Pick<Webhook, 'customer' | 'id' | 'health'>[]) =>
        changes.commit({ kind: 'webhook.health', changed }, at(1), { until: 'visible' }),
    },
  };
}

/** Withdraws a customer's evidence of these kinds, as a label does. */
export function withdrawn(
  { state, tables }: Store,
  customer: CustomerNumber,
  fingerprintHash: FingerprintHash,
  kinds: readonly SightingKind[],
  nowSeconds: number,
): Promise<StoreWrite<void>> {
  const at = applying(tables, { by: BY, nowMs: nowSeconds * 1000 }, STATE_BOUNDS);
  return durably(state, () => withdraw(at, customer, fingerprintHash, kinds));
}

/** A store's lists with their changes. */
export function listsOf(store: Store, changes: Committer = store.changes) {
  const { lists } = store;
  const find: typeof lists.find = (...given) => lists.find(...given);
  const get: typeof lists.get = (...given) => lists.get(...given);
  const page: typeof lists.page = (...given) => lists.page(...given);
  return { ...writesOf(store, changes).lists, find, get, page };
}

/** Returns a feed into the store's tables with other bounds. */
export function boundedFeed({ state: root, tables, revocations }: Store, bounds: Partial<StateBounds>): LmdbFeed {
  return new LmdbFeed({ root, tables, revocations, bounds });
}
