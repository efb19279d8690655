import { beforeAll, describe, expect, test } from 'vitest';
import { ENDPOINTS } from '../../../src/contract/endpoints.ts';
import { askAs, type Person, signIn } from '../../support/dashboard.ts';
import { bearer, fingerprintOf, UNSIGNED } from '../../support/manage.ts';
import { type Answer, decide, get, newcomer, newCustomer, send, TRANSPORTS } from '../../support/requests.ts';
import { eventually } from '../../support/webhooks.ts';
import { type SharedServer, sharedServer } from '../../support/shared-server.ts';

const SECRET = Object.entries(ENDPOINTS).filter(([, { access }]) => access === 'secret');
const WITH_KEY = Object.entries(ENDPOINTS).filter(
  ([, { access }]) => access === 'secret' || access === 'public_or_secret',
);
const HASH = 'ab'.repeat(32);
/** Fixed periods: the default ends at the current second, which may change between two calls. */
const QUERIES: Readonly<Record<string, string>> = {
  findLinks: '?kind=ip&value=86.1.1.1',
  readStats: '?from=0&to=3600',
  readRuleCounts: '?from=0&to=3600',
  readTop: '?by=ip&from=0&to=3600',
};

/** Returns the body without what differs from call to call: the request id, the time, and how often the key was used. */
function withoutCounts({ text }: Answer): unknown {
  const changing = new Set(['request_id', 'server_time', 'usage']);
  return JSON.parse(text, (name, value: unknown) => (changing.has(name) ? null : value));
}

function pathOf(path: string): string {
  return path.replaceAll(/\{\w+\}/g, HASH);
}

