import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, UNSIGNED } from '../../support/manage.ts';
import { newCustomer, raw, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('lists answer 401 over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test.each([
    ['no credentials', { ...UNSIGNED }, 'missing_credentials'],
    ['another scheme', { ...UNSIGNED, authorization: 'Basic c2s6' }, 'missing_credentials'],
    ['an unknown key', { ...UNSIGNED, authorization: `Bearer sk_live_${'x'.repeat(38)}` }, 'unknown_key'],
    ['an unknown public key', { ...UNSIGNED, authorization: `Bearer pk_live_${'x'.repeat(38)}` }, 'unknown_key'],
    ['a wrong signature', { 'X-SVC-Sig': '0'.repeat(64) }, 'invalid_signature'],
    ['a malformed signature', { 'X-SVC-Sig': 'x' }, 'invalid_signature'],
    ['a signature without its timestamp', { 'X-SVC-Ts': null }, 'missing_credentials'],
  ])('a request with %s is 401, and names the authentication scheme', async (_name, headers, code) => {
    const answer = await call(server.url, server.secretKey, 'GET', '/v1/lists', undefined, { headers });
    expect(answer.json).toMatchObject({ status: 401, code });
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.headers['x-svc-rl-limit']).toBeDefined();
  });

  test('an unknown key is 401 before its body has arrived, and the connection is closed', async () => {
    const answer = await raw(
      server.url,
      `POST /v1/lists HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk_live_${'x'.repeat(38)}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{',
    );
    expect(answer.statuses).toEqual([401]);
    expect(answer.text).toContain('"code":"unknown_key"');
    expect(answer.closed).toBe(true);
  });

  test('a wrong signature is 401 even with a valid Bearer key: there is no fallback', async () => {
    const headers = { authorization: `Bearer ${server.secretKey}`, 'X-SVC-Sig': '0'.repeat(64) };
    const answer = await call(server.url, server.secretKey, 'GET', '/v1/lists', undefined, { headers });
    expect(answer.json['code']).toBe('invalid_signature');
  });

  test('a wrong signature with a public key is 401', async () => {
    const headers = { 'X-SVC-Sig': '0'.repeat(64) };
    const answer = await call(server.url, server.publicKey, 'GET', '/v1/lists', undefined, { headers });
    expect(answer.json['code']).toBe('invalid_signature');
  });

  test('a signature over another body, path or query is 401', async () => {
    const entry = { fingerprint_hash: 'a'.repeat(64), action: 'block' };
    const body = await call(server.url, server.secretKey, 'POST', '/v1/lists', entry, { signedBody: '{}' });
    const path = await call(server.url, server.secretKey, 'GET', '/v1/lists', undefined, { signedPath: '/v1/list' });
    const query = await call(server.url, server.secretKey, 'GET', '/v1/lists?limit=2', undefined, {
      signedPath: '/v1/lists?limit=1',
    });
    expect([body, path, query].map(({ json }) => json['code'])).toEqual(Array(3).fill('invalid_signature'));
    expect((await bearer(server.url, server.secretKey, 'GET', `/v1/lists/${'a'.repeat(64)}`)).status).toBe(404);
  });

  test("a timestamp that is off is 401, with the server's time", async () => {
    const now = Math.floor(Date.now() / 1000);
    const answer = await call(server.url, server.secretKey, 'GET', '/v1/lists', undefined, {
      timestampSeconds: now - 310,
    });
    expect(answer.json).toMatchObject({ code: 'timestamp_out_of_window', status: 401 });
    expect(Math.abs(Number(answer.json['server_time']) - now)).toBeLessThan(5);
  });

  test('a request id used before on any endpoint is 401', async () => {
    const requestId = 'used-once';
    const first = await call(server.url, server.secretKey, 'GET', '/v1/lists', undefined, { requestId });
    const second = await call(server.url, server.secretKey, 'GET', '/v1/lists?limit=5', undefined, { requestId });
    const decided = await call(server.url, server.secretKey, 'POST', '/v1/decide', {}, { requestId });
    expect([first.status, second.json['code'], decided.json['code']]).toEqual([
      200,
      'replayed_request',
      'replayed_request',
    ]);
  });

  test('replays do not use the allowance of the key', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const get = (requestId?: string) =>
      call(server.url, secretKey, 'GET', '/v1/lists', undefined, requestId === undefined ? {} : { requestId });
    const first = await get('again-and-again');
    for (let n = 0; n < 30; n++) expect((await get('again-and-again')).json['code']).toBe('replayed_request');
    const [before, after] = [first, await get()].map(({ headers }) => Number(headers['x-svc-rl-remaining']));
    expect(after).toBeGreaterThanOrEqual((before ?? 0) - 1);
  });
});
