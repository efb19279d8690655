import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { unpack } from '../../kernel/pack.ts';
import { testCustomerOf } from '../../kernel/test-customers.ts';
import type { Origin } from '../../ports/change-feed.ts';
import type { Store } from '../feed/open-store.ts';
import type { Customer } from '../tables/customer-table.ts';
import { durably, fault, type StoreFault, type StoreWrite } from '../tables/durable.ts';
import { table } from '../tables/environment.ts';
import { JOB_VALUE } from '../tables/extractions/job-row.ts';
import { overwriteFreePages, rewriteRows } from '../tables/overwrite-pages.ts';
import { endOfCustomer } from '../tables/request-rows.ts';
import { type EnvironmentName, type TableName, TABLES } from '../tables/table-names.ts';
import { Slices } from '../tables/turns.ts';
import { u32Key, withoutSum } from '../tables/value.ts';

/**
 * How the rows of a customer are found in a table. `key`: the key begins with the customer's number. `keyAt`: the number is at that byte
 * of the key. `value`: the value begins with it. `packed`: it is the first field of a msgpack value. `job`: the key begins with the number
 * of one of the customer's jobs. `no_customer`: rows of the installation, or, in `outcomes`, under a request id alone for 24 hours.
 */
type FoundBy = 'key' | { readonly keyAt: number } | 'value' | 'packed' | 'job' | 'no_customer';

const FOUND_BY: Readonly<Record<TableName, FoundBy>> = {
  meta: 'no_customer',
  customers: 'key',
  'customer-ids': 'value',
  'api-keys': 'packed',
  lists: 'key',
  'list-kinds': 'key',
  registry: 'no_customer',
  sightings: { keyAt: 32 },
  labels: 'key',
  'shadow-reviews': 'key',
  webhooks: 'key',
  rules: 'key',
  'named-lists': 'key',
  'named-list-items': 'key',
  'named-list-versions': 'key',
  'named-list-replaced': 'key',
  watches: 'key',
  'watch-seen': 'key',
  'watch-changes': 'key',
  deliveries: 'key',
  'deliveries-pending': 'value',
  tallies: { keyAt: 1 },
  audit: 'key',
  erasures: 'key',
  filler: 'no_customer',
  feed: 'no_customer',
  'hot-meta': 'no_customer',
  decisions: 'key',
  'decision-links': 'key',
  'decision-stats': 'key',
  outcomes: 'no_customer',
  'learning-rows': 'key',
  erased: 'key',
  'hot-filler': 'no_customer',
  'extract-meta': 'no_customer',
  'extract-tallies': { keyAt: 1 },
  jobs: 'key',
  'job-states': 'job',
  'jobs-open': 'value',
  'jobs-ended': 'value',
  'jobs-cleanup': 'job',
  'jobs-deliveries': 'value',
  'jobs-owners': 'job',
  steps: 'job',
  'step-keys': 'job',
  'record-keys': 'job',
  'record-chunks': 'job',
  sessions: 'key',
  failures: 'packed',
  idempotency: 'key',
};

/** Removed last, before the customer itself: until then a repeated call finds the customer and its jobs. */
const LAST: ReadonlySet<TableName> = new Set<TableName>(['jobs']);
/** Choice: rows of one transaction. */
const ROWS_AT_ONCE = 500;

export interface DeletedRows {
  readonly environment: EnvironmentName;
  readonly table: TableName;
  readonly removed: number;
}

export interface CustomerDeleted {
  readonly kind: 'ok';
  /** Every table, also those without rows of the customer. */
  readonly tables: readonly DeletedRows[];
}

/** The numbers under which a customer has data, with those of its jobs. */
interface Owned {
  readonly customers: readonly CustomerNumber[];
  readonly jobs: ReadonlySet<number>;
}

interface Place {
  readonly environment: EnvironmentName;
  readonly name: TableName;
  readonly root: RootDatabase<Buffer, Buffer>;
  readonly rows: Database<Buffer, Buffer>;
}

/**
 * Deletes a customer with all rows, and then searches every table again: a row that is left is a fault. Only without a server, under its
 * lock: a server has parts of the rows in memory and would write them again. May be repeated after a kill. Refuses in a cluster, whose
 * other nodes would keep the customer.
 */
export async function deleteCustomer(
  store: Store,
  customer: Customer,
  origin: Origin,
): Promise<CustomerDeleted | StoreFault> {
  const { number, id } = customer;
  const suspended = await store.changes.commit(
    { kind: 'customer.changed', customer: number, isSuspended: true },
    origin,
  );
  if (suspended.kind === 'fault') return suspended;
  const customers = [number, testCustomerOf(number)];
  const places = placesOf(store);
  const owned: Owned = { customers, jobs: jobsOf(places, customers) };
  // A restored backup would accept the keys again.
  const keys = store.apiKeys.loadAll().filter((key) => customers.includes(key.customer));
  store.revocations.append(keys.map(({ hash }) => [hash, Math.floor(origin.nowMs / 1_000)] as const));
  const removed = new Map<TableName, number>();
  for (const isLast of [false, true]) {
    for (const place of places.filter(({ name }) => LAST.has(name) === isLast && !isOfChange(name))) {
      const count = await removeRows(place, owned);
      if (count.kind === 'fault') return count;
      removed.set(place.name, count.value);
    }
  }
  const rows = [...removed.values()].reduce((sum, count) => sum + count, 0);
  const deleted = await store.changes.commit({ kind: 'customer.deleted', customer: number, id, rows }, origin);
  if (deleted.kind === 'fault') return deleted;
  const unclean = await leaveNoPages(store, places, customers);
  if (unclean !== null) return unclean;
  const left = places.find((place) => keysOf(place, owned).next().done !== true);
  if (left !== undefined)
    return fault('store_write_failed', `rows of ${id} are left in ${left.environment}/${left.name}`);
  const tables = places.map(({ environment, name }) => {
    const count = isOfChange(name) ? 1 : (removed.get(name) ?? 0);
    return { environment, table: name, removed: count };
  });
  return { kind: 'ok', tables };
}

