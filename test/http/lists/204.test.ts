import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, nthHash } from '../../support/manage.ts';
import { raw, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('DELETE of a list entry answers 204 over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  const add = async (n: number): Promise<void> => {
    const entry = { fingerprint_hash: nthHash(n), action: 'block' };
    expect((await call(server.url, server.secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
  };

  test('DELETE of a list entry is 204 once, with either letter case and either kind of credentials, then 404', async () => {
    await add(10);
    expect((await call(server.url, server.secretKey, 'DELETE', `/v1/lists/${nthHash(10).toUpperCase()}`)).status).toBe(
      204,
    );
    expect((await call(server.url, server.secretKey, 'DELETE', `/v1/lists/${nthHash(10)}`)).status).toBe(404);
    await add(11);
    expect((await bearer(server.url, server.secretKey, 'DELETE', `/v1/lists/${nthHash(11)}`)).status).toBe(204);
  });

  test('the 204 response has neither content type nor length, but the rate-limit headers', async () => {
    await add(12);
    const { headers, text } = await bearer(server.url, server.secretKey, 'DELETE', `/v1/lists/${nthHash(12)}`);
    expect(text).toBe('');
    expect(headers['content-type']).toBeUndefined();
    expect(headers['content-length']).toBeUndefined();
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-svc-rl-limit': '6000' });
  });

  test('the connection continues with the next request after a 204', async () => {
    await add(13);
    const head = `Host: x\r\nAuthorization: Bearer ${server.secretKey}\r\n\r\n`;
    const first = `DELETE /v1/lists/${nthHash(13)} HTTP/1.1\r\n${head}`;
    const kept = await raw(server.url, first);
    expect([kept.statuses, kept.closed]).toEqual([[204], false]);
    for (let n = 20; n < 40; n++) {
      await add(n);
      expect((await bearer(server.url, server.secretKey, 'DELETE', `/v1/lists/${nthHash(n)}`)).status).toBe(204);
    }
  });
});
