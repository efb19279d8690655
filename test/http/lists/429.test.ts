import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { decide, newcomer, newCustomer, type Answer } from '../../support/requests.ts';
import { startServer, type RunningServer } from '../../support/server.ts';

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
    const agent = new Agent({ keepAlive: true });
    let sent = 0;
    const sender = async (): Promise<void> => {
      while (sent < 6_000) {
        sent++;
        await bearer(server.url, secretKey, 'GET', path, undefined, { agent });
      }
    };
    await Promise.all(Array.from({ length: 16 }, sender));
    agent.destroy();
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
