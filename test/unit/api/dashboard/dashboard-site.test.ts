import { describe, expect, onTestFinished, test } from 'vitest';
import { DashboardAccess } from '../../../../src/api/dashboard/dashboard-access.ts';
import { createDashboard } from '../../../../src/api/dashboard/dashboard-site.ts';
import type { SignInParts } from '../../../../src/api/dashboard/sign-in-handlers.ts';
import { DashboardSessions } from '../../../../src/auth/dashboard-sessions.ts';
import { KeyCache } from '../../../../src/auth/key-cache.ts';
import { sessionCookie } from '../../../../src/auth/session-cookie.ts';
import { SignInCodes } from '../../../../src/auth/sign-in-codes.ts';
import { createSiteGuard } from '../../../../src/auth/site-guard.ts';
import { FailedAuthentications } from '../../../../src/decide/failed-authentications.ts';
import type { Exchange, RequestHead } from '../../../../src/http/exchange.ts';
import type { SecretHandlers } from '../../../../src/http/handlers.ts';
import { sendJson } from '../../../../src/http/reply.ts';
import { DASHBOARD_SESSION_MS, RATE_FAILED_AUTHENTICATIONS, SIGN_IN_CODE_MS } from '../../../../src/kernel/limits.ts';
import { listen } from '../../../../src/http/listen.ts';
import { TrustedProxies } from '../../../../src/http/trusted-proxies.ts';
import { createLog } from '../../../../src/observe/log.ts';
import { storedKey } from '../../decide/support.ts';

const KEY = `sk_live_${'A'.repeat(38)}`;
const STORED = storedKey(KEY);

interface Site {
  readonly url: string;
  readonly clock: { nowMs: number };
  readonly codes: SignInCodes;
  readonly sessions: DashboardSessions;
  ask(method: string, path: string, cookie?: string, body?: unknown): Promise<Response>;
}

