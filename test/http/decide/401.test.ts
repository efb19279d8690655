import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { CALM, decide, newCustomer, raw, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('POST /v1/decide, 401, over %s', (transport) => {
  let server: SharedServer;
  const now = (): number => Math.floor(Date.now() / 1000);
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  const codeOf = async (headers: Record<string, string | null>): Promise<unknown> => {
    const answer = await decide(server.url, server.secretKey, CALM, { headers });
    expect(answer.status).toBe(401);
    expect(answer.headers['x-svc-rl-limit']).toBeDefined();
    return answer.json['code'];
  };

  test.each(['X-SVC-Key', 'X-SVC-Ts', 'X-SVC-Rid'])('a request without %s is missing_credentials', async (name) => {
    expect(await codeOf({ [name]: null })).toBe('missing_credentials');
  });

  test.each([
    ['X-SVC-Ts', 'now'],
    ['X-SVC-Ts', '1234567890123'],
    ['X-SVC-Ts', '-1'],
    ['X-SVC-Ts', '1.5'],
    ['X-SVC-Rid', 'r'.repeat(129)],
    ['X-SVC-Rid', 'with space'],
    ['X-SVC-Key', ''],
  ])('a request with a malformed %s (%s) is missing_credentials', async (name, value) => {
    expect(await codeOf({ [name]: value })).toBe('missing_credentials');
  });

  test.each([null, '', '0', 'f'.repeat(63), 'f'.repeat(65), 'g'.repeat(64), '0'.repeat(64)])(
    'a request with the signature %s is invalid_signature',
    async (value) => {
      expect(await codeOf({ 'X-SVC-Sig': value })).toBe('invalid_signature');
    },
  );

  test('a request with an unknown key of either kind is unknown_key, with the rate limit of the source address', async () => {
    for (const kind of ['sk_live_', 'pk_live_']) {
      const answer = await decide(server.url, `${kind}${'A'.repeat(38)}`);
      expect(answer.status).toBe(401);
      expect(answer.json['code']).toBe('unknown_key');
      expect(answer.headers['x-svc-rl-limit']).toBe('6000');
    }
  });

  test('a wrong signature for a known key of either kind gets the rate limit of the source address, not of the key', async () => {
    for (const key of [server.secretKey, server.publicKey]) {
      const answer = await decide(server.url, key, CALM, { headers: { 'X-SVC-Sig': '0'.repeat(64) } });
      expect(answer.json['code']).toBe('invalid_signature');
      expect(answer.headers['x-svc-rl-limit']).toBe('6000');
    }
  });

  test('a request with another body, method, path, timestamp or id than the signed one is invalid_signature', async () => {
    const other = [
      decide(server.url, server.secretKey, CALM, { signedBody: '{}' }),
      decide(server.url, server.secretKey, CALM, { signedPath: '/v1/lists' }),
      decide(server.url, server.secretKey, CALM, { headers: { 'X-SVC-Ts': String(now() - 1) } }),
      decide(server.url, server.secretKey, CALM, { headers: { 'X-SVC-Rid': 'another' } }),
      decide(server.url, server.secretKey, CALM, { headers: { 'X-SVC-Key': server.publicKey } }),
    ];
    for (const answer of await Promise.all(other)) expect(answer.json['code']).toBe('invalid_signature');
  });

  test('the window of 300 s includes its ends', async () => {
    for (const [offset, expected] of [
      [-301, 401],
      [-299, 200],
      [299, 200],
      [302, 401],
    ] as const) {
      const answer = await decide(server.url, server.secretKey, CALM, { timestampSeconds: now() + offset });
      expect([offset, answer.status]).toEqual([offset, expected]);
      if (expected === 401) {
        expect(answer.json['code']).toBe('timestamp_out_of_window');
        expect(Math.abs(Number(answer.json['server_time']) - now())).toBeLessThanOrEqual(2);
      }
    }
  });

  test('a request id is accepted once per key', async () => {
    const requestId = randomUUID();
    const first = await decide(server.url, server.secretKey, CALM, { requestId });
    const again = await decide(server.url, server.secretKey, CALM, { requestId });
    const withAnotherTime = await decide(server.url, server.secretKey, CALM, {
      requestId,
      timestampSeconds: now() - 5,
    });
    const withAnotherKey = await decide(server.url, server.publicKey, CALM, { requestId });
    expect([first.status, again.status, withAnotherTime.status, withAnotherKey.status]).toEqual([200, 401, 401, 200]);
    expect(again.json['code']).toBe('replayed_request');
    expect(withAnotherTime.json['code']).toBe('replayed_request');
  });

  test('replays do not use the allowance of the key and count as failures of their source', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const requestId = randomUUID();
    const first = await decide(server.url, secretKey, CALM, { requestId });
    const copies = [];
    for (let n = 0; n < 30; n++) copies.push(await decide(server.url, secretKey, CALM, { requestId }));
    // The window of the source, which other tests use too.
    const left = copies.map(({ headers }) => Number(headers['x-svc-rl-remaining']));
    expect(new Set(left).size).toBeGreaterThan(25);
    expect(copies[0]?.headers['x-svc-rl-limit']).toBe('6000');
    const next = await decide(server.url, secretKey, CALM);
    const [before, after] = [first, next].map(({ headers }) => Number(headers['x-svc-rl-remaining']));
    expect(after).toBeGreaterThanOrEqual((before ?? 0) - 1);
  });

  test('exactly one of 40 concurrent copies of a request is accepted', async () => {
    const requestId = randomUUID();
    const copies = Array.from({ length: 40 }, () => decide(server.url, server.secretKey, CALM, { requestId }));
    const statuses = (await Promise.all(copies)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 401)).toHaveLength(39);
  });

  test('an invalid body is 401 with a wrong signature and 400 with a valid one', async () => {
    const bad = await decide(server.url, server.secretKey, '{', { headers: { 'X-SVC-Sig': '0'.repeat(64) } });
    expect(bad.status).toBe(401);
    expect((await decide(server.url, server.secretKey, '{')).status).toBe(400);
  });

  test('a repeated X-SVC header is rejected by the header validation', async () => {
    const head = `POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nX-SVC-Rid: a\r\nX-SVC-Rid: b\r\n\r\n`;
    const answer = await raw(server.url, head);
    expect(answer.statuses).toEqual([400]);
    expect(answer.closed).toBe(true);
  });

  test('a key created on the command line is valid with the next request, and a revoked one invalid', async () => {
    const { customerId, secretKey } = await newCustomer(server.url, server.dataDir);
    expect((await decide(server.url, secretKey)).status).toBe(200);
    const { gatehouse } = await import('../../support/requests.ts');
    await gatehouse(server.dataDir, 'keys', 'revoke', secretKey.slice(0, 12));
    expect((await decide(server.url, secretKey)).json['code']).toBe('unknown_key');
    for (let round = 0; round < 3; round++) {
      const made = await gatehouse(server.dataDir, 'keys', 'create', '--customer', customerId);
      expect((await decide(server.url, String(made['secret_key']))).status).toBe(200);
      await gatehouse(server.dataDir, 'keys', 'revoke', String(made['secret_key']));
      expect((await decide(server.url, String(made['secret_key']))).status).toBe(401);
    }
  });
});
