import { randomBytes } from 'node:crypto';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import { newId } from '../../src/kernel/ids.ts';
import { DECISIONS } from '../../src/risk/decision.ts';
import { eventBody } from '../../src/work/webhook-event.ts';
import { HEALTHY } from '../../src/work/webhook-health.ts';
import type { DeliveryId, Webhook, WebhookId } from '../../src/work/webhook.ts';
import { newRow } from '../../src/webhooks/due-delivery.ts';
import { openStore, type Store } from '../../src/state/feed/open-store.ts';
import { deriveKey, openMasterKey } from '../../src/state/repair/master-key.ts';
import type { StoreWrite } from '../../src/state/tables/durable.ts';
import { makeDataDirectory } from '../data-directory.ts';
import { encryptSecrets } from '../../src/state/tables/webhook-secrets.ts';
import { createKeyPair, newCustomer } from '../../src/state/feed/key-changes.ts';

/** A data directory with customers, webhooks and pending deliveries, created before its server starts. */

export interface SeededCustomer {
  readonly number: CustomerNumber;
  readonly secretKey: string;
  readonly webhooks: readonly Webhook[];
}

/** Rate limit of a key of a bench, decisions per minute. */
const RATE_LIMIT = 100_000_000;
/** Limits concurrent writes: the store does not complete thousands of them in time. */
const CUSTOMERS_AT_ONCE = 20;
/** Rows per write. */
const SLICE = 1_000;

/** Creates customers; each has one webhook per URL of its list, subscribed to every decision. */
export async function seedCustomers(
  dataDir: string,
  urlsOfEach: readonly (readonly string[])[],
): Promise<readonly SeededCustomer[]> {
  const key = openMasterKey(dataDir, undefined);
  if (key.kind === 'fault') throw new Error(key.detail);
  const secretsKey = deriveKey(key.key, 'webhook-secrets');
  await makeDataDirectory(dataDir);
  return withStore(dataDir, async (store) => {
    const customers: SeededCustomer[] = [];
    for (let first = 0; first < urlsOfEach.length; first += CUSTOMERS_AT_ONCE) {
      const some = urlsOfEach.slice(first, first + CUSTOMERS_AT_ONCE);
      const made = some.map((urls, i) => seedCustomer(store, secretsKey, `bench ${first + i}`, urls));
      customers.push(...(await Promise.all(made)));
    }
    return customers;
  });
}

async function seedCustomer(
  store: Store,
  secretsKey: Uint8Array,
  name: string,
  urls: readonly string[],
): Promise<SeededCustomer> {
  const nowMs = Date.now();
  const customer = valueOf(await store.changes.commit(newCustomer(name, nowMs), { by: 'service', nowMs })).number;
  const pair = valueOf(
    await createKeyPair(store.changes, customer, { rateLimit: RATE_LIMIT }, { by: 'service', nowMs }),
  );
  const webhooks = urls.map((url): Webhook => {
    const id = newId('wh', nowMs) as WebhookId;
    const times = { createdAtMs: nowMs, updatedAtMs: nowMs };
    return { id, customer, url, eventTypes: DECISIONS, description: null, disabled: false, health: HEALTHY, ...times };
  });
  const made = webhooks.map((webhook) =>
    store.changes.commit(
      {
        kind: 'webhook.created',
        webhook,
        sealed: encryptSecrets(secretsKey, webhook, { current: newSecret(), previous: [] }),
      },
      { by: 'service', nowMs },
    ),
  );
  for (const one of await Promise.all(made)) valueOf(one);
  return { number: customer, secretKey: pair.secret.text, webhooks };
}

/** Stores pending deliveries, round-robin over all webhooks, with the bodies of `bodyOf`. */
export async function seedDeliveries(
  dataDir: string,
  customers: readonly SeededCustomer[],
  count: number,
): Promise<void> {
  const webhooks = customers.flatMap((customer) => customer.webhooks);
  await withStore(dataDir, async ({ deliveries }) => {
    for (let first = 0; first < count; first += SLICE) {
      const size = Math.min(SLICE, count - first);
      const rows = Array.from({ length: size }, (_, i) => rowOf(webhooks, first + i));
      valueOf(await deliveries.insert(rows, 0));
    }
  });
}

function rowOf(webhooks: readonly Webhook[], n: number): ReturnType<typeof newRow> {
  const webhook = webhooks[n % webhooks.length];
  if (webhook === undefined) throw new Error('deliveries need a webhook');
  const createdAtMs = Date.now();
  const requestId = newId('req', createdAtMs);
  const due = { customer: webhook.customer, requestId, event: 'ALLOW', createdAtMs, body: bodyOf(requestId) } as const;
  return newRow(due, newId('dlv', createdAtMs) as DeliveryId, webhook, 'decision');
}

/** An event of typical size. */
export function bodyOf(requestId: string): Buffer {
  const event = { requestId, decision: 'ALLOW', score: 12.5, reasons: ['velocity_session_1m'] } as const;
  return Buffer.from(eventBody({ ...event, occurredAtMs: Date.now() }));
}

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

async function withStore<T>(dataDir: string, use: (store: Store) => Promise<T>): Promise<T> {
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  try {
    return await use(opened.store);
  } finally {
    await opened.store.close();
  }
}

function valueOf<T>(written: StoreWrite<T>): T {
  if (written.kind === 'fault') throw new Error(written.detail);
  return written.value;
}
