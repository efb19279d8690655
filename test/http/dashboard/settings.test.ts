import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeCertificate } from '../../support/certificate.ts';
import { command } from '../../support/command-line.ts';
import { askAs, cookieOf, setCookieOf, signIn } from '../../support/dashboard.ts';
import { decide, gatehouse, newcomer, newCustomer, TRANSPORTS } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';

async function serve(env: Readonly<Record<string, string>>): Promise<RunningServer> {
  const server = await startServer({ env });
  onTestFinished(async () => void (await server.stop()));
  return server;
}

/** Not checked against the contract, which describes a port that serves everything. */
async function statusOf(url: string, path: string): Promise<number> {
  return (await fetch(`${url}${path}`)).status;
}

const CODE = /\/dashboard#code=([A-Za-z0-9_-]{43})\s/;

describe.each(TRANSPORTS)('the settings of the dashboard over %s', (transport) => {
  const base = { GATEHOUSE_TRANSPORT: transport };

  test('On a port of its own it is served there alone, and nothing else is', async () => {
    const server = await serve({ ...base, GATEHOUSE_DASHBOARD_PORT: '0', GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' });
    const url = /"dashboard_url":"([^"]+)"/.exec(server.stdout())?.[1] ?? '';
    expect(new URL(url).port).not.toBe(new URL(server.url).port);
    expect(server.stderr()).toContain(`  ${url}/dashboard#code=`);
    for (const path of ['/dashboard', '/dashboard/api/session', '/dashboard/api/v1/lists']) {
      expect([path, await statusOf(server.url, path)]).toEqual([path, 404]);
    }
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/v1/lists', '/', '/dashboardx']) {
      expect([path, await statusOf(url, path)]).toEqual([path, 404]);
    }
    const person = await signIn(url, { key: server.secretKey });
    expect((await person.call('GET', '/v1/lists')).status).toBe(200);
    expect((await person.ask('GET', '/dashboard/api/readyz')).status).toBe(200);
    // The address of the API is another origin.
    const foreign = await person.call('POST', '/v1/lists', {}, { origin: server.url, 'sec-fetch-site': 'same-site' });
    expect([foreign.status, foreign.json['code']]).toEqual([403, 'cross_site_request']);
    // Deliveries must not reach the service itself, although this machine is allowed.
    const webhook = await person.call('POST', '/v1/webhooks', { url: `${url}/`, event_types: ['BLOCK'] });
    expect([webhook.status, webhook.json['code']]).toEqual([422, 'blocked_url']);
    const stopping = server.stop('SIGTERM');
    expect(await stopping).toBe(0);
  });
});

