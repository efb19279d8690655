import { expect, test } from 'vitest';
import { pack } from '../../../../src/kernel/pack.ts';
import { ListKeys } from '../../../../src/risk/lists/list-key.ts';
import type { NamedListKind } from '../../../../src/risk/lists/named-list.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { ensureUsable } from '../../../../src/state/repair/ensure-usable.ts';
import { withSum } from '../../../../src/state/tables/value.ts';
import { freeSlices } from '../../../support/slices.ts';
import { boundedFeed, writesOf } from '../../../support/writes.ts';
import { customer, open, tempFolder, tempStore, value } from '../support.ts';

const KEYS = new ListKeys(Buffer.alloc(32, 3));
const origin = (nowMs = 10_000) => ({ by: 'key:sk_live_test', nowMs }) as const;
type Writer = Pick<Store, 'changes'>;

function put({ changes }: Writer, of: number, name: string, listKind: NamedListKind = 'text', nowMs = 10_000) {
  const change = { kind: 'named_list.put', customer: customer(of), name, listKind, note: 'private' } as const;
  return value(changes.commit(change, origin(nowMs)));
}

function keyOf(of: number, kind: NamedListKind, text: string): string {
  return KEYS.namedKeyOf(customer(of), { kind, value: text });
}

interface Given {
  readonly isRemoved?: boolean;
  readonly ends?: number;
  readonly kind?: NamedListKind;
  readonly nowMs?: number;
}

function change(
  store: Store,
  of: number,
  name: string,
  texts: readonly string[],
  given: Given = {},
  by: Writer = store,
) {
  const { isRemoved = false, ends = null, kind = 'text', nowMs } = given;
  const items = texts.map((text) => ({
    key: keyOf(of, kind, text),
    value: text,
    expiresAtSeconds: ends,
    isRemoved,
  }));
  const { number = 0 } = store.namedLists.find(customer(of), name) ?? {};
  const written = { kind: 'named_list.items', customer: customer(of), name, number, items } as const;
  return value(by.changes.commit(written, origin(nowMs)));
}

function has(store: Store, of: number, name: string, text: string, nowSeconds = 10): boolean {
  store.resetRead();
  const list = store.namedLists.head(customer(of), name);
  const key = Buffer.from(keyOf(of, 'text', text), 'hex');
  return list !== null && store.namedLists.hasItem(customer(of), list.number, key, nowSeconds);
}

const rows = (store: Store, of = 1): number => store.tables.rowCounters.get('namedListItems', customer(of));

test('Items are added once and removed once, survive a restart, and belong to their list and customer', async () => {
  const folder = tempFolder();
  const check = async () =>
    (await ensureUsable({ dataDir: folder, simulated: false, repair: true, nowMs: 3_000 })).kind;
  expect(await check()).toBe('ok');
  const store = open(folder);
  expect(await put(store, 1, 'partners')).toMatchObject({ kind: 'created', list: { items: 0, kind: 'text' } });
  await put(store, 1, 'others');
  await put(store, 2, 'partners');
  expect(await change(store, 1, 'partners', ['a', 'b', 'a'])).toEqual({ added: 2, removed: 0 });
  expect(await change(store, 1, 'partners', ['b', 'c'])).toEqual({ added: 1, removed: 0 });
  expect(await change(store, 1, 'partners', ['c', 'd'], { isRemoved: true })).toEqual({ added: 0, removed: 1 });
  await store.close();
  expect(await check()).toBe('ok');
  const again = open(folder);
  expect(['a', 'b', 'c', 'd'].map((text) => has(again, 1, 'partners', text))).toEqual([true, true, false, false]);
  expect([has(again, 1, 'others', 'a'), has(again, 2, 'partners', 'a')]).toEqual([false, false]);
  expect(again.namedLists.of(customer(1)).map(({ name, items }) => [name, items])).toEqual([
    ['others', 0],
    ['partners', 2],
  ]);
  expect([rows(again), rows(again, 2)]).toEqual([2, 0]);
  await again.close();
});

test('A list keeps its kind; another note replaces the first', async () => {
  const store = tempStore();
  await put(store, 1, 'partners', 'email_domain');
  expect(await put(store, 1, 'partners', 'text')).toMatchObject({ kind: 'other_kind' });
  expect(await put(store, 1, 'partners', 'email_domain')).toMatchObject({ kind: 'replaced' });
});

test('Lists and items have bounds; what exists already needs no room', async () => {
  const store = tempStore();
  const by = { changes: boundedFeed(store, { namedLists: 2, namedListItems: 3 }) };
  await put(by, 1, 'one');
  await put(by, 1, 'two');
  expect(await put(by, 1, 'three')).toEqual({ kind: 'limit_reached' });
  expect(await put(by, 2, 'three')).toMatchObject({ kind: 'created' });
  await change(store, 1, 'one', ['a', 'b'], {}, by);
  await change(store, 1, 'two', ['c'], {}, by);
  expect(await change(store, 1, 'two', ['d'], {}, by)).toBe('limit_reached');
  expect(await change(store, 1, 'two', ['c'], {}, by)).toEqual({ added: 0, removed: 0 });
});

