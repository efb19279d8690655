import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../support/manage.ts';
import { raw, type Answer, TRANSPORTS } from '../support/requests.ts';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';

/** Headers that differ between two responses, whatever the method. */
const OF_THE_MOMENT = ['date', 'x-svc-rl-remaining', 'ratelimit', 'x-svc-rl-reset', 'retry-after'];

function lasting({ headers }: Answer): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_MOMENT.includes(name)));
}

describe.each(TRANSPORTS)('HEAD over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test.each([
    ['/healthz', 200],
    ['/v1/lists', 200],
    ['/v1/lists?limit=x', 400],
    ['/v1/webhooks', 200],
    ['/v1/webhooks/deliveries', 200],
    ['/v1/decisions', 200],
    ['/v1/shadow-reviews', 200],
    ['/v1/audit', 200],
    ['/v1/models', 200],
    ['/v1/models/compare', 200],
    ['/v1/models/rows', 200],
    ['/v1/extractions', 200],
    ['/v1/sessions', 200],
    ['/v1/connectors', 200],
    ['/v1/connectors/feed', 200],
    ['/v1/connectors/none', 404],
    ['/nothing', 404],
  ])('HEAD %s is answered like GET, with %i and without the body', async (path, status) => {
    const get = await bearer(server.url, server.secretKey, 'GET', path);
    const head = await bearer(server.url, server.secretKey, 'HEAD', path);
    expect([get.status, head.status]).toEqual([status, status]);
    expect(head.text).toBe('');
    // The request id of a problem always has the same length.
    expect(lasting(head)).toEqual(lasting(get));
    expect(Number(head.headers['content-length'])).toBe(Buffer.byteLength(get.text));
  });

  test.each(['/readyz', '/metrics'])('HEAD %s has a Content-Length, though its text changes', async (path) => {
    const head = await bearer(server.url, server.secretKey, 'HEAD', path);
    expect([head.status, head.text]).toEqual([200, '']);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(100);
  });

  test('a HEAD request is signed with the method HEAD', async () => {
    expect((await call(server.url, server.secretKey, 'HEAD', '/v1/lists')).status).toBe(200);
    const wrong = await call(server.url, server.secretKey, 'HEAD', '/v1/lists', undefined, {
      headers: { 'X-SVC-Sig': '0'.repeat(64) },
    });
    expect([wrong.status, wrong.text]).toEqual([401, '']);
  });

  test('HEAD is rejected where there is no GET', async () => {
    const decide = await bearer(server.url, server.secretKey, 'HEAD', '/v1/decide');
    expect([decide.status, decide.headers['allow'], decide.text]).toEqual([405, 'POST, OPTIONS', '']);
    const lists = await bearer(server.url, server.secretKey, 'PUT', '/v1/lists');
    expect(lists.headers['allow']).toBe('GET, HEAD, POST, DELETE');
  });

  test('a HEAD response leaves no byte of a body on the connection, and the next response follows at once', async () => {
    const head = 'HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
    const none = 'HEAD /nothing HTTP/1.1\r\nHost: x\r\n\r\n';
    const last = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const answer = await raw(server.url, head + none + last);
    expect(answer.statuses).toEqual([200, 404, 200]);
    expect(answer.text.match(/\r\n\r\n(?!HTTP)[^]*$/)?.[0]).toBe('\r\n\r\n{"status":"ok"}');
  });

  test('the connection is closed after a HEAD request with an invalid header', async () => {
    const twice = 'Content-Type: a\r\nContent-Type: b\r\n';
    const answer = await raw(server.url, `HEAD /healthz HTTP/1.1\r\nHost: x\r\n${twice}\r\n`);
    expect([answer.statuses, answer.closed]).toEqual([[400], true]);
    expect(answer.text).toMatch(/\r\nContent-Length: [1-9]\d+\r\n/);
    expect(answer.text.endsWith('\r\n\r\n')).toBe(true);
  });
});