/** What does not depend on the transport. */
describe('the settings of the dashboard', () => {
  test('With TLS the cookie is Secure', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { certFile, keyFile } = makeCertificate(folder);
    const server = await serve({ GATEHOUSE_TLS_CERT: certFile, GATEHOUSE_TLS_KEY: keyFile });
    const { port } = new URL(server.url);
    const body = JSON.stringify({ key: server.secretKey });
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      origin: `https://localhost:${port}`,
      'x-gatehouse': '1',
    };
    const cookie = await new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/dashboard/session',
        headers,
        rejectUnauthorized: false,
      };
      const req = request(options, (res) => resolve(res.resume().headers['set-cookie']?.[0]));
      req.on('error', reject).end(body);
    });
    expect(cookie).toMatch(/^__Host-gh=[\w-]{43}; HttpOnly; Secure; SameSite=Strict; Path=\/; Max-Age=43200$/);
  });

  test('Read only, every write is refused with a code of its own, and reading is not; sessions keep real time', async () => {
    const server = await serve({ GATEHOUSE_DASHBOARD_READ_ONLY: '1', GATEHOUSE_SIMULATED_TIME: '1' });
    // Traffic moves the simulated clock by days; a session outlives it.
    const person = await signIn(server.url, { key: server.secretKey });
    const timestampSeconds = Math.floor(Date.now() / 1000) + 3 * 86_400;
    expect((await decide(server.url, server.secretKey, newcomer(), { timestampSeconds })).status).toBe(200);
    const session = (await person.ask('GET', '/dashboard/api/session')).json;
    expect(session['read_only']).toBe(true);
    expect(Math.abs(Number(session['created_at']) - Date.now() / 1000)).toBeLessThan(60);
    const entry = { fingerprint_hash: 'ab'.repeat(32), action: 'block' };
    const writes = [
      person.call('POST', '/v1/lists', entry),
      person.call('DELETE', `/v1/lists/${entry.fingerprint_hash}`),
      person.call('PATCH', '/v1/webhooks/wh_1', {}),
      person.call('POST', '/v1/nothing', {}),
    ];
    for (const { status, json } of await Promise.all(writes))
      expect([status, json['code']]).toEqual([403, 'read_only']);
    expect((await person.call('GET', '/v1/lists')).json['data']).toEqual([]);
    // A simulation writes nothing.
    expect((await person.call('POST', '/v1/simulate', {})).json['code']).not.toBe('read_only');
    // Signing out is no write of the customer's data.
    expect((await person.ask('POST', '/dashboard/logout')).status).toBe(204);
  });

  test('Off, no path of it exists, and the first start prints no link', async () => {
    const server = await serve({ GATEHOUSE_DASHBOARD: 'off' });
    for (const path of ['/dashboard', '/dashboard/api/session', '/dashboard/api/v1/lists']) {
      expect([path, await statusOf(server.url, path)]).toEqual([path, 404]);
    }
    expect(server.stderr()).not.toContain('/dashboard');
    const { code, out } = await command(['--json', '--data-dir', server.dataDir, 'dashboard', 'link']);
    expect([code, JSON.parse(out)]).toMatchObject([1, { error: { code: 'dashboard_off' } }]);
  });

  test('The public URL alone decides origin, cookie and links', async () => {
    const server = await serve({ GATEHOUSE_PUBLIC_URL: 'https://gh.example/' });
    expect(server.stderr()).toContain('  https://gh.example/dashboard#code=');
    const headers = { origin: 'https://gh.example', 'sec-fetch-site': null, host: 'evil.example' };
    const answer = await askAs(server.url, '', 'POST', '/dashboard/session', { key: server.secretKey }, headers);
    expect(setCookieOf(answer)).toMatch(
      /^__Host-gh=[\w-]{43}; HttpOnly; Secure; SameSite=Strict; Path=\/; Max-Age=43200$/,
    );
    const cookie = cookieOf(answer);
    expect((await askAs(server.url, cookie, 'GET', '/dashboard/api/session')).json['secure']).toBe(true);
    const direct = await askAs(server.url, cookie, 'POST', '/dashboard/api/v1/lists', {}, { 'sec-fetch-site': null });
    expect([direct.status, direct.json['code']]).toEqual([403, 'cross_site_request']);
    // A cookie that a page on plain HTTP could have planted counts for nothing.
    const planted = cookie.replace('__Host-gh', 'gh_dev');
    expect((await askAs(server.url, planted, 'GET', '/dashboard/api/session')).status).toBe(401);
  });

  test('The link of the first start signs in once, and the command line makes others; a restart ends all sessions', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-link-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true }));
    const server = await startServer({ dataDir });
    onTestFinished(async () => void (await server.stop('SIGKILL')));
    const [, code = ''] = CODE.exec(server.stderr()) ?? [];
    const person = await signIn(server.url, { code });
    expect((await person.ask('GET', '/dashboard/api/session')).json).toMatchObject({
      name: 'demo',
      key_prefix: server.secretKey.slice(0, 12),
    });
    const again = await askAs(server.url, '', 'POST', '/dashboard/session', { code });
    expect([again.status, again.json['code']]).toEqual([401, 'invalid_code']);
    expect(server.stdout()).not.toContain(code);

    const made = await gatehouse(server.dataDir, 'dashboard', 'link');
    expect(made).toMatchObject({ key_prefix: server.secretKey.slice(0, 12), expires_at: expect.any(Number) as number });
    const [origin, next = ''] = String(made['url']).split('/dashboard#code=');
    expect(origin).toBe(server.url);
    await signIn(server.url, { code: next });

    const customer = await newCustomer(server.url, server.dataDir);
    const both = await command(['--json', '--data-dir', server.dataDir, 'dashboard', 'link']);
    expect([both.code, JSON.parse(both.out)]).toMatchObject([1, { error: { code: 'customer_required' } }]);
    const named = await gatehouse(server.dataDir, 'dashboard', 'link', '--customer', customer.customerId);
    const other = await signIn(server.url, { code: String(named['url']).split('code=')[1] ?? '' });
    expect((await other.ask('GET', '/dashboard/api/session')).json).toMatchObject({ customer_id: customer.customerId });

    // A key that is revoked takes its unused links along.
    const unused = await gatehouse(server.dataDir, 'dashboard', 'link', '--customer', customer.customerId);
    await gatehouse(server.dataDir, 'keys', 'revoke', '--yes', customer.secretKey);
    const revoked = { code: String(unused['url']).split('code=')[1] ?? '' };
    expect((await askAs(server.url, '', 'POST', '/dashboard/session', revoked)).json['code']).toBe('revoked_key');
    const none = await command([
      '--json',
      '--data-dir',
      server.dataDir,
      'dashboard',
      'link',
      '--customer',
      customer.customerId,
    ]);
    expect([none.code, JSON.parse(none.out)]).toMatchObject([1, { error: { code: 'no_key' } }]);
    const unknown = await command(['--json', '--data-dir', dataDir, 'dashboard', 'link', '--customer', 'cus_x']);
    expect(JSON.parse(unknown.out)).toMatchObject({ error: { code: 'unknown_customer' } });

    // Without a server the command line has no link.
    const { cookie } = await signIn(server.url, { key: server.secretKey });
    const { status, json } = await askAs(server.url, cookie, 'GET', '/dashboard/api/session');
    expect(status).toBe(200);
    await server.stop();
    const ofDemo = ['--json', '--data-dir', dataDir, 'dashboard', 'link', '--customer', String(json['customer_id'])];
    const stopped = await command(ofDemo);
    expect([stopped.code, JSON.parse(stopped.out)]).toMatchObject([1, { error: { code: 'no_server' } }]);
    const second = await startServer({ dataDir });
    onTestFinished(async () => void (await second.stop('SIGKILL')));
    expect((await askAs(second.url, cookie, 'GET', '/dashboard/api/session')).status).toBe(401);
    expect(second.stderr()).not.toContain('#code=');
  });
});
