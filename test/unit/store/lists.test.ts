import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIST_ACTIONS } from '../../../src/core/decision.ts';
import type { ListChange } from '../../../src/store/lists.ts';
import { customer, hashOf, open, tempFolder, tempStore, value } from './support.ts';

const block = (seed: number, extra: Partial<ListChange> = {}): ListChange => ({
  fingerprintHash: hashOf(seed),
  action: 'block',
  note: null,
  expiresAtSeconds: null,
  ...extra,
});
const all = { after: null, limit: 1000, action: null };

describe('lists', () => {
  test('an entry is created, then replaced, and keeps when it was created', async () => {
    const { lists } = tempStore();
    const made = await value(lists.put(customer(1), block(1, { note: 'ünïcode' }), 100));
    expect(made).toMatchObject({ created: true, entry: { action: 'block', note: 'ünïcode', createdAtSeconds: 100 } });
    const replaced = await value(lists.put(customer(1), block(1, { action: 'watch' }), 200));
    expect(replaced).toEqual({
      created: false,
      entry: {
        fingerprintHash: hashOf(1),
        action: 'watch',
        note: null,
        createdAtSeconds: 100,
        updatedAtSeconds: 200,
        expiresAtSeconds: null,
      },
    });
    expect(lists.get(customer(1), hashOf(1), 200)).toEqual(replaced.entry);
    expect(lists.find(customer(1), hashOf(1), 200)).toBe('watch');
  });

  test('an entry counts until the second before its expiry', async () => {
    const { lists } = tempStore();
    await value(lists.put(customer(1), block(1, { expiresAtSeconds: 500 }), 100));
    expect(lists.find(customer(1), hashOf(1), 499)).toBe('block');
    expect(lists.find(customer(1), hashOf(1), 500)).toBeNull();
    expect(lists.get(customer(1), hashOf(1), 500)).toBeNull();
    expect(lists.page(customer(1), all, 500).entries).toEqual([]);
    expect((await value(lists.put(customer(1), block(1), 600))).created).toBe(true);
  });

  test('removing says whether there was one', async () => {
    const { lists } = tempStore();
    await value(lists.put(customer(1), block(1, { expiresAtSeconds: 500 }), 100));
    expect(await value(lists.remove(customer(2), hashOf(1), 100))).toBe(false);
    expect(await value(lists.remove(customer(1), hashOf(1), 100))).toBe(true);
    expect(await value(lists.remove(customer(1), hashOf(1), 100))).toBe(false);
    expect(lists.find(customer(1), hashOf(1), 100)).toBeNull();
  });

  test('pages go on where the last one ended, with and without a filter', async () => {
    const { lists } = tempStore();
    const changes = Array.from({ length: 25 }, (_, i) => block(i, { action: i % 5 === 0 ? 'allow' : 'block' }));
    await value(lists.putMany(customer(0xffff_ffff), changes, 1));
    for (const action of [null, 'allow', 'watch'] as const) {
      const seen: string[] = [];
      let after: ListChange['fingerprintHash'] | null = null;
      do {
        const page = lists.page(customer(0xffff_ffff), { after, limit: 4, action }, 1);
        seen.push(...page.entries.map((entry) => entry.fingerprintHash));
        after = page.next;
      } while (after !== null);
      const wanted = changes.filter((change) => action === null || change.action === action);
      expect(seen).toEqual(wanted.map((change) => change.fingerprintHash));
    }
  });

  test('no customer sees, lists or removes what is another one’s', async () => {
    const { lists } = tempStore();
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
            : !(await value(lists.put(customer(number), block(seed, { action }), 1))).created;
          if (!remove) model.set(key, action);
          expect(answer).toBe(existed);
        }
        for (const number of [1, 2, 255, 256, 0x0100_0000, 0xffff_fffe, 0xffff_ffff]) {
          const found = new Map(lists.page(customer(number), all, 1).entries.map((e) => [e.fingerprintHash, e.action]));
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

  test('a second handle sees an acknowledged write after resetRead, and its snapshot until then is whole', async () => {
    const folder = tempFolder();
    const writer = open(folder);
    const reader = open(folder, true);
    expect(reader.lists.find(customer(1), hashOf(1), 1)).toBeNull();
    for (let round = 0; round < 50; round++) {
      const action = LIST_ACTIONS[round % 3] ?? 'block';
      await value(writer.lists.putMany(customer(1), [block(1, { action }), block(2, { action })], 1));
      reader.resetRead();
      expect(reader.lists.find(customer(1), hashOf(1), 1)).toBe(action);
      expect(reader.lists.find(customer(1), hashOf(2), 1)).toBe(action);
    }
    await reader.close();
    await writer.close();
  });
});
