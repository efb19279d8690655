import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, fingerprintOf, nthHash } from '../support/manage.ts';
import { CALM, decide, newCustomer, type Answer } from '../support/requests.ts';
import { startSamplingServer } from '../support/reviews.ts';
import type { RunningServer } from '../support/server.ts';
import { collectorToken, stranger, visit, type Visit } from '../support/visits.ts';

/** Data of one customer are invisible to others: on every management route, in decisions, and in the history used by rules. */

const TOKEN = 'a-session-of-both';
const HASH = fingerprintOf(TOKEN);

let server: RunningServer;
let otherKey: string;
beforeAll(async () => {
  server = await startSamplingServer();
  ({ secretKey: otherKey } = await newCustomer(server.url, server.dataDir));
});
afterAll(() => server.stop());

const mine = (method: string, path: string, body?: unknown): Promise<Answer> =>
  bearer(server.url, server.secretKey, method, path, body);
const theirs = (method: string, path: string, body?: unknown): Promise<Answer> =>
  bearer(server.url, otherKey, method, path, body);
/** Checks that a foreign object and an unknown one give the same response. */
const expectNobodys = (answer: Answer, nobodys: Answer): void => {
  expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
  expect({ ...answer.json, request_id: '' }).toEqual({ ...nobodys.json, request_id: '' });
};
const decided = async (key: string): Promise<unknown> =>
  (await decide(server.url, key, { ...CALM, session_token: TOKEN })).json['decision'];

