import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, fingerprintOf } from '../../support/manage.ts';
import { CALM, decide, newCustomer, TRANSPORTS, type Answer } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

type Row = Record<string, unknown>;

const CURL = { ...CALM, user_agent: 'curl/8.5.0' };

async function decided(url: string, key: string, body: unknown): Promise<Row> {
  const answer = await decide(url, key, body);
  if (answer.status !== 200) throw new Error(`decide answered ${answer.status}`);
  return answer.json;
}

function rowsOf(answer: Answer): Row[] {
  expect(answer.status).toBe(200);
  return answer.json['data'] as Row[];
}

describe.each(TRANSPORTS)('decisions answer 200 over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test('the id of a decision returns the decision, its subject and its reasons', async () => {
    const before = Math.floor(Date.now() / 1000);
    const answer = await decided(server.url, server.secretKey, { ...CURL, event_type: 'LOGIN' });
    const shown = await call(server.url, server.secretKey, 'GET', `/v1/decisions/${String(answer['request_id'])}`);
    expect(shown.status).toBe(200);
    expect(shown.json).toEqual({
      ...answer,
      fingerprint_hash: fingerprintOf(CALM.session_token),
      ip: CALM.ip,
      country: 'GB',
      event_type: 'login',
      occurred_at: expect.any(Number) as number,
      contributions: expect.any(Array) as unknown[],
      families: expect.any(Array) as unknown[],
      overridden_by: null,
      policy_version: 'default',
      bands: { ALLOW_WATCH: 30, SOFT_CHALLENGE: 50, REVIEW: null, BLOCK: 80 },
      signals: expect.objectContaining({ 'token:opaque': 1, 'agent:http_library': 1, 'ip:public': 1 }) as object,
      outcome: null,
      label: null,
      path: expect.any(String) as string,
      network: '81.2.69.0/24',
      agent: {
        browser: 'other',
        system: 'other',
        form: 'other',
        automation: 'http_library',
        claimed: null,
        verified: null,
        operator: null,
        purpose: null,
      },
      location: expect.any(Object) as object,
      links: expect.arrayContaining([{ kind: 'ip', id: CALM.ip }]) as unknown[],
    });
    expect(Object.keys(shown.json).slice(0, 9).sort()).toEqual(Object.keys(answer).sort());
    expect(shown.json['occurred_at']).toBeGreaterThanOrEqual(before);
    expect(shown.json['contributions']).toContainEqual({
      reason: 'device_http_library',
      family: 'client',
      weight: 0.62,
      evidence: expect.any(String) as string,
      counts: true,
      without: expect.any(Object) as object,
    });
  });

  test('a decision is explained: the steps of its families lead to its score, and each reason tells what it changed', async () => {
    const answer = await decided(server.url, server.secretKey, { ...CURL, event_type: 'payment' });
    const { json } = await call(server.url, server.secretKey, 'GET', `/v1/decisions/${String(answer['request_id'])}`);
    expect(json['bands']).toEqual({ ALLOW_WATCH: 30, SOFT_CHALLENGE: 45, REVIEW: 60, BLOCK: 80 });
    const families = json['families'] as { family: string; from: number; to: number }[];
    expect([families[0]?.family, families[0]?.from, families.at(-1)?.to]).toEqual(['client', 0, answer['score']]);
    expect(families.slice(1).map(({ from }) => from)).toEqual(families.slice(0, -1).map(({ to }) => to));
    const contributions = json['contributions'] as { reason: string; without: { score: number; decision: string } }[];
    const curl = contributions.find(({ reason }) => reason === 'device_http_library');
    expect([answer['decision'], curl?.without.decision]).toEqual(['REVIEW', 'ALLOW']);
    expect(curl?.without.score).toBeLessThan(30);
  });

  test('an entry of the list that made a decision is named, and the decision without it is that of the rules', async () => {
    const body = { ...CALM, session_token: `listed-${transport}` };
    const entry = { fingerprint_hash: fingerprintOf(body.session_token), action: 'block' };
    expect((await call(server.url, server.secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
    const { request_id: id } = await decided(server.url, server.secretKey, body);
    const { json } = await call(server.url, server.secretKey, 'GET', `/v1/decisions/${String(id)}`);
    expect(json).toMatchObject({ decision: 'BLOCK', score: 100, overridden_by: 'list_block' });
    const listed = (json['contributions'] as Row[]).find(({ reason }) => reason === 'list_block');
    expect(listed?.['without']).toMatchObject({ decision: 'ALLOW' });
  });

  test('decisions are found by the beginning of their path, and by no domain while identities are hashed', async () => {
    const url = `https://shop.example/path-${transport}/pay?card=1`;
    const body = { ...CALM, url, entity_keys: { email: 'anna@domain.example' } };
    const { request_id: id } = await decided(server.url, server.secretKey, body);
    const found = async (query: string): Promise<unknown[]> =>
      rowsOf(await call(server.url, server.secretKey, 'GET', `/v1/decisions?${query}`)).map((row) => row['request_id']);
    expect(await found(`path=/path-${transport}`)).toEqual([id]);
    expect(await found(`path=/path-${transport}/pay&asn=64496`)).toEqual([]);
    expect(await found('path=/pay')).toEqual([]);
    expect(await found('email_domain=domain.example')).toEqual([]);
  });

  test('a page of decisions does not explain them', async () => {
    await decided(server.url, server.secretKey, CURL);
    const [row] = rowsOf(await call(server.url, server.secretKey, 'GET', '/v1/decisions?limit=1'));
    expect(row).not.toHaveProperty('families');
    expect(row?.['contributions']).not.toContainEqual(
      expect.objectContaining({ counts: expect.any(Boolean) as boolean }),
    );
  });

  test('a decision without a session token is returned', async () => {
    const answer = await decided(server.url, server.secretKey, {});
    const shown = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions/${String(answer['request_id'])}`);
    expect(shown.json).toMatchObject({
      ...answer,
      decision: 'SOFT_CHALLENGE',
      session_mode: 'no_session',
      fingerprint_hash: null,
      ip: null,
      country: null,
      contributions: [{ reason: 'missing_session_token', family: 'token', weight: 0.5, evidence: 'no session token' }],
    });
  });

  test('a decision can be read as soon as it was answered, every time', async () => {
    for (let i = 0; i < 100; i++) {
      const { request_id: id } = await decided(server.url, server.secretKey, CALM);
      const path = i % 2 === 0 ? `/v1/decisions/${String(id)}` : '/v1/decisions?limit=1';
      const { status, json } = await bearer(server.url, server.secretKey, 'GET', path);
      expect(status).toBe(200);
      expect(i % 2 === 0 ? json['request_id'] : (json['data'] as Row[])[0]?.['request_id']).toBe(id);
    }
  });

  test('the list returns decisions newest first, in pages without gaps, with filters and a search text', async () => {
    const { secretKey, publicKey } = await newCustomer(server.url, server.dataDir);
    const ids: { id: unknown; decision: unknown; ip: string }[] = [];
    for (let i = 0; i < 12; i++) {
      const ip = i % 4 === 0 ? '2.2.2.2' : CALM.ip;
      const body = { ...(i % 3 === 0 ? CURL : CALM), ip, session_token: `session ${i}` };
      const { request_id: id, decision } = await decided(server.url, i % 2 === 0 ? secretKey : publicKey, body);
      ids.unshift({ id, decision, ip });
    }
    const all = await bearer(server.url, secretKey, 'GET', '/v1/decisions');
    expect(rowsOf(all).map((row) => row['request_id'])).toEqual(ids.map(({ id }) => id));
    expect(all.json).toMatchObject({ has_more: false, next_cursor: null });

    const paged: unknown[] = [];
    let path = '/v1/decisions?limit=5';
    for (let page = 0; page < 3; page++) {
      const answer = await call(server.url, secretKey, 'GET', path);
      paged.push(...rowsOf(answer).map((row) => row['request_id']));
      expect(answer.json['has_more']).toBe(page < 2);
      path = `/v1/decisions?limit=5&cursor=${String(answer.json['next_cursor'])}`;
    }
    expect(paged).toEqual(ids.map(({ id }) => id));

    const searched = async (query: string): Promise<unknown[]> =>
      rowsOf(await bearer(server.url, secretKey, 'GET', `/v1/decisions?${query}`)).map((row) => row['request_id']);
    const where = (isWanted: (row: (typeof ids)[number]) => boolean): unknown[] =>
      ids.filter(isWanted).map(({ id }) => id);
    expect(await searched('decision=ALLOW')).toEqual(where(({ decision }) => decision === 'ALLOW'));
    expect(await searched('decision=REVIEW')).toEqual(where(({ decision }) => decision === 'REVIEW'));
    expect(await searched('q=2.2.2')).toEqual(where(({ ip }) => ip === '2.2.2.2'));
    expect(await searched('q=gb')).toEqual(where(({ ip }) => ip === CALM.ip));
    expect(await searched('q=HTTP_Lib')).toEqual(where(({ decision }) => decision !== 'ALLOW'));
    expect(await searched('q=HTTP_Lib&decision=ALLOW')).toEqual([]);
    expect(await searched('q=')).toHaveLength(12);
  });

  test("a decision shows the customer's label", async () => {
    const { request_id: id } = await decided(server.url, server.secretKey, CALM);
    await call(server.url, server.secretKey, 'POST', '/v1/labels', { request_id: id, label: 'fraud' });
    const shown = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions/${String(id)}`);
    expect(shown.json['label']).toBe('fraud');
    const listed = await bearer(server.url, server.secretKey, 'GET', '/v1/decisions?limit=1');
    expect(rowsOf(listed)[0]).toMatchObject({ request_id: id, label: 'fraud' });
  });

  test('a decision shows nothing of the registry if the customer’s list allows the fingerprint', async () => {
    const token = 'an allowed session';
    const hash = fingerprintOf(token);
    await call(server.url, server.secretKey, 'POST', '/v1/lists', { fingerprint_hash: hash, action: 'allow' });
    const answer = await decided(server.url, server.secretKey, { ...CURL, session_token: token });
    const shown = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions/${String(answer['request_id'])}`);
    expect(shown.json).toMatchObject({ ...answer, decision: 'ALLOW', review_hint: '' });
  });
});
