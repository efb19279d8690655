import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, fingerprintOf } from '../../support/manage.ts';
import { CALM, decide, gatehouse, newCustomer, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

type Row = Record<string, unknown>;

const CURL = { ...CALM, user_agent: 'curl/8.5.0' };

describe.each(TRANSPORTS)('candidates over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  async function decided(key: string, body: unknown): Promise<Row> {
    const answer = await decide(server.url, key, body);
    if (answer.status !== 200) throw new Error(`decide answered ${answer.status}`);
    return answer.json;
  }

  async function candidates(key: string, query = ''): Promise<Row[]> {
    const answer = await call(server.url, key, 'GET', `/v1/lists/candidates${query}`);
    expect(answer.status).toBe(200);
    return answer.json['data'] as Row[];
  }

  test('there are no candidates before anything was flagged', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    await decided(secretKey, CALM);
    const answer = await bearer(server.url, secretKey, 'GET', '/v1/lists/candidates');
    expect([answer.status, answer.json]).toEqual([200, { data: [], has_more: false, next_cursor: null }]);
  });

  test('candidates have one row per fingerprint with its newest flagged decision, newest first, of the caller only', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const other = await newCustomer(server.url, server.dataDir);
    // The first decision is ALLOW, which does not count here.
    await decided(secretKey, { ...CALM, session_token: 'a' });
    await decided(secretKey, { ...CURL, session_token: 'a', ip: '2.2.2.2' });
    await decided(secretKey, { ...CURL, session_token: 'b' });
    const newest = await decided(secretKey, { ...CURL, session_token: 'a', event_type: 'login' });
    await decided(secretKey, { ...CALM, session_token: 'calm' });
    await decided(secretKey, {});
    await decided(other.secretKey, { ...CURL, session_token: 'c' });
    const rows = await candidates(secretKey);
    expect(rows.map((row) => [row['fingerprint_hash'], row['sessions']])).toEqual([
      [fingerprintOf('a'), 2],
      [fingerprintOf('b'), 1],
    ]);
    expect(rows[0]).toEqual({
      fingerprint_hash: fingerprintOf('a'),
      request_id: newest['request_id'],
      decision: newest['decision'],
      score: newest['score'],
      reasons: newest['reasons'],
      ip: CALM.ip,
      country: 'GB',
      event_type: 'login',
      occurred_at: expect.any(Number) as number,
      sessions: 2,
      list_action: null,
    });
  });

  test('candidates are searched by address, country or reason, ignoring case, and by decision', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    await decided(secretKey, { ...CURL, session_token: 'a', ip: '2.2.2.2' });
    const b = await decided(secretKey, { ...CURL, session_token: 'b' });
    const named = async (query: string): Promise<unknown[]> =>
      (await candidates(secretKey, query)).map((row) => (row['fingerprint_hash'] === fingerprintOf('a') ? 'a' : 'b'));
    expect(await named('?q=2.2.2')).toEqual(['a']);
    expect(await named('?q=Gb')).toEqual(['b']);
    expect(await named('?q=HTTP_LIBRARY')).toEqual(['b', 'a']);
    expect(await named('?q=curl')).toEqual([]);
    expect(await named(`?decision=${String(b['decision'])}`)).toEqual(['b', 'a']);
    expect(await named('?decision=BLOCK')).toEqual([]);
    expect(await named('?decision=ALLOW')).toEqual([]);
  });

  test('pages of candidates never show a fingerprint twice, whatever is decided meanwhile', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    for (let i = 0; i < 21; i++) await decided(secretKey, { ...CURL, session_token: `token ${i % 7}` });
    const seen: unknown[] = [];
    let path = '?limit=2';
    for (let page = 0; page < 4; page++) {
      const { json } = await bearer(server.url, secretKey, 'GET', `/v1/lists/candidates${path}`);
      seen.push(...(json['data'] as Row[]).map((row) => [row['fingerprint_hash'], row['sessions']]));
      expect(json['has_more']).toBe(page < 3);
      path = `?limit=2&cursor=${String(json['next_cursor'])}`;
      await decided(secretKey, { ...CURL, session_token: 'token 0' });
    }
    expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0].map((i) => [fingerprintOf(`token ${i}`), 3]));
  });

  test('candidates show their entry in the caller’s list, and what may be shown of the registry', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const token = `known ${transport}`;
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'));
    const file = join(folder, 'registry.ndjson');
    await writeFile(
      file,
      `${JSON.stringify({ fingerprint_hash: fingerprintOf(token), risk_score: 40, customers_seen: 5 })}\n`,
    );
    await gatehouse(server.dataDir, 'registry', 'import', file);
    await rm(folder, { recursive: true });
    await decided(secretKey, { ...CURL, session_token: token });
    const entry = { fingerprint_hash: fingerprintOf(token), action: 'watch' };
    expect((await call(server.url, secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
    const [row] = await candidates(secretKey);
    expect(row).toMatchObject({ list_action: 'watch', shared_registry: { risk_score: 40, customers_seen: 5 } });
    await call(server.url, secretKey, 'DELETE', `/v1/lists/${fingerprintOf(token)}`);
    expect((await candidates(secretKey))[0]).toMatchObject({ list_action: null });
  });
});
