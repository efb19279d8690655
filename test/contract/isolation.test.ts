import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, fingerprintOf, nthHash } from '../support/manage.ts';
import { CALM, decide, newCustomer, type Answer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';

/** What is one customer's is nobody else's: on every management route, and in decisions. */

const TOKEN = 'a-session-of-both';
const HASH = fingerprintOf(TOKEN);

let server: RunningServer;
let otherKey: string;
beforeAll(async () => {
  server = await startServer();
  ({ secretKey: otherKey } = await newCustomer(server.url, server.dataDir));
});
afterAll(() => server.stop());

const mine = (method: string, path: string, body?: unknown): Promise<Answer> =>
  bearer(server.url, server.secretKey, method, path, body);
const theirs = (method: string, path: string, body?: unknown): Promise<Answer> =>
  bearer(server.url, otherKey, method, path, body);
const decided = async (key: string): Promise<unknown> =>
  (await decide(server.url, key, { ...CALM, session_token: TOKEN })).json['decision'];

describe('lists', () => {
  beforeAll(async () => {
    const entries = [HASH, ...Array.from({ length: 20 }, (_, n) => nthHash(n))];
    const body = entries.map((fingerprint_hash) => ({ fingerprint_hash, action: 'block', note: 'mine alone' }));
    await mine('POST', '/v1/lists/batch', body);
  });

  test('another customer’s entry matters in no decision', async () => {
    expect(await decided(server.secretKey)).toBe('BLOCK');
    expect(await decided(otherKey)).toBe('ALLOW');
  });

  test('another customer’s entries are not listed, not found and not removed', async () => {
    expect((await theirs('GET', '/v1/lists')).json).toEqual({ data: [], has_more: false, next_cursor: null });
    for (const method of ['GET', 'DELETE']) {
      const answer = await theirs(method, `/v1/lists/${HASH}`);
      const unknown = await theirs(method, `/v1/lists/${'f'.repeat(64)}`);
      expect(answer.status).toBe(404);
      // Nothing tells an entry that is another's from one that is nobody's.
      expect({ ...answer.json, request_id: '' }).toEqual({ ...unknown.json, request_id: '' });
    }
    expect((await mine('GET', `/v1/lists/${HASH}`)).json['note']).toBe('mine alone');
  });

  test('another customer’s entry is replaced by nobody else', async () => {
    const made = await theirs('POST', '/v1/lists', { fingerprint_hash: HASH, action: 'allow', note: 'theirs' });
    expect(made.status).toBe(201);
    expect((await mine('GET', `/v1/lists/${HASH}`)).json).toMatchObject({ action: 'block', note: 'mine alone' });
    const batch = await theirs('POST', '/v1/lists/batch', [{ fingerprint_hash: nthHash(1), action: 'allow' }]);
    expect(batch.json['results']).toMatchObject([{ status: 201 }]);
    expect(await decided(server.secretKey)).toBe('BLOCK');
    expect((await theirs('DELETE', `/v1/lists/${HASH}`)).status).toBe(204);
    expect((await mine('GET', '/v1/lists')).json['data']).toHaveLength(21);
  });

  test('another customer’s cursor is refused', async () => {
    const page = await mine('GET', '/v1/lists?limit=5');
    const target = `/v1/lists?limit=5&cursor=${String(page.json['next_cursor'])}`;
    expect((await mine('GET', target)).status).toBe(200);
    expect((await theirs('GET', target)).json).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  test('one block makes nothing of it known to others', async () => {
    const other = nthHash(2);
    const made = await theirs('POST', '/v1/lists', { fingerprint_hash: other, action: 'watch' });
    expect(Object.keys(made.json)).not.toContain('shared_registry');
    expect(JSON.stringify(made.json)).not.toMatch(/customer|cus_/);
  });
});
