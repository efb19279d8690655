import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, fingerprintOf, nthHash } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

type Json = Record<string, unknown>;

const CURL = { ...CALM, user_agent: 'curl/8.5.0' };
const KNOWN = fingerprintOf('used-token');

const USED = { sessions_24h: 1, identities_24h: 2, flagged_24h: 3 };
const UNUSED = { sessions_24h: 0, identities_24h: 0, flagged_24h: 0 };

describe('the use of fingerprints, and batches that are tried', () => {
  let server: SharedServer;
  const get = async (path: string): Promise<Json[]> => {
    const { status, json } = await bearer(server.url, server.secretKey, 'GET', path);
    expect(status).toBe(200);
    return json['data'] as Json[];
  };
  const batch = (entries: readonly object[], query = ''): Promise<{ status: number; json: Json }> =>
    call(server.url, server.secretKey, 'POST', `/v1/lists/batch${query}`, { entries });

  beforeAll(async () => {
    server = await sharedServer();
    for (const [email, ip] of [
      ['ann', '198.51.100.1'],
      ['bob', '198.51.100.2'],
      ['bob', '203.0.113.1'],
    ] as const) {
      const body = {
        ...CURL,
        ip,
        session_token: 'used-token',
        entity_keys: { user_id: email, email: `${email}@mail.example` },
      };
      const { status } = await decide(server.url, server.secretKey, body);
      if (status !== 200) throw new Error(`decide answered ${status}`);
    }
    await batch([
      { fingerprint_hash: KNOWN, action: 'watch', note: 'seen' },
      { fingerprint_hash: nthHash(7), action: 'block' },
    ]);
  });

  const used = {
    decisions: 3,
    sessions: 1,
    identities: 2,
    addresses: 3,
    networks: 2,
    last_seen: expect.any(Number) as number,
    is_truncated: false,
  };

  test('An entry shows what its fingerprint did in 24 hours, and an entry that never hits shows nothing', async () => {
    const rows = await get('/v1/lists?usage=true');
    expect(rows.find((row) => row['fingerprint_hash'] === KNOWN)?.['day']).toEqual(used);
    expect(rows.find((row) => row['fingerprint_hash'] === nthHash(7))?.['day']).toMatchObject({
      decisions: 0,
      last_seen: null,
    });
    expect((await get('/v1/lists'))[0]).not.toHaveProperty('day');
  });

  test('A candidate shows how many sessions and people an entry would concern', async () => {
    expect(await get('/v1/lists/candidates?usage=true')).toMatchObject([{ fingerprint_hash: KNOWN, day: used }]);
  });

  test('A page with uses has at most 100 rows, and the next one follows', async () => {
    const many = Array.from({ length: 110 }, (_none, n) => ({ fingerprint_hash: nthHash(1_000 + n), action: 'watch' }));
    expect((await batch(many)).status).toBe(200);
    const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/lists?usage=true&limit=1000');
    expect((json['data'] as Json[]).length).toBe(100);
    const next = await get(`/v1/lists?usage=true&cursor=${String(json['next_cursor'])}`);
    expect(next).toHaveLength(12);
  });

  test('A dry run tells what each entry would do and writes nothing', async () => {
    const before = await get('/v1/lists');
    const { status, json } = await batch(
      [
        { fingerprint_hash: KNOWN.toUpperCase(), action: 'block' },
        { fingerprint_hash: KNOWN, action: 'block' },
        { fingerprint_hash: nthHash(7), action: 'block' },
        { fingerprint_hash: nthHash(8), action: 'allow' },
        { fingerprint_hash: 'no hash', action: 'allow' },
      ],
      '?dry_run=true',
    );
    expect(status).toBe(200);
    expect(json).toEqual({
      dry_run: true,
      results: [
        { fingerprint_hash: KNOWN, status: 200, change: 'replaced', before: 'watch', usage: USED },
        { fingerprint_hash: KNOWN, status: 200, change: 'unchanged', before: 'block', usage: USED },
        { fingerprint_hash: nthHash(7), status: 200, change: 'unchanged', before: 'block', usage: UNUSED },
        { fingerprint_hash: nthHash(8), status: 201, change: 'created', before: null, usage: UNUSED },
        { fingerprint_hash: 'no hash', status: 422, code: 'validation_failed', errors: expect.any(Array) as unknown[] },
      ],
    });
    expect(await get('/v1/lists')).toEqual(before);
    const audit = await get('/v1/audit?kind=list.batch');
    await batch([{ fingerprint_hash: nthHash(9), action: 'block' }], '?dry_run=true');
    expect(await get('/v1/audit?kind=list.batch')).toEqual(audit);
  });

  test.each(['?dry_run=maybe', '?dry_run=1'])('POST /v1/lists/batch%s is 400', async (query) => {
    const { status, json } = await batch([{ fingerprint_hash: KNOWN, action: 'block' }], query);
    expect([status, json['errors']]).toEqual([400, [expect.objectContaining({ pointer: '?dry_run' })]]);
  });
});