/** A dashboard behind a real transport, with a clock of the test and one endpoint. */
async function serve(transport: 'uws' | 'node'): Promise<Site> {
  const clock = { nowMs: 1_790_000_000_000 };
  const keyCache = new KeyCache();
  keyCache.load([STORED]);
  const sessions = new DashboardSessions();
  const codes = new SignInCodes();
  const cookie = sessionCookie(false);
  const guard = createSiteGuard({ publicOrigin: 'http://localhost:1', host: '127.0.0.1', port: 1, isTls: false });
  const nowMs = (): number => clock.nowMs;
  const access = new DashboardAccess({
    guard,
    sessions,
    cookie,
    keyCache,
    failures: new FailedAuthentications(),
    nowSeconds: () => Math.floor(clock.nowMs / 1000),
    nowMs,
    onRefused: () => {},
  });
  const store = {
    apiKeys: { find: () => null },
    customers: { find: () => null },
    resetRead: () => {},
  } as unknown as SignInParts['store'];
  const dashboard = createDashboard({
    access,
    sessions,
    codes,
    cookie,
    keyCache,
    store,
    nowMs,
    isReadOnly: false,
    isSecure: false,
    log: createLog('silent'),
    pages: (_head, exchange) => sendJson(exchange, 200, 'a page'),
    handlers: {
      decide: (_head: RequestHead, exchange: Exchange) => sendJson(exchange, 200, 'decided'),
      metrics: (_head: RequestHead, exchange: Exchange) => sendJson(exchange, 200, 'metrics'),
      listEntries: (head: RequestHead, exchange: Exchange) =>
        sendJson(exchange, 200, [head.session?.keyHash, head.authorization, head.path]),
    } as unknown as SecretHandlers,
    readiness: (_head, exchange) => sendJson(exchange, 200, {}),
    refusalFields: () => '',
    onRefused: () => {},
  });
  const listening = await listen(transport, {
    host: '127.0.0.1',
    port: 0,
    tls: null,
    trustedProxies: new TrustedProxies([]),
    onRequest: dashboard,
    onCrash: (error) => {
      throw error;
    },
  });
  if (listening.kind !== 'listening') throw new Error('cannot listen');
  onTestFinished(() => listening.transport.drain());
  const url = `http://127.0.0.1:${listening.transport.port}`;
  const own = { 'content-type': 'application/json', origin: 'http://localhost:1', 'x-gatehouse': '1' };
  return {
    url,
    clock,
    codes,
    sessions,
    ask: (method, path, sent = '', body) =>
      fetch(`${url}${path}`, {
        method,
        headers: { ...own, ...(sent !== '' && { cookie: sent }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  };
}

async function signedIn(site: Site): Promise<string> {
  const { status, headers } = await site.ask('POST', '/dashboard/session', '', { key: KEY });
  expect(status).toBe(204);
  return headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

describe.each(['uws', 'node'] as const)('the dashboard over %s', (transport) => {
  test('A session ends twelve hours after it began', async () => {
    const site = await serve(transport);
    const cookie = await signedIn(site);
    const status = async (): Promise<number> => (await site.ask('GET', '/dashboard/api/v1/lists', cookie)).status;
    site.clock.nowMs += DASHBOARD_SESSION_MS - 1;
    expect(await status()).toBe(200);
    site.clock.nowMs += 1;
    expect(await status()).toBe(401);
    expect(site.sessions.size).toBe(0);
  });

  test('A sign-in code ends after ten minutes', async () => {
    const site = await serve(transport);
    const { text: code } = site.codes.issue(STORED.hash, site.clock.nowMs);
    site.clock.nowMs += SIGN_IN_CODE_MS;
    const { status } = await site.ask('POST', '/dashboard/session', '', { code });
    expect(status).toBe(401);
  });

  test('The handler of a call gets the session and no other credentials', async () => {
    const site = await serve(transport);
    const cookie = await signedIn(site);
    const headers = { cookie, authorization: 'Bearer another', 'x-svc-key': 'another' };
    const response = await fetch(`${site.url}/dashboard/api/v1/lists`, { headers });
    expect(await response.json()).toEqual([STORED.hash, '', '/v1/lists']);
  });

  test('A session reaches neither signed calls nor those of operators, even if their handlers are given', async () => {
    const site = await serve(transport);
    const cookie = await signedIn(site);
    const answers = [
      site.ask('POST', '/dashboard/api/v1/decide', cookie, {}),
      site.ask('GET', '/dashboard/api/metrics', cookie),
    ];
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 404]);
  });

  test('Two cookies of the same name in two headers name no session', async () => {
    const site = await serve(transport);
    const cookie = await signedIn(site);
    const response = await site.ask('GET', '/dashboard/api/session', `gh_dev=x; ${cookie}`);
    expect(response.status).toBe(401);
  });
});

test('Guessing is limited for each address, together with other failed authentications, and keeps no memory', async () => {
  const site = await serve('uws');
  const codesSeen = new Set<string>();
  const round = async (n: number): Promise<void> => {
    const sent = n % 2 === 0 ? { code: `guess-${n}` } : { key: `sk_live_${n}` };
    const response = await site.ask('POST', '/dashboard/session', '', sent);
    codesSeen.add(`${response.status} ${((await response.json()) as { code: string }).code}`);
  };
  for (let n = 0; n < RATE_FAILED_AUTHENTICATIONS; n += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, at) => round(n + at)));
  }
  expect([...codesSeen].sort()).toEqual(['401 invalid_code', '401 unknown_key']);
  const limited = await site.ask('POST', '/dashboard/session', '', { key: 'sk_live_x' });
  expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true]);
  const guessed = await site.ask('GET', '/dashboard/api/session', `gh_dev=${'a'.repeat(43)}`);
  expect(guessed.status).toBe(429);
  expect(site.sessions.size).toBe(0);
  // A valid key and a valid session still work.
  expect((await site.ask('GET', '/dashboard/api/session', await signedIn(site))).status).toBe(200);
});
