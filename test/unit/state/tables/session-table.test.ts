import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import type { BrowserSession } from '../../../../src/work/extraction-job.ts';
import { committed } from '../../../../src/state/tables/durable.ts';
import type { ExtractStore } from '../../../../src/state/tables/extract-store.ts';
import { Sessions } from '../../../../src/state/tables/session-table.ts';
import { customer, tempStore, value } from '../support.ts';
import { freeSlices } from '../../../support/slices.ts';

const KEY = Buffer.alloc(32, 1);
const SECRET = Buffer.from(JSON.stringify({ cookies: [{ name: 'sid', value: 'very-secret-cookie' }] }));

function extract(): ExtractStore {
  const { extract } = tempStore();
  if (extract === null) throw new Error('the store was opened to be read');
  return extract;
}

function session(overrides: Partial<BrowserSession> = {}): BrowserSession {
  return {
    id: newId('ses', 1_000),
    customer: customer(1),
    host: 'shop.example',
    createdAtMs: 1_000,
    expiresAtMs: 9_000,
    ...overrides,
  };
}

describe('sessions', () => {
  test('Sessions and their content are found by their customer until they expire', async () => {
    const { sessions } = extract();
    const mine = session();
    await value(sessions.create(KEY, mine, SECRET));
    expect(sessions.find(mine.customer, mine.id, 8_999)).toEqual(mine);
    expect(sessions.contentOf(KEY, mine.customer, mine.id, 8_999)).toEqual(SECRET);
    expect(sessions.find(mine.customer, mine.id, 9_000)).toBeNull();
    expect(sessions.contentOf(KEY, mine.customer, mine.id, 9_000)).toBeNull();
    expect(sessions.find(customer(2), mine.id, 1_000)).toBeNull();
    expect(sessions.contentOf(Buffer.alloc(32, 2), mine.customer, mine.id, 1_000)).toBeNull();
  });

  test('A session cannot be decrypted under the name of another host', async () => {
    const store = extract();
    const mine = session();
    const sealed = new Sessions(store.root, table(store));
    await value(sealed.create(KEY, mine, SECRET));
    // The row as an attacker would write it who has the file but no key.
    const [row] = [...table(store).getRange()];
    if (row === undefined) throw new Error('no row');
    const moved = Buffer.from(row.value);
    moved.write('evil', moved.indexOf('shop.example'));
    await table(store).put(Buffer.from(row.key), moved);
    expect(sealed.find(mine.customer, mine.id, 1_000)?.host).toBe('evil.example');
    expect(sealed.contentOf(KEY, mine.customer, mine.id, 1_000)).toBeNull();
  });

  test('A stored session contains nothing readable without the key', async () => {
    const store = extract();
    await value(store.sessions.create(KEY, session(), SECRET));
    for (const { value: stored } of table(store).getRange()) expect(stored.includes('very-secret-cookie')).toBe(false);
  });

  test('Sessions are listed newest first, without expired ones, and their number is limited', async () => {
    const store = extract();
    const few = new Sessions(store.root, table(store), 4);
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      const made = session({ id: newId('ses', 1_000 + i), expiresAtMs: i === 1 ? 2_000 : 9_000 });
      if (i !== 1) ids.unshift(made.id);
      expect(await value(few.create(KEY, made, SECRET))).toBe('created');
    }
    expect(await value(few.create(KEY, session(), SECRET))).toBe('limit_reached');
    const first = await few.page(customer(1), { after: null, limit: 2 }, 3_000, freeSlices());
    const second = await few.page(customer(1), { after: first.next, limit: 2 }, 3_000, freeSlices());
    expect([...first.rows, ...second.rows].map(({ id }) => id)).toEqual(ids);
    expect(second.next).toBeNull();
    expect(await value(few.sweep(3_000, 10))).toBe(1);
    expect(await value(few.create(KEY, session(), SECRET))).toBe('created');
  });

  test('The content of a session can be changed until it is removed', async () => {
    const { sessions, root } = extract();
    const mine = session();
    await value(sessions.create(KEY, mine, SECRET));
    const add = (text: string, key = KEY): unknown =>
      committed(root, () =>
        sessions.changeContent(key, mine.customer, mine.id, (held) => Buffer.concat([held, Buffer.from(text)])),
      );
    await Promise.all([add(', newer'), add(', newest')]);
    const held = `${SECRET.toString()}, newer, newest`;
    expect(sessions.contentOf(KEY, mine.customer, mine.id, 1_000)?.toString()).toBe(held);
    await add('under another key', Buffer.alloc(32, 2));
    expect(sessions.contentOf(KEY, mine.customer, mine.id, 1_000)?.toString()).toBe(held);
    expect(await value(sessions.remove(customer(2), mine.id))).toBe(false);
    expect(await value(sessions.remove(mine.customer, mine.id))).toBe(true);
    await add('too late');
    expect(sessions.find(mine.customer, mine.id, 1_000)).toBeNull();
    expect(await value(sessions.remove(mine.customer, mine.id))).toBe(false);
  });
});

function table({ root }: ExtractStore): ReturnType<typeof root.openDB<Buffer, Buffer>> {
  return root.openDB<Buffer, Buffer>({ name: 'sessions', encoding: 'binary', keyEncoding: 'binary' });
}
