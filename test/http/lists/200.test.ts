import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, nthHash } from '../../support/manage.ts';
import { newCustomer, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

interface Page {
  readonly data: { readonly fingerprint_hash: string; readonly action: string }[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

describe.each(TRANSPORTS)('lists answer 200 over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test('GET of an empty list without parameters is 200', async () => {
    const answer = await bearer(server.url, server.secretKey, 'GET', '/v1/lists');
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ data: [], has_more: false, next_cursor: null });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-svc-rl-limit': '6000',
      'ratelimit-policy': '"default";q=6000;w=60',
    });
    expect(Number(answer.headers['x-svc-rl-reset']) % 60).toBe(0);
  });

  test('a POST that replaces an entry is 200, with the entry as GET returns it', async () => {
    const hash = 'Ab'.repeat(32);
    const first = await call(server.url, server.secretKey, 'POST', '/v1/lists', {
      fingerprint_hash: hash,
      action: 'watch',
    });
    expect(first.status).toBe(201);
    const changed = { fingerprint_hash: hash.toLowerCase(), action: 'block', note: 'ünïcode “note”' };
    const second = await call(server.url, server.secretKey, 'POST', '/v1/lists', changed);
    expect(second.status).toBe(200);
    expect(second.json).toMatchObject({ ...changed, created_at: first.json['created_at'], expires_at: null });
    const shown = await bearer(server.url, server.secretKey, 'GET', `/v1/lists/${hash}`);
    const { usage: _usage, ...entry } = second.json;
    expect([shown.status, shown.json]).toEqual([200, entry]);
  });

  test('a batch is 200 with one result per row in order, and its valid rows are written', async () => {
    const [a, b] = ['c'.repeat(64), 'd'.repeat(64)];
    const entries = [
      { fingerprint_hash: a, action: 'block' },
      { fingerprint_hash: 'short', action: 'block' },
      { fingerprint_hash: b.toUpperCase(), action: 'allow', note: 'first' },
      { fingerprint_hash: b, action: 'sometimes' },
      { fingerprint_hash: b, action: 'watch', note: null },
      7,
    ];
    const answer = await call(server.url, server.secretKey, 'POST', '/v1/lists/batch', { entries });
    expect(answer.status).toBe(200);
    expect(answer.json['results']).toMatchObject([
      { fingerprint_hash: a, status: 201 },
      { fingerprint_hash: 'short', status: 422, code: 'validation_failed' },
      { fingerprint_hash: b, status: 201 },
      { fingerprint_hash: b, status: 422, errors: [{ pointer: '/action', code: 'invalid_value' }] },
      { fingerprint_hash: b, status: 200 },
      { fingerprint_hash: null, status: 422 },
    ]);
    const later = await bearer(server.url, server.secretKey, 'GET', `/v1/lists/${b}`);
    expect(later.json).toMatchObject({ action: 'watch', note: null });
  });

  test('a batch that is an array is 200, and so is an empty one', async () => {
    const entries = [{ fingerprint_hash: 'e'.repeat(64), action: 'allow' }];
    const answer = await bearer(server.url, server.secretKey, 'POST', '/v1/lists/batch', entries);
    expect(answer.json).toEqual({ results: [{ fingerprint_hash: 'e'.repeat(64), status: 201 }] });
    const empty = await bearer(server.url, server.secretKey, 'POST', '/v1/lists/batch', { entries: [] });
    expect([empty.status, empty.json]).toEqual([200, { results: [] }]);
  });

  test('pages over 2,500 entries return each entry once, filtered or not', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const actionOf = (n: number): string => (n % 5 === 0 ? 'allow' : 'block');
    for (let from = 0; from < 2_500; from += 1_000) {
      const entries = Array.from({ length: Math.min(1_000, 2_500 - from) }, (_, i) => ({
        fingerprint_hash: nthHash(from + i),
        action: actionOf(from + i),
      }));
      expect((await bearer(server.url, secretKey, 'POST', '/v1/lists/batch', { entries })).status).toBe(200);
    }
    const collect = async (parameters: string): Promise<Page[]> => {
      const pages: Page[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const target: string = `/v1/lists?${parameters}${cursor === '' ? '' : `&cursor=${cursor}`}`;
        const page = (await bearer(server.url, secretKey, 'GET', target)).json as unknown as Page;
        pages.push(page);
        cursor = page.next_cursor;
      }
      return pages;
    };
    const hashesOf = (pages: readonly Page[]): string[] =>
      pages.flatMap(({ data }) => data.map(({ fingerprint_hash: hash }) => hash));
    const every = Array.from({ length: 2_500 }, (_, n) => n);

    const whole = await collect('');
    expect(whole.map(({ data, has_more: more }) => [data.length, more])).toEqual([
      [1_000, true],
      [1_000, true],
      [500, false],
    ]);
    expect(hashesOf(whole)).toEqual(every.map(nthHash));

    const allowed = await collect('action=allow&limit=100');
    expect(allowed.map(({ data, has_more: more }) => [data.length, more])).toEqual([
      [100, true],
      [100, true],
      [100, true],
      [100, true],
      [100, false],
    ]);
    expect(hashesOf(allowed)).toEqual(every.filter((n) => n % 5 === 0).map(nthHash));
    expect(hashesOf(await collect('action=watch'))).toEqual([]);
  });
});
