import { expect, test } from 'vitest';
import { ListKeys } from '../../../../src/risk/lists/list-key.ts';
import type { Committer } from '../../../../src/state/feed/changes.ts';
import { restoreNamedList } from '../../../../src/state/feed/named-list-restore.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { shownVersions } from '../../../../src/state/tables/named-list-versions-table.ts';
import { freeSlices } from '../../../support/slices.ts';
import { boundedFeed, writesOf } from '../../../support/writes.ts';
import { customer, open, tempFolder, tempStore, value } from '../support.ts';

const KEYS = new ListKeys(Buffer.alloc(32, 3));
const OF = customer(1);
const NAME = 'partners';

interface Write {
  readonly id: string;
  readonly isRemoved?: boolean;
  readonly ends?: number;
  readonly nowMs?: number;
  readonly by?: Committer;
}

async function newList(store: Store): Promise<void> {
  const change = { kind: 'named_list.put', customer: OF, name: NAME, listKind: 'text', note: null } as const;
  await value(store.changes.commit(change, { by: 'cli', nowMs: 10_000 }));
}

const numberOf = (store: Store): number => store.namedLists.find(OF, NAME)?.number ?? 0;

async function write(store: Store, texts: readonly string[], given: Write): Promise<void> {
  const { id, isRemoved = false, ends = null, nowMs = 10_000, by = store.changes } = given;
  const items = texts.map((text) => ({
    key: KEYS.namedKeyOf(OF, { kind: 'text', value: text }),
    value: text,
    expiresAtSeconds: ends,
    isRemoved,
  }));
  const number = numberOf(store);
  const change = { kind: 'named_list.items', customer: OF, name: NAME, number, items, writeId: id } as const;
  await value(by.commit(change, { by: 'key:sk_live_test', nowMs }));
}

/** `limit`: changes after which the process ends. */
async function restore(store: Store, version: number, { nowMs = 10_000, limit = Infinity } = {}) {
  let left = limit;
  const changes: Committer = {
    commit: (...call) => {
      if (--left < 0) throw new Error('the process ended');
      return store.changes.commit(...call);
    },
  };
  const parts = { versions: store.namedListVersions, changes };
  const wanted = { customer: OF, name: NAME, number: numberOf(store), version };
  return restoreNamedList(parts, wanted, { by: 'key:sk_live_test', nowMs }, freeSlices());
}

async function textsOf(store: Store, nowSeconds = 10): Promise<readonly string[]> {
  const { items } = await store.namedLists.page(
    OF,
    numberOf(store),
    { after: null, limit: 1_000 },
    nowSeconds,
    freeSlices(),
  );
  return items.map((item) => String(item.value)).sort();
}

const shown = (store: Store) =>
  shownVersions(store.namedListVersions.of(OF, numberOf(store))).map(({ version, added, removed, lost }) => [
    version,
    added,
    removed,
    lost,
  ]);
const keptBytes = (store: Store): number => store.tables.rowCounters.get('namedListVersions', OF);
const many = (prefix: string, n: number): string[] => Array.from({ length: n }, (_none, at) => `${prefix} ${at}`);

test('Each of the last three versions comes back with its items, their ends and when they were added', async () => {
  const store = tempStore();
  await newList(store);
  await write(store, ['a', 'b'], { id: 'one', ends: 90, nowMs: 11_000 });
  await write(store, ['b', 'c'], { id: 'two', nowMs: 12_000 });
  await write(store, ['a', 'c'], { id: 'three', isRemoved: true });
  await write(store, ['d'], { id: 'four' });
  expect(shown(store)).toEqual([
    [4, 1, 0, null],
    [3, 0, 2, null],
    [2, 1, 0, null],
  ]);
  expect(await restore(store, 3)).toEqual({ kind: 'restored' });
  expect(await textsOf(store)).toEqual(['a', 'b', 'c']);
  // The restore is a write too.
  expect(shown(store)[0]).toEqual([5, 2, 1, null]);
  expect(await restore(store, 5)).toEqual({ kind: 'restored' });
  expect(await textsOf(store)).toEqual(['b', 'd']);
  expect(await restore(store, 3)).toEqual({ kind: 'restored' });
  const { items } = await store.namedLists.page(OF, 1, { after: null, limit: 10 }, 10, freeSlices());
  const facts = items.map((item) => [item.value, item.expiresAtSeconds, item.createdAtSeconds]);
  expect(new Map(facts.map(([text, ...rest]) => [text, rest]))).toEqual(
    new Map([
      ['a', [90, 11]],
      ['b', [null, 12]],
      ['c', [null, 12]],
    ]),
  );
  expect(await restore(store, 1)).toEqual({ kind: 'unknown' });
});

