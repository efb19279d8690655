import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Gatehouse } from '../../src/client/gatehouse.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { SHOPS, type Shop } from '../support/shops.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** Shops in front of a server that is killed, paused or slow: no visitor waits longer than `timeoutMs` allows. */

const TIMEOUT_MS = 400;
/** 50 ms of the promise, and what a busy machine adds. */
const SLACK_MS = 450;
const LOGINS = 30;

let server: RunningServer;
let proxy: TcpProxy;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  process.kill(server.pid, 'SIGCONT');
  await server.stop();
});

describe.each(Object.keys(SHOPS) as (keyof typeof SHOPS)[])('a shop with %s', (framework) => {
  let shop: Shop;
  let failures: string[];
  beforeAll(async () => {
    proxy = await startTcpProxy(Number(new URL(server.url).port));
  });
  afterAll(() => proxy.close());
  afterEach(() => shop.close());

  async function open(): Promise<void> {
    failures = [];
    const client = new Gatehouse({
      url: `http://127.0.0.1:${proxy.port}`,
      key: server.secretKey,
      timeoutMs: TIMEOUT_MS,
      onFailure: ({ call, failure }) => call === 'decide' && failures.push(failure),
    });
    shop = await SHOPS[framework](client, { trustProxy: ['loopback'], mode: 'enforce' });
    // The first request loads what the framework loads late.
    await login();
    failures.length = 0;
  }

  async function login(): Promise<readonly [status: number, tookMs: number]> {
    const began = performance.now();
    const response = await fetch(`${shop.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '81.2.69.160', 'accept-language': 'en' },
      body: JSON.stringify({ email: 'anna@example.com', password: 'right' }),
    });
    await response.text();
    return [response.status, performance.now() - began];
  }

  /** Logs in often, three at a time, and returns the time of each. */
  async function logins(): Promise<number[]> {
    const times: number[] = [];
    for (let i = 0; i < LOGINS; i += 3)
      for (const [status, tookMs] of await Promise.all([login(), login(), login()])) {
        expect(status).toBe(200);
        times.push(tookMs);
      }
    return times;
  }

  test.each<[string, string, () => void, () => void]>([
    ['paused', 'timeout', () => process.kill(server.pid, 'SIGSTOP'), () => process.kill(server.pid, 'SIGCONT')],
    ['5 s slow', 'timeout', () => proxy.set(5_000), () => proxy.set('open')],
    ['away', 'unreachable', () => proxy.set('cut'), () => proxy.set('open')],
  ])(
    'While the server is %s everybody is let in, in time, and after 20 failures nearly nobody waits',
    async (_name, failure, begin, end) => {
      await open();
      begin();
      try {
        const times = await logins();
        expect(Math.max(...times)).toBeLessThan(TIMEOUT_MS + SLACK_MS);
        expect(new Set(failures)).toEqual(new Set([failure]));
        expect(failures).toHaveLength(LOGINS);
        if (failure === 'timeout') expect(times.filter((ms) => ms >= TIMEOUT_MS - 20).length).toBeLessThan(25);
      } finally {
        end();
      }
      // The breaker asks again, and the first decision closes it.
      await expect
        .poll(
          async () => {
            failures.length = 0;
            await login();
            return failures;
          },
          { timeout: 30_000, interval: 50 },
        )
        .toEqual([]);
    },
  );
});

test('When the server is killed in the middle everybody is let in', async () => {
  const killed = await startServer();
  const { url, secretKey, pid } = killed;
  const client = new Gatehouse({ url, key: secretKey, timeoutMs: TIMEOUT_MS });
  const request = { event_type: 'login', session_token: 's1', ip: '81.2.69.160' };
  expect(await client.decide(request)).toMatchObject({ failedOpen: false });
  const results = Array.from({ length: 40 }, () => client.decide(request));
  process.kill(pid, 'SIGKILL');
  for (const result of await Promise.all(results)) expect(result.decision).toMatch(/^[A-Z_]+$/);
  const afterwards = await client.decide(request);
  expect(afterwards).toMatchObject({ failedOpen: true, decision: 'ALLOW' });
  // A busy machine may not refuse the connection in time.
  expect(['unreachable', 'timeout']).toContain('failure' in afterwards && afterwards.failure);
  await killed.stop();
});