describe('lists', () => {
  beforeAll(async () => {
    const entries = [HASH, ...Array.from({ length: 20 }, (_, n) => nthHash(n))];
    const body = entries.map((fingerprint_hash) => ({ fingerprint_hash, action: 'block', note: 'mine alone' }));
    await mine('POST', '/v1/lists/batch', body);
  });

  test('Another customer’s list entry does not affect decisions', async () => {
    expect(await decided(server.secretKey)).toBe('BLOCK');
    expect(await decided(otherKey)).toBe('ALLOW');
  });

  test('Another customer’s list entries cannot be listed, found or removed', async () => {
    expect((await theirs('GET', '/v1/lists')).json).toEqual({ data: [], has_more: false, next_cursor: null });
    for (const method of ['GET', 'DELETE']) {
      const answer = await theirs(method, `/v1/lists/${HASH}`);
      const unknown = await theirs(method, `/v1/lists/${'f'.repeat(64)}`);
      expectNobodys(answer, unknown);
    }
    expect((await mine('GET', `/v1/lists/${HASH}`)).json['note']).toBe('mine alone');
  });

  test('Another customer’s list entry cannot be replaced', async () => {
    const made = await theirs('POST', '/v1/lists', { fingerprint_hash: HASH, action: 'allow', note: 'theirs' });
    expect(made.status).toBe(201);
    expect((await mine('GET', `/v1/lists/${HASH}`)).json).toMatchObject({ action: 'block', note: 'mine alone' });
    const batch = await theirs('POST', '/v1/lists/batch', [{ fingerprint_hash: nthHash(1), action: 'allow' }]);
    expect(batch.json['results']).toMatchObject([{ status: 201 }]);
    expect(await decided(server.secretKey)).toBe('BLOCK');
    expect((await theirs('DELETE', `/v1/lists/${HASH}`)).status).toBe(204);
    expect((await mine('GET', '/v1/lists')).json['data']).toHaveLength(21);
  });

  test('Another customer’s cursor of a list is rejected', async () => {
    const page = await mine('GET', '/v1/lists?limit=5');
    const target = `/v1/lists?limit=5&cursor=${String(page.json['next_cursor'])}`;
    expect((await mine('GET', target)).status).toBe(200);
    expect((await theirs('GET', target)).json).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  test('One customer’s block entry reveals nothing to others', async () => {
    const other = nthHash(2);
    const made = await theirs('POST', '/v1/lists', { fingerprint_hash: other, action: 'watch' });
    expect(Object.keys(made.json)).not.toContain('shared_registry');
    expect(JSON.stringify(made.json)).not.toMatch(/customer|cus_/);
  });
});

describe('decisions, candidates, labels and shadow reviews', () => {
  const CURL = 'curl/8.5.0';
  const PATHS = ['/v1/decisions', '/v1/lists/candidates', '/v1/shadow-reviews'] as const;
  const NOBODYS = 'req_01KAJ8Q5W0V4T0M2Y8Z3N6R7DC';
  let quietKey: string;
  const ownIds: string[] = [];
  const foreignIds: string[] = [];
  const ownHashes: string[] = [];
  const quiet = (method: string, path: string, body?: unknown): Promise<Answer> =>
    bearer(server.url, quietKey, method, path, body);
  const rows = ({ json }: Answer): Record<string, unknown>[] => json['data'] as Record<string, unknown>[];

  beforeAll(async () => {
    ({ secretKey: quietKey } = await newCustomer(server.url, server.dataDir));
    // Alternates, so that the rows of both customers are next to each other.
    for (let n = 0; n < 6; n++) {
      const own = { ...stranger('86.1.1.1', 'search'), user_agent: CURL };
      const foreign = { ...stranger('86.1.1.1', 'search'), user_agent: CURL };
      ownIds.push((await visit(server.url, server.secretKey, own)).requestId);
      ownHashes.push(fingerprintOf(own.session_token));
      foreignIds.push((await visit(server.url, otherKey, foreign)).requestId);
    }
  });

  test.each(PATHS)(
    '%s shows only a customer’s own rows, with and without a search, and nothing to a customer without rows',
    async (path) => {
      const has = path === '/v1/shadow-reviews' ? '?why=sample' : '?q=86.1.1.1&decision=SOFT_CHALLENGE';
      for (const query of ['', has]) {
        const all = JSON.stringify((await mine('GET', path + query)).json);
        for (const id of ownIds) expect(all).toContain(id);
        for (const id of foreignIds) expect(all).not.toContain(id);
        const others = JSON.stringify((await theirs('GET', path + query)).json);
        for (const id of foreignIds) expect(others).toContain(id);
        for (const id of ownIds) expect(others).not.toContain(id);
        expect((await quiet('GET', path + query)).json).toEqual({ data: [], has_more: false, next_cursor: null });
      }
    },
  );

  test.each(PATHS)('%s rejects another customer’s cursor', async (path) => {
    const page = await mine('GET', `${path}?limit=2`);
    expect(rows(page)).toHaveLength(2);
    const target = `${path}?limit=2&cursor=${String(page.json['next_cursor'])}`;
    expect(rows(await mine('GET', target))).toHaveLength(2);
    for (const ask of [theirs, quiet]) {
      expect((await ask('GET', target)).json).toMatchObject({ status: 400, code: 'invalid_request' });
    }
  });

  test('Another customer’s decision is not found', async () => {
    const nobodys = await theirs('GET', `/v1/decisions/${NOBODYS}`);
    for (const id of ownIds) {
      expectNobodys(await theirs('GET', `/v1/decisions/${id}`), nobodys);
      expect((await mine('GET', `/v1/decisions/${id}`)).json['request_id']).toBe(id);
    }
  });

  test('Another customer’s decision cannot be labelled or reviewed', async () => {
    const [id = ''] = ownIds;
    const label = { request_id: id, label: 'fraud' };
    const nobodys = await theirs('POST', '/v1/labels', { ...label, request_id: NOBODYS });
    expectNobodys(await theirs('POST', '/v1/labels', label), nobodys);
    const verdict = { verdict: 'fraud' };
    const unknown = await theirs('POST', `/v1/shadow-reviews/${NOBODYS}`, verdict);
    expectNobodys(await theirs('POST', `/v1/shadow-reviews/${id}`, verdict), unknown);
    expect((await mine('GET', `/v1/decisions/${id}`)).json['label']).toBeNull();
    expect(rows(await mine('GET', '/v1/shadow-reviews?verdict=fraud'))).toEqual([]);

    // The same holds after its own customer has labelled it: it is neither found nor replaced.
    expect((await mine('POST', '/v1/labels', { ...label, label: 'legitimate' })).status).toBe(201);
    expectNobodys(await theirs('POST', '/v1/labels', label), nobodys);
    expectNobodys(await theirs('POST', `/v1/shadow-reviews/${id}`, verdict), unknown);
    expect((await mine('GET', `/v1/decisions/${id}`)).json['label']).toBe('legitimate');
    const reviewed = rows(await mine('GET', '/v1/shadow-reviews?verdict=legitimate'));
    expect(reviewed.map((row) => row['request_id'])).toEqual([id]);
    expect(rows(await theirs('GET', '/v1/shadow-reviews?verdict=legitimate'))).toEqual([]);
  });

  test('A candidate shows the state of the caller’s own list only', async () => {
    const [hash = ''] = ownHashes;
    expect((await theirs('POST', '/v1/lists', { fingerprint_hash: hash, action: 'watch' })).status).toBe(201);
    const found = rows(await mine('GET', '/v1/lists/candidates')).find((row) => row['fingerprint_hash'] === hash);
    expect(found).toMatchObject({ list_action: null });
  });
});

describe('velocity', () => {
  const reasonsOf = async (key: string, body: unknown): Promise<readonly string[]> =>
    (await visit(server.url, key, body)).reasons;

  test('Activity of people at one customer fires no rule at another customer', async () => {
    const ip = '82.2.1.1';
    for (let n = 0; n < 8; n++) {
      const person = stranger(ip);
      expect(await reasonsOf(server.secretKey, person)).toEqual([]);
      expect(await reasonsOf(otherKey, person)).toEqual([]);
    }
    for (let n = 0; n < 20; n++) await reasonsOf(server.secretKey, stranger(ip, n % 2 === 0 ? 'login' : 'signup'));
    expect(await reasonsOf(server.secretKey, stranger(ip))).toContain('velocity_ip_logins_10m');
    expect(await reasonsOf(server.secretKey, stranger(ip, 'signup'))).toContain('velocity_ip_signups_24h');
    expect(await reasonsOf(otherKey, stranger(ip))).toEqual([]);
    expect(await reasonsOf(otherKey, stranger(ip, 'signup'))).toEqual([]);
  });

  test('A session, device and entity of one customer are new to another customer', async () => {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const token = collectorToken('a device of both', 'a visit of both', nowSeconds);
    const person: Visit = { ...stranger('81.2.69.160', 'search'), session_token: token };
    for (let n = 0; n < 70; n++) {
      const entity_keys = n < 40 ? person.entity_keys : { user_id: `user-${n}` };
      await reasonsOf(server.secretKey, { ...person, entity_keys });
    }
    // Another browser, another continent and a payment; the other customer has no history for comparison.
    const fox = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:150.0) Gecko/20100101 Firefox/150.0';
    const moved = { ...person, ip: '1.1.1.1', user_agent: fox, event_type: 'payment' };
    expect(await reasonsOf(otherKey, moved)).toEqual(['journey_single_event']);
    const known = await reasonsOf(server.secretKey, moved);
    expect(known).toEqual(
      expect.arrayContaining([
        'device_many_entities',
        'velocity_session_1m',
        'velocity_entity_1m',
        'session_ip_change',
        'session_country_change',
        'session_agent_change',
        'journey_too_fast',
      ]),
    );
  });
});
