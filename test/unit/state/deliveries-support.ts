import { newId } from '../../../src/kernel/ids.ts';
import type { Delivery, DeliveryId } from '../../../src/work/webhook.ts';
import type { DeliveryBounds } from '../../../src/state/tables/deliveries/bounds.ts';
import { Deliveries } from '../../../src/state/tables/delivery-table.ts';
import type { DeliveryPage, DeliveryQuery } from '../../../src/state/tables/deliveries/pages.ts';
import type { DeliveryUpdate } from '../../../src/state/tables/deliveries/row.ts';
import { table } from '../../../src/state/tables/environment.ts';
import type { Store } from '../../../src/state/feed/open-store.ts';
import { RowCounters } from '../../../src/state/tables/row-counters.ts';
import { customer } from './support.ts';

export const NOW = 1_790_000_000_000;
export const ALL: DeliveryQuery = {
  after: null,
  limit: 1_000,
  webhookId: null,
  status: null,
  requestId: null,
  event: null,
};

/** Returns a pending delivery of a decision to a unique webhook. */
export function delivery(number: number, extra: Partial<Delivery> = {}, atMs = NOW): Delivery {
  return {
    id: newId('dlv', atMs) as DeliveryId,
    customer: customer(number),
    endpointId: newId('wh', NOW),
    url: 'https://hooks.example.com/gatehouse',
    event: 'BLOCK',
    requestId: newId('req', atMs),
    status: 'pending',
    trigger: 'decision',
    attempts: [],
    error: null,
    elapsedMs: 0,
    createdAtMs: atMs,
    completedAtMs: null,
    nextAttemptAtMs: null,
    body: Buffer.from('{"decision":"BLOCK"}'),
    ...extra,
  };
}

/** Returns the end of a delivery after one more attempt. */
export function success(row: Delivery, atMs = NOW + 50): DeliveryUpdate {
  const attempt = row.attempts.length + 1;
  return {
    customer: row.customer,
    id: row.id,
    attempt: { attempt, startedAtMs: atMs - 12, durationMs: 12, statusCode: 204, error: null },
    status: 'succeeded',
    error: null,
    elapsedMs: 12,
    completedAtMs: atMs,
    nextAttemptAtMs: null,
  };
}

const PAGE_BOUNDS = { scanRowsMax: 10_000, sliceRowsMax: 500 };

/** The store's tables with other limits. Only one instance may write them at a time. */
export function bounded(store: Store, bounds: Partial<DeliveryBounds> = {}): Deliveries {
  const tables = { rows: table(store.state, 'deliveries'), pending: table(store.state, 'deliveries-pending') };
  const all = { endedPerCustomerMax: 10_000, keepMs: 30 * 86_400_000, perWrite: 256, ...PAGE_BOUNDS, ...bounds };
  return new Deliveries(store.state, tables, new RowCounters(table(store.state, 'tallies')), store.counters, all);
}

export async function pageOf(
  deliveries: Deliveries,
  number: number,
  query: Partial<DeliveryQuery> = {},
): Promise<DeliveryPage> {
  const page = await deliveries.page(customer(number), { ...ALL, ...query });
  if (page.kind === 'busy') throw new Error('too many pages were asked for');
  return page;
}

export async function idsOf(
  deliveries: Deliveries,
  number: number,
  query: Partial<DeliveryQuery> = {},
): Promise<string[]> {
  return (await pageOf(deliveries, number, query)).rows.map(({ id }) => id);
}

/** Returns the ids of all pages. */
export async function walk(
  deliveries: Deliveries,
  number: number,
  query: Partial<DeliveryQuery> = {},
): Promise<string[]> {
  const seen: string[] = [];
  let after: DeliveryId | null = null;
  do {
    const page: DeliveryPage = await pageOf(deliveries, number, { ...query, after });
    seen.push(...page.rows.map(({ id }) => id));
    after = page.next;
  } while (after !== null);
  return seen;
}
