import { beforeAll, describe, expect, test } from 'vitest';
import { CALM, decide, newCustomer, raw, send, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

/** 404, 405, 411, 413, 429 and 431 of the decide path. */
describe.each(TRANSPORTS)('limits of POST /v1/decide over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  const bodyOf = (bytes: number): string => {
    const start = JSON.stringify({ ...CALM, pad: '' }).slice(0, -2);
    return `${start}${'x'.repeat(bytes - start.length - 2)}"}`;
  };

  test('an unknown path is 404 as a problem document', async () => {
    const answer = await send(server.url, server.secretKey, { path: '/v1/decide/' });
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json).toMatchObject({ code: 'not_found', status: 404 });
    expect(answer.json['request_id']).toMatch(/^req_/);
  });

  test('another method is 405 with Allow and the rate-limit headers', async () => {
    const answer = await send(server.url, server.secretKey, { method: 'PUT' });
    expect(answer.status).toBe(405);
    expect(answer.headers['allow']).toBe('POST, OPTIONS');
    expect(answer.json['code']).toBe('method_not_allowed');
    expect(answer.headers['x-svc-rl-limit']).toBeDefined();
  });

  test('a chunked upload is 411', async () => {
    const answer = await raw(
      server.url,
      'POST /v1/decide HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    );
    expect(answer.statuses[0]).toBe(411);
    expect(answer.text).toContain('"code":"length_required"');
    expect(answer.closed).toBe(true);
  });

  test('a request with neither Content-Length nor Transfer-Encoding has an empty body', async () => {
    const answer = await raw(server.url, 'POST /v1/decide HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(answer.statuses).toEqual([401]);
  });

  test('a body is 413 from exactly 65,537 bytes', async () => {
    expect((await decide(server.url, server.secretKey, bodyOf(65_536))).status).toBe(200);
    const over = await decide(server.url, server.secretKey, bodyOf(65_537));
    expect(over.status).toBe(413);
    expect(over.json['code']).toBe('body_too_large');
    expect(over.headers['x-svc-rl-limit']).toBeDefined();
  });

  test('a huge body is 413 before any of it is read, and its connection is closed', async () => {
    const answer = await raw(server.url, 'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n');
    expect(answer.statuses).toEqual([413]);
    expect(answer.closed).toBe(true);
  });

  test('a header over 8 KiB is 431', async () => {
    const fits = await decide(server.url, server.secretKey, CALM, { headers: { 'x-pad': 'x'.repeat(7_000) } });
    expect(fits.status).toBe(200);
    const over = await decide(server.url, server.secretKey, CALM, { headers: { 'x-pad': 'x'.repeat(9_000) } });
    expect(over.status).toBe(431);
    expect(over.json['code']).toBe('headers_too_large');
    expect(
      (await decide(server.url, server.secretKey, CALM, { headers: { 'x-pad': 'x'.repeat(40_000) } })).status,
    ).toBe(431);
  });

  test('a long request target is 431', async () => {
    const answer = await decide(server.url, server.secretKey, CALM, { path: `/v1/decide?${'q'.repeat(9_000)}` });
    expect(answer.json['code']).toBe('headers_too_large');
  });

  test('a request beyond the rate limit is 429 with Retry-After, and its id may be sent again', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir, 5);
    // All requests must be in one window, so this waits for the end of the current one.
    const left = 60 - (Math.floor(Date.now() / 1000) % 60);
    if (left < 5) await new Promise((done) => setTimeout(done, left * 1_000));
    const allowed = [];
    for (let n = 0; n < 5; n++) allowed.push(await decide(server.url, secretKey));
    expect(allowed.map(({ headers }) => headers['x-svc-rl-remaining'])).toEqual(['4', '3', '2', '1', '0']);
    expect(allowed[0]?.headers).toMatchObject({
      'x-svc-rl-limit': '5',
      'ratelimit-policy': '"default";q=5;w=60',
    });
    const refused = await decide(server.url, secretKey, CALM, { requestId: 'again-later' });
    expect(refused.status).toBe(429);
    expect(refused.json['code']).toBe('rate_limited');
    const retryAfter = Number(refused.headers['retry-after']);
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(refused.json['retry_after']).toBe(retryAfter);
    expect(Number(refused.headers['x-svc-rl-reset']) % 60).toBe(0);
    // The rate limit is checked before the replay guard: the same id is still only rate-limited, not replayed.
    expect((await decide(server.url, secretKey, CALM, { requestId: 'again-later' })).json['code']).toBe('rate_limited');
  });
});