describe.each(TRANSPORTS)('/dashboard/api over %s', (transport) => {
  let server: SharedServer;
  let person: Person;
  beforeAll(async () => {
    server = await sharedServer(transport);
    person = await signIn(server.url, { key: server.secretKey });
  });

  test.each(WITH_KEY)('%s of /v1 never reads the cookie', async (_id, { method, path }) => {
    const headers = { ...UNSIGNED, cookie: person.cookie, 'x-gatehouse': '1', origin: server.url };
    const { status, json } = await send(server.url, 'none', { method, path: pathOf(path), headers });
    expect([status, json['code']]).toEqual([401, 'missing_credentials']);
  });

  test.each(SECRET)(
    '%s needs the cookie under /dashboard/api, whatever other credentials come',
    async (_id, endpoint) => {
      const path = `/dashboard/api${pathOf(endpoint.path)}`;
      const headers = { 'x-gatehouse': '1', origin: server.url };
      const signed = await send(server.url, server.secretKey, { method: endpoint.method, path, headers });
      const withKey = { ...UNSIGNED, ...headers, authorization: `Bearer ${server.secretKey}` };
      const bearing = await send(server.url, 'none', { method: endpoint.method, path, headers: withKey });
      for (const { status, json } of [signed, bearing])
        expect([status, json['code']]).toEqual([401, 'session_required']);
    },
  );

  test.each(SECRET.filter(([, { method }]) => method === 'GET'))(
    '%s gives the session what it gives its key',
    async (id, { path }) => {
      const query = QUERIES[id] ?? '';
      const target = `${pathOf(path)}${query}`;
      const [byCookie, byKey] = [
        await person.call('GET', target),
        await bearer(server.url, server.secretKey, 'GET', target),
      ];
      expect(byCookie.status).toBe(byKey.status);
      expect(withoutCounts(byCookie)).toEqual(withoutCounts(byKey));
      expect(byCookie.headers['x-svc-rl-limit']).toBe(byKey.headers['x-svc-rl-limit']);
      expect((await person.call('HEAD', target)).status).toBe(byKey.status);
    },
  );

  test('A cookie that names no session is 401, on every path', async () => {
    for (const path of [
      '/dashboard/api',
      '/dashboard/api/',
      '/dashboard/api/v1/lists',
      '/dashboard/api/nothing',
      '/dashboard/api/readyz',
    ]) {
      for (const cookie of ['', `gh_dev=${'a'.repeat(43)}`, `__Host-gh=${person.cookie.split('=')[1]}`]) {
        const { status, json } = await askAs(server.url, cookie, 'GET', path);
        expect([path, status, json['code']]).toEqual([path, 401, 'session_required']);
      }
    }
  });

  test('Calls that are signed, and those of operators, cannot be reached', async () => {
    for (const path of [
      '/v1/decide',
      '/healthz',
      '/metrics',
      '/openapi.json',
      '/dashboard/api/v1/lists',
      '/v1',
      '/v1/nothing',
      '',
    ]) {
      const { status, json } = await person.call(path === '/v1/decide' ? 'POST' : 'GET', path, undefined);
      expect([path, status, json['code']]).toEqual([path, 404, 'not_found']);
    }
  });

  test('The readiness response is that of /readyz', async () => {
    const [through, direct] = [await person.ask('GET', '/dashboard/api/readyz'), await get(server.url, '/readyz')];
    expect(through.status).toBe(direct.status);
    expect(Object.keys(through.json)).toEqual(Object.keys(direct.json));
  });

  test('Limits and errors of a call are those of /v1', async () => {
    const wrong = await person.call('PUT', '/v1/lists', {});
    expect([wrong.status, wrong.headers['allow']]).toEqual([405, 'GET, HEAD, POST, DELETE']);
    // The server closes such a connection unread, so that a client that still writes its body may get no response.
    const long = await person.call('POST', '/v1/lists', '', { 'content-length': '1048577' });
    expect([long.status, long.json['code']]).toEqual([413, 'body_too_large']);
    const form = await person.call('POST', '/v1/lists', '{}', { 'content-type': 'text/plain' });
    expect(form.status).toBe(415);
    const chunked = await person.call('POST', '/v1/lists', '', {
      'content-length': null,
      'transfer-encoding': 'chunked',
    });
    expect(chunked.status).toBe(411);
    const twice = await person.call('GET', '/v1/lists?limit=1&limit=2');
    expect([twice.status, twice.json['code']]).toEqual([400, 'invalid_request']);
  });

  test('Calls of the session and of its key use one allowance', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const own = await signIn(server.url, { key: secretKey });
    const left = async (): Promise<readonly number[]> => {
      const answers = [await own.call('GET', '/v1/lists'), await bearer(server.url, secretKey, 'GET', '/v1/lists')];
      return answers.map(({ headers }) => Number(headers['x-svc-rl-remaining']));
    };
    // The window may end between two of them; it cannot end twice.
    const counts = [await left(), await left(), await left()].flat();
    const steps = counts.slice(1).map((count, n) => Number(counts[n]) - count);
    expect(steps.filter((step) => step === 1).length).toBeGreaterThanOrEqual(4);
  });

  test('The audit log names the session behind the key', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const own = await signIn(server.url, { key: secretKey });
    await own.call('POST', '/v1/lists', { fingerprint_hash: HASH, action: 'watch' });
    await bearer(server.url, secretKey, 'POST', '/v1/lists', { fingerprint_hash: HASH, action: 'allow' });
    await own.call('POST', '/v1/lists/batch', [{ fingerprint_hash: HASH, action: 'block' }]);
    const rows = (await own.call('GET', '/v1/audit')).json['data'] as { actor: string }[];
    const actors = rows.slice(0, 3).map(({ actor }) => actor);
    const session = new RegExp(`^key:${secretKey.slice(0, 12)}/[0-9a-f]{8}$`);
    expect(actors).toEqual([expect.stringMatching(session), `key:${secretKey.slice(0, 12)}`, actors[0]]);
    const name = actors[0]?.split('/')[1] ?? '';
    const line = await eventually('the line of a call', () => {
      const lines = server.stdout().split('\n');
      return Promise.resolve(
        lines.find((text) => text.includes(`"session":"${name}"`) && text.includes('"status"')) ?? null,
      );
    });
    expect(JSON.parse(line)).toMatchObject({ msg: 'management call', key_prefix: secretKey.slice(0, 12) });
  });

  test('Every response has the headers that keep other sites out', async () => {
    const headers = {
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-frame-options': 'DENY',
      'permissions-policy': expect.stringMatching(/(?:^|, )camera=\(\)(?:,|$)/) as string,
    };
    const answers = [
      await person.ask('GET', '/dashboard/api/session'),
      await person.call('GET', '/v1/lists'),
      await person.call('HEAD', '/v1/lists'),
      await person.call('POST', '/v1/lists', {}),
      await person.call('GET', '/v1/nothing'),
      await person.call('POST', '/v1/lists', {}, { 'x-gatehouse': null }),
      await askAs(server.url, '', 'GET', '/dashboard/api/v1/lists'),
      await askAs(server.url, '', 'POST', '/dashboard/session', {}),
      await askAs(server.url, '', 'PUT', '/dashboard/logout', {}),
      await askAs(server.url, '', 'GET', '/dashboard/assets/nothing.js'),
    ];
    for (const answer of answers) {
      expect(answer.headers).toMatchObject(headers);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
    expect((await get(server.url, '/healthz')).headers).not.toHaveProperty('content-security-policy');
  });

  test('A decision is found through the dashboard by its customer only', async () => {
    const visitor = newcomer();
    const id = String((await decide(server.url, server.secretKey, visitor)).json['request_id']);
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const other = await signIn(server.url, { key: secretKey });
    expect((await person.call('GET', `/v1/decisions/${id}`)).status).toBe(200);
    expect((await other.call('GET', `/v1/decisions/${id}`)).status).toBe(404);
    expect((await other.call('GET', `/v1/fingerprints/${fingerprintOf(visitor.session_token)}`)).status).toBe(404);
  });
});
