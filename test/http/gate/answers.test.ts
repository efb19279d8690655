import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { gatehouse, TRANSPORTS } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';
const HONEST = '81.2.69.160';
const BLOCKED = '81.2.69.161';
const CHALLENGED = '81.2.69.162';

const POLICY = {
  gate: { paths: { 'POST /login': 'login' }, exempt: ['/hooks/*'], challenge_url: 'https://shop.example/challenge' },
  rules: [
    { code: 'own_challenged', when: `ip.address == "${CHALLENGED}"`, decision: 'SOFT_CHALLENGE', mode: 'enforce' },
    { code: 'own_held', when: 'event.type == "login"', decision: 'REVIEW', mode: 'enforce' },
  ],
};

interface Visit {
  readonly key?: string | null;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

describe.each(TRANSPORTS)('GET and POST /v1/gate over %s', (transport) => {
  let server: RunningServer;
  let folder: string;
  let gateKey: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-gate-'));
    const file = join(folder, 'policy.json');
    await writeFile(file, JSON.stringify(POLICY));
    server = await startServer({
      env: { GATEHOUSE_TRANSPORT: transport, GATEHOUSE_TRUSTED_PROXIES: '127.0.0.1', GATEHOUSE_POLICY_FILE: file },
    });
    const { customer_id: customerId } = (await bearer(server.url, server.secretKey, 'GET', '/v1/me')).json;
    const made = await gatehouse(server.dataDir, 'keys', 'create', '--customer', String(customerId), '--gate');
    gateKey = String(made['secret_key']);
    const entry = { kind: 'ip', value: BLOCKED, action: 'block', confirm: true };
    await bearer(server.url, server.secretKey, 'POST', '/v1/lists', entry);
  });

  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  /** Asks as a proxy does: with `address` as the visitor's. */
  async function visit(address: string, target: string, { key = gateKey, method = 'GET', headers = {} }: Visit = {}) {
    const response = await fetch(`${server.url}/v1/gate`, {
      method,
      redirect: 'manual',
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        'user-agent': BROWSER,
        accept: 'text/html',
        'accept-language': 'de',
        'x-forwarded-for': address,
        'x-forwarded-host': 'shop.example',
        'x-forwarded-proto': 'https',
        'x-forwarded-method': 'GET',
        'x-forwarded-uri': target,
        ...headers,
      },
    });
    return {
      status: response.status,
      decision: response.headers.get('x-gatehouse-decision'),
      failedOpen: response.headers.get('x-gatehouse-failed-open'),
      location: response.headers.get('location'),
      cookie: response.headers.get('set-cookie'),
      text: await response.text(),
    };
  }

  const decisions = async (query: string): Promise<readonly Record<string, unknown>[]> =>
    (await bearer(server.url, server.secretKey, 'GET', `/v1/decisions?${query}`)).json['data'] as Record<
      string,
      unknown
    >[];

  test('An honest visitor passes, with a cookie of its session', async () => {
    const first = await visit(HONEST, '/shoes?size=42');
    expect(first).toMatchObject({ status: 204, decision: 'ALLOW', failedOpen: null, text: '' });
    expect(first.cookie).toMatch(/^gh_gate=[\w-]{76}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Lax; Secure$/);
    const again = await visit(HONEST, '/hats', { headers: { cookie: `a=b; ${String(first.cookie).split(';')[0]}` } });
    expect(again).toMatchObject({ status: 204, decision: 'ALLOW', cookie: null });
    expect(await decisions('path=/shoes')).toMatchObject([{ event_type: 'gate', ip: HONEST }]);
    const [one, other] = await decisions('limit=2');
    expect(one?.['fingerprint_hash']).toBe(other?.['fingerprint_hash']);
  });

  test('A cookie counts for its network and the class of its agent alone', async () => {
    const { cookie } = await visit(HONEST, '/a');
    const own = { headers: { cookie: String(cookie).split(';')[0] ?? '' } };
    expect((await visit('81.2.69.99', '/a', own)).cookie).toBeNull();
    expect((await visit('81.2.70.99', '/a', own)).cookie).not.toBeNull();
    expect(
      (await visit(HONEST, '/a', { headers: { ...own.headers, 'user-agent': 'curl/8.5.0' } })).cookie,
    ).not.toBeNull();
    expect((await visit(HONEST, '/a', { headers: { cookie: `${own.headers.cookie}x` } })).cookie).not.toBeNull();
    expect((await visit(HONEST, '/a', { headers: { 'x-forwarded-proto': 'http' } })).cookie).not.toContain('Secure');
  });

  test('A blocked visitor is 403, a challenged one 401 with the address of the challenge, and REVIEW passes', async () => {
    expect(await visit(BLOCKED, '/shoes')).toMatchObject({ status: 403, decision: 'BLOCK', text: '' });
    expect(await visit(CHALLENGED, '/shoes')).toMatchObject({
      status: 401,
      decision: 'SOFT_CHALLENGE',
      location: 'https://shop.example/challenge',
    });
    const login = { headers: { 'x-forwarded-method': 'POST' } };
    expect(await visit(HONEST, '/login', login)).toMatchObject({ status: 204, decision: 'REVIEW' });
    expect(await visit(HONEST, '/%6cogin/?a', login)).toMatchObject({ decision: 'REVIEW' });
    expect((await visit(HONEST, '/login', { method: 'POST' })).decision).toBe('ALLOW');
  });

  test('Exempt paths and the page of the challenge are never held, and only as they are written', async () => {
    for (const path of ['/.well-known/acme-challenge/x', '/healthz', '/hooks/shop', '/robots.txt', '/challenge?next=/'])
      expect([path, await visit(BLOCKED, path)]).toMatchObject([
        path,
        { status: 204, decision: 'ALLOW', cookie: null },
      ]);
    for (const path of [
      '/hooks/../admin',
      '/hooks/%2e%2e/admin',
      '//healthz',
      '/hooks',
      '/Hooks/a',
      '/.well-known/..;/a',
    ])
      expect([path, (await visit(BLOCKED, path)).status]).toEqual([path, path === '/hooks' ? 204 : 403]);
  });

  test('Headers that contradict each other exempt nothing', async () => {
    const headers = { 'x-original-uri': '/admin' };
    expect((await visit(BLOCKED, '/healthz', { headers })).status).toBe(403);
  });

  test('No key, a wrong one, and every other key are 403 without a decision', async () => {
    for (const key of [null, `${gateKey}x`, server.secretKey, server.publicKey]) {
      const answer = await visit(HONEST, '/', { key });
      expect(answer).toMatchObject({ status: 403, decision: null, failedOpen: null, cookie: null });
      expect(JSON.parse(answer.text)).toMatchObject({ code: 'key_not_allowed' });
    }
    expect((await bearer(server.url, gateKey, 'GET', '/v1/me')).json['code']).toBe('key_not_allowed');
  });

  test('A limit lets the visitor through and says so', async () => {
    const { customer_id: customerId } = (await bearer(server.url, server.secretKey, 'GET', '/v1/me')).json;
    const words = ['--customer', String(customerId), '--gate', '--rate-limit', '1'];
    const { secret_key: key } = await gatehouse(server.dataDir, 'keys', 'create', ...words);
    const asked = [await visit(HONEST, '/', { key: String(key) }), await visit(HONEST, '/', { key: String(key) })];
    expect(asked.map(({ failedOpen }) => failedOpen)).toContain('rate_limited');
    expect(asked.map(({ status }) => status)).toEqual([204, 204]);
  });

  test('A malformed request is decided all the same, so that nobody passes by sending one', async () => {
    for (const headers of [{ 'x-long': 'a'.repeat(5_000) }, { 'content-type': 'text/plain', origin: 'é' }])
      expect((await visit(BLOCKED, '/shoes', { headers, method: 'POST' })).status).toBe(403);
  });

  test('The metrics count what became of visitors', async () => {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    for (const outcome of ['passed', 'blocked', 'challenged', 'exempt', 'failed_open'])
      expect(metrics).toMatch(new RegExp(`^gatehouse_gate_total\\{outcome="${outcome}"\\} [1-9]`, 'm'));
  });
});

test('Forwarded headers of a peer that is no trusted proxy change nothing', async () => {
  const server = await startServer();
  try {
    const { customer_id: customerId } = (await bearer(server.url, server.secretKey, 'GET', '/v1/me')).json;
    const made = await gatehouse(server.dataDir, 'keys', 'create', '--customer', String(customerId), '--gate');
    const entry = { kind: 'ip', value: BLOCKED, action: 'block', confirm: true };
    expect((await bearer(server.url, server.secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
    const headers = {
      authorization: `Bearer ${String(made['secret_key'])}`,
      'user-agent': BROWSER,
      'x-forwarded-for': BLOCKED,
      'x-forwarded-host': 'shop.example',
      'x-forwarded-uri': '/healthz',
    };
    const answer = await fetch(`${server.url}/v1/gate`, { headers });
    expect([answer.status, answer.headers.get('x-gatehouse-decision')]).toEqual([204, expect.any(String)]);
    const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/decisions');
    expect(json['data']).toMatchObject([{ ip: '127.0.0.1', event_type: 'gate' }]);
  } finally {
    await server.stop();
  }
});