test('Changes of one write make one version, another write in between begins a new one, and no change makes none', async () => {
  const store = tempStore();
  await newList(store);
  await write(store, ['a'], { id: 'import' });
  await write(store, ['b', 'a'], { id: 'import' });
  await write(store, ['a'], { id: 'other' });
  expect(shown(store)).toEqual([[1, 2, 0, null]]);
  await write(store, ['c'], { id: 'between' });
  await write(store, ['d'], { id: 'import' });
  expect(shown(store).map(([version]) => version)).toEqual([3, 2, 1]);
  expect(await restore(store, 1)).toEqual({ kind: 'restored' });
  expect(await textsOf(store)).toEqual([]);
});

test('An item that has ended since does not come back', async () => {
  const store = tempStore();
  await newList(store);
  await write(store, ['short'], { id: 'one', ends: 20 });
  await write(store, ['long'], { id: 'two', ends: 200 });
  await write(store, ['short', 'long'], { id: 'three', isRemoved: true });
  expect(await restore(store, 3, { nowMs: 20_000 })).toEqual({ kind: 'restored' });
  expect(await textsOf(store, 20)).toEqual(['long']);
  expect(store.namedLists.find(OF, NAME)?.items).toBe(1);
});

test('A restore of the oldest version that ends within is completed by the same call, after a restart', async () => {
  const folder = tempFolder();
  const store = open(folder);
  await newList(store);
  await write(store, many('old', 250), { id: 'one' });
  for (const text of ['x', 'y']) await write(store, [text], { id: text });
  await write(store, many('old', 250), { id: 'gone', isRemoved: true });
  await expect(restore(store, 2, { limit: 2 })).rejects.toThrow('the process ended');
  await store.close();
  const again = open(folder);
  expect((await textsOf(again)).length).toBeGreaterThan(2);
  expect(await restore(again, 2)).toEqual({ kind: 'restored' });
  expect(await textsOf(again)).toEqual(many('old', 250).sort());
  expect(shown(again).map(([version]) => version)).toEqual([5, 4, 3]);
  expect(await restore(again, 5)).toEqual({ kind: 'restored' });
  expect(await textsOf(again)).toEqual(['x', 'y']);
  await again.close();
});

test('A write that replaces too much cannot be undone, nor can the writes before it; later ones can', async () => {
  const store = tempStore();
  await newList(store);
  const by = boundedFeed(store, { namedListVersionBytes: 1_000 });
  await write(store, ['a'], { id: 'one', by });
  await write(store, many('b', 20), { id: 'two', by });
  await write(store, many('c', 20), { id: 'two', by });
  await write(store, ['d'], { id: 'three', by });
  expect(shown(store)).toEqual([
    [3, 1, 0, null],
    [2, 40, 0, 'too_large'],
    [1, 1, 0, 'too_large'],
  ]);
  expect(await restore(store, 1)).toEqual({ kind: 'lost', loss: 'too_large' });
  expect(await restore(store, 3)).toEqual({ kind: 'restored' });
  expect((await textsOf(store)).length).toBe(41);
});

test('What no version needs is removed, and then there is room for others', async () => {
  const store = tempStore();
  await newList(store);
  for (const id of many('write', 6)) await write(store, [id], { id });
  const before = keptBytes(store);
  const swept = await writesOf(store).namedLists.sweepVersions(10, 100);
  expect(swept).toMatchObject({ kind: 'ok', value: 2 });
  expect(keptBytes(store)).toBeCloseTo((before * 4) / 6);
  const by = boundedFeed(store, { namedListVersionsBytes: keptBytes(store) + 10 });
  await write(store, ['more'], { id: 'more', by });
  expect(shown(store)[0]).toEqual([7, 1, 0, 'no_room']);
  const deleted = { kind: 'named_list.removed', customer: OF, name: NAME } as const;
  await value(store.changes.commit(deleted, { by: 'cli', nowMs: 10_000 }));
  await writesOf(store).namedLists.sweepVersions(10, 100);
  expect(keptBytes(store)).toBe(0);
});

test('A change of an earlier build, which keeps nothing, makes earlier versions unknown', async () => {
  const store = tempStore();
  await newList(store);
  await write(store, ['a'], { id: 'one' });
  const item = { key: 'f'.repeat(64), value: 'b', expiresAtSeconds: null, isRemoved: false };
  const change = {
    kind: 'named_list.items',
    customer: OF,
    name: NAME,
    number: numberOf(store),
    items: [item],
  } as const;
  await value(store.changes.commit(change, { by: 'cli', nowMs: 10_000 }));
  expect(shown(store)).toEqual([]);
  await write(store, ['c'], { id: 'two' });
  expect(shown(store).map(([version]) => version)).toEqual([2]);
});