test('An item ends at its second; its row is removed later, and then the list has room again', async () => {
  const store = tempStore();
  await put(store, 1, 'partners');
  await change(store, 1, 'partners', ['a'], { ends: 20 });
  await change(store, 1, 'partners', ['b']);
  expect([19, 20].map((at) => has(store, 1, 'partners', 'a', at))).toEqual([true, false]);
  expect(rows(store)).toBe(2);
  const { removed } = await prune(store, 20);
  expect(removed).toBe(1);
  expect([rows(store), store.namedLists.find(customer(1), 'partners')?.items]).toEqual([1, 1]);
  expect(has(store, 1, 'partners', 'b', 1_000)).toBe(true);
});

test('The items of a deleted list are in no list of that name, and count until they are removed', async () => {
  const store = tempStore();
  await put(store, 1, 'partners');
  await change(store, 1, 'partners', ['a', 'b']);
  const removed = { kind: 'named_list.removed', customer: customer(1), name: 'partners' } as const;
  expect(await value(store.changes.commit(removed, origin()))).toBe(true);
  expect(await value(store.changes.commit(removed, origin()))).toBe(false);
  await put(store, 1, 'partners');
  expect([has(store, 1, 'partners', 'a'), rows(store)]).toEqual([false, 2]);
  expect((await prune(store, 10)).removed).toBe(2);
  expect(rows(store)).toBe(0);
});

test('A change for a list that was made again in between changes nothing', async () => {
  const store = tempStore();
  await put(store, 1, 'partners');
  const item = { key: keyOf(1, 'text', 'a'), value: 'a', expiresAtSeconds: null, isRemoved: false };
  const late = {
    kind: 'named_list.items',
    customer: customer(1),
    name: 'partners',
    number: 99,
    items: [item],
  } as const;
  expect(await value(store.changes.commit(late, origin()))).toBe('unknown');
});

test('A page has the live items of its list only', async () => {
  const store = tempStore();
  await put(store, 1, 'partners');
  await put(store, 1, 'others');
  await change(store, 1, 'partners', ['a', 'b', 'c']);
  await change(store, 1, 'partners', ['ended'], { ends: 5 });
  await change(store, 1, 'others', ['x']);
  const { number = 0 } = store.namedLists.find(customer(1), 'partners') ?? {};
  const page = (after: string | null) =>
    store.namedLists.page(customer(1), number, { after, limit: 2 }, 10, freeSlices());
  const first = await page(null);
  const second = await page(first.next);
  const texts = new Set([...first.items, ...second.items].map((item) => item.value));
  expect([texts, first.items.length, second.next]).toEqual([new Set(['a', 'b', 'c']), 2, null]);
});

test('A list knows which networks, beginnings and domains its items have', async () => {
  const store = tempStore();
  await put(store, 1, 'networks', 'network');
  await change(store, 1, 'networks', ['203.0.113.0/24', '2001:db8::/32'], { kind: 'network' });
  await put(store, 1, 'domains', 'email_domain');
  await change(store, 1, 'domains', ['mail.example', 'example'], { kind: 'email_domain' });
  const detailsOf = (name: string) => store.namedLists.head(customer(1), name)?.details;
  expect([detailsOf('networks'), detailsOf('domains')]).toEqual([
    [6 * 256 + 32, 4 * 256 + 24],
    [2, 1],
  ]);
  await change(store, 1, 'domains', ['mail.example', 'example'], { kind: 'email_domain', isRemoved: true });
  store.resetRead();
  expect(detailsOf('domains')).toEqual([]);
});

test('The audit log has each change with its numbers, without notes and values', async () => {
  const store = tempStore();
  await put(store, 1, 'partners');
  await change(store, 1, 'partners', ['secret value']);
  const all = { after: null, limit: 10, kind: null, sinceMs: null, untilMs: null };
  const { entries } = await store.audit.page(customer(1), all, freeSlices());
  expect(entries.map(({ kind, target, after }) => [kind, target, after])).toEqual([
    ['named_list.items', 'partners', { added: 1, removed: 0, items: 1 }],
    ['named_list.put', 'partners', { kind: 'text', created: true }],
  ]);
});

test('A row of a list that cannot be read is skipped', async () => {
  const store = tempStore();
  await put(store, 1, 'a');
  const key = Buffer.alloc(44);
  key.writeUInt32BE(1, 0);
  key.write('b', 4);
  const rowsOf = store.state.openDB({ name: 'named-lists', encoding: 'binary', keyEncoding: 'binary' });
  await rowsOf.put(key, withSum(key, Buffer.concat([Buffer.from([1]), pack(['x'])])));
  store.resetRead();
  expect(store.namedLists.of(customer(1)).map(({ name }) => name)).toEqual(['a']);
  expect(store.namedLists.find(customer(1), 'b')).toBeNull();
});

function prune(store: Store, nowSeconds: number): Promise<{ readonly removed: number }> {
  return writesOf(store)
    .namedLists.sweepExpired(nowSeconds, 100)
    .then((swept) => ({ removed: swept.kind === 'ok' ? swept.value : -1 }));
}
