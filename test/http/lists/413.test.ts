import { beforeAll, describe, expect, test } from 'vitest';
import { call, nthHash } from '../../support/manage.ts';
import { raw, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const MIB = 1_048_576;

describe.each(TRANSPORTS)('lists answer 413 over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  const bodyOf = (bytes: number): string => {
    const start = `{"fingerprint_hash":"${nthHash(1)}","action":"watch","pad":"`;
    return `${start}${'x'.repeat(bytes - start.length - 2)}"}`;
  };

  test('a list write is 413 from one byte over 1 MiB', async () => {
    const fits = await call(server.url, server.secretKey, 'POST', '/v1/lists', bodyOf(MIB));
    expect(fits.status).toBe(201);
    const over = await call(server.url, server.secretKey, 'POST', '/v1/lists', bodyOf(MIB + 1));
    expect(over.json).toMatchObject({ status: 413, code: 'body_too_large' });
    expect(over.headers['x-svc-rl-limit']).toBeDefined();
  });

  test('a body that is too large is 413 before it is read, and before the credentials are checked', async () => {
    const answer = await raw(server.url, `POST /v1/lists HTTP/1.1\r\nHost: x\r\nContent-Length: ${MIB + 1}\r\n\r\n`);
    expect([answer.statuses, answer.closed]).toEqual([[413], true]);
  });

  test('a body is 413 where none is allowed', async () => {
    for (const start of ['GET /v1/lists', `DELETE /v1/lists/${nthHash(1)}`]) {
      const answer = await raw(server.url, `${start} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
      expect([answer.statuses, answer.closed]).toEqual([[413], true]);
    }
    expect((await call(server.url, server.secretKey, 'GET', `/v1/lists/${nthHash(1)}`)).status).toBe(200);
  });
});
