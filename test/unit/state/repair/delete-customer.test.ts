import { describe, expect, onTestFinished, test } from 'vitest';
import { deleteCustomer } from '../../../../src/state/repair/delete-customer.ts';
import { ensureUsable } from '../../../../src/state/repair/ensure-usable.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import { TABLES } from '../../../../src/state/tables/table-names.ts';
import { u32Key, withSum } from '../../../../src/state/tables/value.ts';
import { unpackFixture } from '../../../support/data-fixture.ts';
import { open, tempFolder } from '../support.ts';

/** Tables without rows of a customer: of the installation, or under ids alone. */
const OF_NOBODY = ['meta', 'registry', 'filler', 'feed', 'hot-meta', 'outcomes', 'hot-filler', 'extract-meta'];
const ORIGIN = { by: 'cli', nowMs: Date.now() } as const;

/** Opens a data directory with rows in every table, all but a few of its first customer. */
async function fullStore(): Promise<Store> {
  const folder = tempFolder();
  const facts = unpackFixture(2, 'data', folder);
  const usable = await ensureUsable({ dataDir: folder, simulated: false, repair: true, nowMs: facts.stoppedAtMs });
  if (usable.kind === 'fault') throw new Error(usable.detail);
  const store = open(folder);
  onTestFinished(() => store.close());
  // Tables that are newer than the fixture.
  for (const { environment, name, keyBytes } of TABLES) {
    const rows = tableOf(store, environment, name);
    if (OF_NOBODY.includes(name) || name === 'jobs-owners' || rows.getKeysCount() > 0) continue;
    for (const customer of [1, 2, 2 ** 30 + 1]) {
      const key = Buffer.concat([u32Key(customer), Buffer.alloc(keyBytes - 4, 7)]);
      await rows.put(key, withSum(key, Buffer.from('content')));
    }
  }
  return store;
}

function tableOf(
  { state, hot, extract }: Store,
  environment: 'state' | 'hot' | 'extract',
  name: (typeof TABLES)[number]['name'],
) {
  const root = { state, hot, extract: extract?.root ?? null }[environment];
  if (root === null) throw new Error(`${environment} is not open`);
  return table(root, name);
}

/** Returns the names of tables with rows, and how many they have. */
function counts(store: Store): Readonly<Record<string, number>> {
  return Object.fromEntries(
    TABLES.map(({ environment, name }) => [name, tableOf(store, environment, name).getKeysCount()] as const).filter(
      ([, rows]) => rows > 0,
    ),
  );
}

describe('deleting a customer', () => {
  test('The rows of the customer go from every table, and those of another customer stay', async () => {
    const store = await fullStore();
    const [first, second] = store.customers.all();
    if (first === undefined || second === undefined) throw new Error('the fixture has two customers');
    const before = counts(store);
    const deleted = await deleteCustomer(store, first, ORIGIN);
    if (deleted.kind === 'fault') throw new Error(deleted.detail);
    expect(deleted.tables).toHaveLength(TABLES.length);
    const removed = Object.fromEntries(deleted.tables.map(({ table: name, removed: rows }) => [name, rows]));
    for (const name of ['decisions', 'deliveries', 'labels', 'jobs', 'record-chunks', 'sessions', 'failures', 'rules'])
      expect([name, (removed[name] ?? 0) > 0]).toEqual([name, true]);
    expect(store.customers.all()).toEqual([second]);
    expect(store.apiKeys.loadAll().map(({ customer }) => customer)).toEqual([2, 2]);
    const after = counts(store);
    expect(after['rules']).toBe(1);
    expect(after['registry']).toBe(before['registry']);
  });

  test('When all customers are deleted, no table has a row, except those of the installation', async () => {
    const store = await fullStore();
    for (const customer of store.customers.all())
      expect((await deleteCustomer(store, customer, ORIGIN)).kind).toBe('ok');
    const left = Object.keys(counts(store)).filter((name) => !OF_NOBODY.includes(name));
    // The entries about the deletions.
    expect(left).toEqual(['tallies', 'audit']);
  });

  test('Its keys are in the file of revocations, and the audit log of the installation has the deletion', async () => {
    const store = await fullStore();
    const [first] = store.customers.all();
    if (first === undefined) throw new Error('the fixture has customers');
    const hashes = store.apiKeys.loadAll().flatMap(({ hash, customer }) => (customer === first.number ? hash : []));
    await deleteCustomer(store, first, ORIGIN);
    expect([...store.revocations.read().keys()]).toEqual(expect.arrayContaining(hashes));
    const [entry] = [...tableOf(store, 'state', 'audit').getRange({ end: u32Key(1) })];
    expect(entry?.value.toString()).toContain(first.id);
  });

  test('A deletion that was interrupted is completed by the next one', async () => {
    const store = await fullStore();
    const [first] = store.customers.all();
    if (first === undefined || store.hot === null) throw new Error('the fixture has customers');
    const transaction = store.hot.transaction.bind(store.hot);
    store.hot.transaction = () => Promise.reject(new Error('killed'));
    expect((await deleteCustomer(store, first, ORIGIN)).kind).toBe('fault');
    store.hot.transaction = transaction;
    expect(store.customers.findById(first.id)?.suspendedAtSeconds).toEqual(expect.any(Number));
    expect((await deleteCustomer(store, first, ORIGIN)).kind).toBe('ok');
    expect(store.customers.findById(first.id)).toBeNull();
  });
});
