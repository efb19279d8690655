import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIST_ACTIONS } from '../../../../src/risk/decision.ts';
import type { StoreWrite } from '../../../../src/state/tables/durable.ts';
import type { ListEntryChange } from '../../../../src/state/tables/list-table.ts';
import { LIST_SCAN_ROWS_MAX } from '../../../../src/state/tables/table-names.ts';
import { customer, hashOf, open, tempFolder, tempStore, value } from '../support.ts';
import { freeSlices } from '../../../support/slices.ts';
import { boundedFeed, listsOf } from '../../../support/writes.ts';

const block = (seed: number, extra: Partial<ListEntryChange> = {}): ListEntryChange => ({
  fingerprintHash: hashOf(seed),
  action: 'block',
  note: null,
  expiresAtSeconds: null,
  ...extra,
});
async function kept<T>(writing: Promise<StoreWrite<T | 'limit_reached'>>): Promise<T> {
  const written = await value(writing);
  if (written === 'limit_reached') throw new Error('the list is full');
  return written;
}
const all = { after: null, limit: 1000, action: null };

describe('lists', () => {
  test('A list entry is created, then replaced, and keeps its creation time', async () => {
    const lists = listsOf(tempStore());
    const made = await kept(lists.put(customer(1), block(1, { note: 'ünïcode' }), 100));
    expect(made).toMatchObject({ created: true, entry: { action: 'block', note: 'ünïcode', createdAtSeconds: 100 } });
    const replaced = await kept(lists.put(customer(1), block(1, { action: 'watch' }), 200));
    expect(replaced).toEqual({
      created: false,
      entry: {
        fingerprintHash: hashOf(1),
        kind: 'fingerprint',
        value: hashOf(1),
        action: 'watch',
        note: null,
        eventTypes: [],
        createdAtSeconds: 100,
        updatedAtSeconds: 200,
        expiresAtSeconds: null,
      },
    });
    expect(lists.get(customer(1), hashOf(1), 200)).toEqual(replaced.entry);
    expect(lists.find(customer(1), hashOf(1), 200)).toBe('watch');
  });

  test('A list entry is valid until the second before its expiry', async () => {
    const lists = listsOf(tempStore());
    await kept(lists.put(customer(1), block(1, { expiresAtSeconds: 500 }), 100));
    expect(lists.find(customer(1), hashOf(1), 499)).toBe('block');
    expect(lists.find(customer(1), hashOf(1), 500)).toBeNull();
    expect(lists.get(customer(1), hashOf(1), 500)).toBeNull();
    expect((await lists.page(customer(1), all, 500, freeSlices())).entries).toEqual([]);
    expect((await kept(lists.put(customer(1), block(1), 600))).created).toBe(true);
  });

  test('Removing a list entry returns whether it existed', async () => {
    const lists = listsOf(tempStore());
    await kept(lists.put(customer(1), block(1, { expiresAtSeconds: 500 }), 100));
    expect(await value(lists.remove(customer(2), hashOf(1), 100))).toBe(false);
    expect(await value(lists.remove(customer(1), hashOf(1), 100))).toBe(true);
    expect(await value(lists.remove(customer(1), hashOf(1), 100))).toBe(false);
    expect(lists.find(customer(1), hashOf(1), 100)).toBeNull();
  });

  test('Pages of a list continue where the last one ended, with and without a filter', async () => {
    const lists = listsOf(tempStore());
    const changes = Array.from({ length: 25 }, (_, i) => block(i, { action: i % 5 === 0 ? 'allow' : 'block' }));
    await kept(lists.putMany(customer(0xffff_ffff), changes, 1));
    for (const action of [null, 'allow', 'watch'] as const) {
      const seen: string[] = [];
      let after: ListEntryChange['fingerprintHash'] | null = null;
      do {
        const page = await lists.page(customer(0xffff_ffff), { after, limit: 4, action }, 1, freeSlices());
        seen.push(...page.entries.map((entry) => entry.fingerprintHash));
        after = page.next;
      } while (after !== null);
      const wanted = changes.filter((change) => action === null || change.action === action);
      expect(seen).toEqual(wanted.map((change) => change.fingerprintHash));
    }
  });

  test('A page of a list reports a next page only if there is one', async () => {
    const lists = listsOf(tempStore());
    const changes = Array.from({ length: 6 }, (_, i) => block(i, { action: i < 4 ? 'block' : 'allow' }));
    await kept(lists.putMany(customer(1), changes, 1));
    expect(
      (await lists.page(customer(1), { after: null, limit: 4, action: 'block' }, 1, freeSlices())).next,
    ).toBeNull();
    expect((await lists.page(customer(1), { after: null, limit: 3, action: 'block' }, 1, freeSlices())).next).toBe(
      hashOf(2),
    );
    expect((await lists.page(customer(1), { after: null, limit: 6, action: null }, 1, freeSlices())).next).toBeNull();
    // An expired entry does not count as a next one.
    await kept(lists.put(customer(1), block(3, { expiresAtSeconds: 5 }), 1));
    expect(
      (await lists.page(customer(1), { after: null, limit: 3, action: 'block' }, 5, freeSlices())).next,
    ).toBeNull();
  });

  test('A rare action is searched in bounded steps and found', async () => {
    const lists = listsOf(tempStore());
    const many = Array.from({ length: LIST_SCAN_ROWS_MAX + 5 }, (_, i) => block(i));
    await kept(lists.putMany(customer(1), [...many, block(LIST_SCAN_ROWS_MAX + 5, { action: 'allow' })], 1));
    const first = await lists.page(customer(1), { after: null, limit: 10, action: 'allow' }, 1, freeSlices());
    expect(first).toEqual({ entries: [], next: hashOf(LIST_SCAN_ROWS_MAX - 1) });
    const second = await lists.page(customer(1), { after: first.next, limit: 10, action: 'allow' }, 1, freeSlices());
    expect(second.entries).toHaveLength(1);
    expect(second.next).toBeNull();
  });

  test('Sweeps remove expired entries of all customers step by step, and nothing else', async () => {
    const store = tempStore();
    const { state } = store;
    const lists = listsOf(store);
    const rows = (): number =>
      state.openDB({ name: 'lists', encoding: 'binary', keyEncoding: 'binary' }).getKeysCount();
    for (const number of [1, 2]) {
      const changes = Array.from({ length: 10 }, (_, i) => block(i, { expiresAtSeconds: i % 2 === 0 ? 50 : null }));
      await kept(lists.putMany(customer(number), changes, 1));
    }
    expect(await value(lists.sweepExpired(49, 100))).toBe(0);
    expect(rows()).toBe(20);
    const removed = [];
    for (let step = 0; step < 6; step++) removed.push(await value(lists.sweepExpired(50, 7)));
    // 20 rows in steps of 7, then from the start of the table again.
    expect(removed).toEqual([4, 3, 3, 0, 0, 0]);
    expect(rows()).toBe(10);
    expect((await lists.page(customer(2), all, 50, freeSlices())).entries).toHaveLength(5);
  });

  test('A sweep keeps an entry that was put again while it ran', async () => {
    const lists = listsOf(tempStore());
    await kept(lists.put(customer(1), block(1, { expiresAtSeconds: 50 }), 1));
    const [put, swept] = await Promise.all([
      kept(lists.put(customer(1), block(1), 60)),
      value(lists.sweepExpired(60, 100)),
    ]);
    expect([put.created, swept]).toEqual([true, 0]);
    expect(lists.find(customer(1), hashOf(1), 60)).toBe('block');
  });

  test('A customer cannot see, list or remove entries of another one', async () => {
    const lists = listsOf(tempStore());
    const numbers = fc.constantFrom(1, 2, 255, 256, 0x0100_0000, 0xffff_fffe, 0xffff_ffff);
    const step = fc.record({
      customer: numbers,
      seed: fc.nat(3),
      action: fc.constantFrom(...LIST_ACTIONS),
      remove: fc.boolean(),
    });
    const model = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        for (const { customer: number, seed, action, remove } of steps) {
          const key = `${number}/${seed}`;
          const existed = model.delete(key);
          const answer = remove
            ? await value(lists.remove(customer(number), hashOf(seed), 1))
            : !(await kept(lists.put(customer(number), block(seed, { action }), 1))).created;
          if (!remove) model.set(key, action);
          expect(answer).toBe(existed);
        }
        for (const number of [1, 2, 255, 256, 0x0100_0000, 0xffff_fffe, 0xffff_ffff]) {
          const found = new Map(
            (await lists.page(customer(number), all, 1, freeSlices())).entries.map((e) => [
              e.fingerprintHash,
              e.action,
            ]),
          );
          for (let seed = 0; seed <= 3; seed++) {
            const wanted = model.get(`${number}/${seed}`);
            expect(lists.find(customer(number), hashOf(seed), 1)).toBe(wanted ?? null);
            expect(found.get(hashOf(seed))).toBe(wanted);
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  test('A second handle sees a committed write after resetRead, and a consistent snapshot before', async () => {
    const folder = tempFolder();
    const writer = open(folder);
    const reader = open(folder, true);
    expect(reader.lists.find(customer(1), hashOf(1), 1)).toBeNull();
    for (let round = 0; round < 50; round++) {
      const action = LIST_ACTIONS[round % 3] ?? 'block';
      await kept(listsOf(writer).putMany(customer(1), [block(1, { action }), block(2, { action })], 1));
      reader.resetRead();
      expect(reader.lists.find(customer(1), hashOf(1), 1)).toBe(action);
      expect(reader.lists.find(customer(1), hashOf(2), 1)).toBe(action);
    }
    await reader.close();
    await writer.close();
  });
});

test('A customer has a maximum number of list entries, and a removed or expired one makes room', async () => {
  const store = tempStore();
  const { rowCounters } = store.tables;
  const lists = listsOf(store, boundedFeed(store, { listEntries: 4 }));
  const one = customer(1);
  const counted = (): number => rowCounters.get('lists', one);
  await kept(lists.putMany(one, [block(1), block(2), block(2), block(3, { expiresAtSeconds: 50 })], 1));
  expect(counted()).toBe(3);
  expect(await value(lists.putMany(one, [block(3), block(4), block(5)], 1))).toBe('limit_reached');
  expect(lists.get(one, hashOf(4), 1)).toBeNull();
  await kept(lists.put(one, block(4), 1));
  expect(await value(lists.put(one, block(5), 1))).toBe('limit_reached');
  // Existing entries can still be changed, and other customers have their own limit.
  await kept(lists.put(one, block(4, { action: 'watch' }), 1));
  await kept(lists.putMany(one, [block(1, { action: 'watch' })], 1));
  await kept(lists.put(customer(2), block(5), 1));
  expect(counted()).toBe(4);
  await value(lists.remove(one, hashOf(1), 1));
  await value(lists.remove(one, hashOf(1), 1));
  expect(await value(lists.sweepExpired(60, 100))).toBe(1);
  expect(counted()).toBe(2);
  await kept(lists.putMany(one, [block(6), block(7)], 60));
  expect(counted()).toBe(4);
});
