import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { decide, newcomer, newCustomer, type Answer } from '../../support/requests.ts';
import { startServer, type RunningServer } from '../../support/server.ts';

/**
 * Sends `count` equal calls over several connections and returns the different statuses. Writes to sockets: a client of HTTP takes several
 * times the processor time.
 */
async function statusesOf(url: string, key: string, path: string, count: number): Promise<readonly number[]> {
  const { hostname, port } = new URL(url);
  const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const statuses = new Set<number>();
  let sent = 0;
  const sender = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      let text = '';
      const next = (): void => {
        text = '';
        if (sent++ < count) socket.write(request);
        else socket.end();
      };
      socket.setEncoding('latin1').on('data', (piece: string) => {
        text += piece;
        // Every response has a body of JSON.
        if (!text.endsWith('}')) return;
        statuses.add(Number(text.slice(9, 12)));
        next();
      });
      socket.on('close', () => (sent < count ? reject(new Error(`closed after ${text}`)) : resolve()));
      socket.on('error', reject);
      next();
    });
  await Promise.all(Array.from({ length: 16 }, sender));
  return [...statuses];
}

describe('lists answer 429', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer({ env: { GATEHOUSE_SIMULATED_TIME: '1' } });
  });
  afterAll(() => server.stop());

  test("list calls beyond 6,000 in a window are 429, independent of the key's decide calls", async () => {
    // The signed timestamps stand still, so that all calls are in one window.
    const timestampSeconds = Math.ceil(Date.now() / 60_000) * 60;
    expect((await decide(server.url, server.secretKey, newcomer(), { timestampSeconds })).status).toBe(200);
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const path = `/v1/lists/${'a'.repeat(64)}`;
    expect(await statusesOf(server.url, secretKey, path, 6_000)).toEqual([404]);
    const refused: Answer = await call(server.url, secretKey, 'GET', '/v1/lists', undefined, {
      requestId: 'again',
      timestampSeconds,
    });
    expect(refused.json).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(refused.headers).toMatchObject({ 'x-svc-rl-limit': '6000', 'x-svc-rl-remaining': '0' });
    const retryAfter = Number(refused.headers['retry-after']);
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(refused.json['retry_after']).toBe(retryAfter);
    expect((await decide(server.url, secretKey, newcomer(), { timestampSeconds })).status).toBe(200);
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/lists')).status).toBe(200);
  });
});
