import { beforeAll, describe, expect, test } from 'vitest';
import { command } from '../../support/command-line.ts';
import { bearer, nthHash } from '../../support/manage.ts';
import { newCustomer } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

type Entry = Readonly<Record<string, unknown>>;

describe('GET /v1/audit answers 200', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  async function entries(key: string, query = ''): Promise<{ data: readonly Entry[]; next: unknown }> {
    const answer = await bearer(server.url, key, 'GET', `/v1/audit${query}`);
    expect(answer.status).toBe(200);
    return { data: answer.json['data'] as readonly Entry[], next: answer.json['next_cursor'] };
  }

  test('changes are listed at once with the key that made them, newest first, in pages, and only for their customer', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const other = await newCustomer(server.url, server.dataDir);
    const before = Math.floor(Date.now() / 1000);
    for (const number of [1, 2]) {
      await bearer(server.url, secretKey, 'POST', '/v1/lists', { fingerprint_hash: nthHash(number), action: 'block' });
    }
    await bearer(server.url, secretKey, 'DELETE', `/v1/lists/${nthHash(1)}`);
    const [first, second, third] = (await entries(secretKey)).data;
    const actor = `key:${secretKey.slice(0, 12)}`;
    const block = { action: 'block', expires_at: null };
    expect(first).toMatchObject({ actor, kind: 'list.removed', target: nthHash(1), before: block, after: null });
    expect([second, third]).toMatchObject([2, 1].map((n) => ({ actor, kind: 'list.put', target: nthHash(n) })));
    expect(first?.['at']).toBeGreaterThanOrEqual(before);
    const kinds = (data: readonly Entry[]): unknown[] => data.map(({ kind }) => kind);
    const { data, next } = await entries(secretKey, '?limit=1&kind=list.put');
    expect([kinds(data), data[0]?.['target']]).toEqual([['list.put'], nthHash(2)]);
    const more = await entries(secretKey, `?limit=1&kind=list.put&cursor=${String(next)}`);
    expect(more.data[0]?.['target']).toBe(nthHash(1));
    expect(kinds((await entries(secretKey, `?since=${before + 3_600}`)).data)).toEqual([]);
    expect(kinds((await entries(secretKey, `?until=${before - 3_600}`)).data)).toEqual([]);
    expect(kinds((await entries(secretKey, `?until=${before + 3_600}`)).data)).toEqual(
      kinds((await entries(secretKey)).data),
    );
    expect(kinds((await entries(other.secretKey)).data)).not.toContain('list.put');
  });

  test('the command line shows the entries of all customers or of one', async () => {
    const { customerId, secretKey } = await newCustomer(server.url, server.dataDir);
    await bearer(server.url, secretKey, 'POST', '/v1/lists', { fingerprint_hash: nthHash(5), action: 'allow' });
    const words = ['audit', '--data-dir', server.dataDir, '--json'];
    const one = await command([...words, '--customer', customerId, '--kind', 'list.put']);
    expect(JSON.parse(one.out)).toMatchObject({
      entries: [{ customer_id: customerId, actor: `key:${secretKey.slice(0, 12)}`, target: nthHash(5) }],
    });
    const all = JSON.parse((await command(words)).out) as { entries: readonly Entry[] };
    expect(all.entries).toContainEqual(expect.objectContaining({ customer_id: customerId, kind: 'list.put' }));
    const old = await command([...words, '--until', '2026-01-01']);
    expect(JSON.parse(old.out)).toEqual({ entries: [] });
    expect((await command([...words, '--customer', 'cus_x'])).code).toBe(1);
    expect((await command([...words, '--kind', 'nothing'])).code).toBe(2);
  });

  test('a public key, an unknown kind and a foreign cursor are refused', async () => {
    const { secretKey, publicKey } = await newCustomer(server.url, server.dataDir);
    const status = async (key: string, query: string): Promise<unknown> =>
      (await bearer(server.url, key, 'GET', `/v1/audit${query}`)).status;
    expect(await status(publicKey, '')).toBe(403);
    const queries = ['?kind=x', '?since=-1', '?until=x', '?cursor=abc', '?limit=0'];
    const statuses = await Promise.all(queries.map((query) => status(secretKey, query)));
    expect(statuses).toEqual([400, 400, 400, 400, 400]);
  });
});