/**
 * Makes the removed rows disappear from the files of `state` and `hot`, as after an erasure: from free pages, and from the pages that a
 * table's neighbouring rows share with them, which are those of the customers before and after.
 */
async function leaveNoPages(
  store: Store,
  places: readonly Place[],
  customers: readonly CustomerNumber[],
): Promise<StoreFault | null> {
  const slices = new Slices(store.turns);
  for (const [environment, filler] of FILLERS) {
    const own = places.filter((place) => place.environment === environment && FOUND_BY[place.name] === 'key');
    const [root] = own.map((place) => place.root);
    if (root === undefined) continue;
    const steps = [() => overwriteFreePages(root, filler, slices)];
    for (const { name, rows } of own) {
      for (const neighbour of new Set(customers.flatMap((customer) => neighboursOf(rows, customer))))
        steps.push(() => rewriteRows(root, name, neighbour, slices));
    }
    steps.push(() => overwriteFreePages(root, filler, slices));
    for (const step of steps) {
      const unwritten = await step();
      if (unwritten !== null) return unwritten;
    }
  }
  return null;
}

const FILLERS = [
  ['state', 'filler'],
  ['hot', 'hot-filler'],
] as const;

/** Returns the customers whose rows are next to those of another. */
function neighboursOf(rows: Database<Buffer, Buffer>, customer: CustomerNumber): readonly CustomerNumber[] {
  const before = rows.getKeys({ start: u32Key(customer), reverse: true, limit: 1 });
  const after = rows.getKeys({ start: endOfCustomer(customer), limit: 1 });
  return [...before, ...after].map((key) => Buffer.from(key).readUInt32BE(0) as CustomerNumber);
}

/** Returns whether the change `customer.deleted` removes the row. */
function isOfChange(name: TableName): boolean {
  return name === 'customers' || name === 'customer-ids';
}

function placesOf({ state, hot, extract }: Store): readonly Place[] {
  const roots: Readonly<Record<EnvironmentName, RootDatabase<Buffer, Buffer> | null>> = {
    state,
    hot,
    extract: extract?.root ?? null,
  };
  return TABLES.flatMap(({ environment, name }) => {
    const root = roots[environment];
    return root === null ? [] : [{ environment, name, root, rows: table(root, name) }];
  });
}

function jobsOf(places: readonly Place[], customers: readonly CustomerNumber[]): ReadonlySet<number> {
  const jobs = new Set<number>();
  const rows = places.find(({ name }) => name === 'jobs')?.rows;
  for (const customer of customers) {
    for (const { value } of rows?.getRange({ start: u32Key(customer), end: endOfCustomer(customer) }) ?? [])
      jobs.add(JOB_VALUE.decode(withoutSum(Buffer.from(value))).number);
  }
  return jobs;
}

async function removeRows(place: Place, owned: Owned): Promise<StoreWrite<number>> {
  let removed = 0;
  for (;;) {
    const keys: Buffer[] = [];
    for (const key of keysOf(place, owned)) {
      keys.push(key);
      if (keys.length === ROWS_AT_ONCE) break;
    }
    if (keys.length === 0) return { kind: 'ok', value: removed };
    const written = await durably(place.root, () => {
      for (const key of keys) void place.rows.remove(key);
    });
    if (written.kind === 'fault') return written;
    removed += keys.length;
  }
}

/** Yields the stored keys of a customer's rows in a table. */
function* keysOf({ name, rows }: Place, { customers, jobs }: Owned): Generator<Buffer, void> {
  const by = FOUND_BY[name];
  if (by === 'no_customer') return;
  const isOwn = (number: number): boolean => customers.includes(number as CustomerNumber);
  if (by === 'key' || by === 'job') {
    const numbers = by === 'key' ? customers : jobs;
    for (const number of numbers)
      for (const key of rows.getKeys({ start: u32Key(number), end: endOfCustomer(number) })) yield Buffer.from(key);
    return;
  }
  if (typeof by === 'object') {
    for (const key of rows.getKeys()) if (isOwn(Buffer.from(key).readUInt32BE(by.keyAt))) yield Buffer.from(key);
    return;
  }
  for (const { key, value } of rows.getRange()) {
    const stored = Buffer.from(value);
    const owner = by === 'value' ? stored.readUInt32BE(0) : Number(unpack(withoutSum(stored))[0]);
    if (isOwn(owner)) yield Buffer.from(key);
  }
}
