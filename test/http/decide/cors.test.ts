import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { type Answer, decide, newCustomer, raw, send, type SendOptions, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const SHOP = 'https://shop.example';
const OTHER = 'https://other-shop.example';
const UNKNOWN = 'https://nobody.example';
const EXPOSED = 'Retry-After, X-SVC-Rl-Limit, X-SVC-Rl-Remaining, X-SVC-Rl-Reset, RateLimit-Policy, RateLimit';

function corsFields({ headers }: Answer): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'),
  );
}

/** Contract, 2.7. */
describe.each(TRANSPORTS)('scripts of other origins over %s', (transport) => {
  let server: SharedServer;
  let shop: { readonly secretKey: string; readonly publicKey: string };
  let other: { readonly publicKey: string };
  beforeAll(async () => {
    server = await sharedServer(transport);
    shop = await newCustomer(server.url, server.dataDir, null, [SHOP, 'http://localhost:3000']);
    other = await newCustomer(server.url, server.dataDir, null, [OTHER]);
  });

  function preflight(
    origin: string,
    headers: Readonly<Record<string, string>> = {},
    path = '/v1/decide',
  ): Promise<string> {
    const fields = { Origin: origin, 'Access-Control-Request-Method': 'POST', ...headers };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `OPTIONS ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.join('')}\r\n`;
    return raw(server.url, head).then(({ text }) => text);
  }

  const from = (origin: string, options: SendOptions = {}): SendOptions => ({
    ...options,
    headers: { Origin: origin, ...options.headers },
  });

  test.each([SHOP, OTHER, 'http://localhost:3000'])(
    'A preflight from %s, which some key allows, is 204',
    async (origin) => {
      const text = await preflight(origin, { 'Access-Control-Request-Headers': 'content-type,x-svc-key,x-svc-sig' });
      expect(text).toMatch(/^HTTP\/1\.1 204 No Content\r\n/);
      expect(text).toContain(
        `\r\nAccess-Control-Allow-Origin: ${origin}\r\nVary: Origin\r\nAccess-Control-Allow-Methods: POST\r\n` +
          'Access-Control-Allow-Headers: Content-Type, X-SVC-Key, X-SVC-Ts, X-SVC-Rid, X-SVC-Sig\r\n' +
          'Access-Control-Max-Age: 7200\r\n',
      );
      expect(text).not.toMatch(/credentials|x-svc-rl/i);
      expect(text.endsWith('\r\n\r\n')).toBe(true);
    },
  );

  test.each([UNKNOWN, 'null', `${SHOP}.evil.example`, 'HTTPS://SHOP.EXAMPLE', `${SHOP}/`, `${SHOP}:444`, '*'])(
    'A preflight from %s, which no key allows, is 403 without CORS fields',
    async (origin) => {
      const text = await preflight(origin);
      expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
      expect(text).toContain('"code":"origin_not_allowed"');
      expect(text).not.toMatch(/access-control/i);
    },
  );

  test('A preflight that names a key has each field once', async () => {
    const text = await preflight(SHOP, { 'X-SVC-Key': shop.publicKey });
    expect(text.match(/access-control-allow-origin/gi)).toHaveLength(1);
  });

  test('OPTIONS that is no preflight lists the methods and has no CORS fields', async () => {
    for (const headers of [{ Origin: SHOP }, { 'Access-Control-Request-Method': 'POST' }, {}]) {
      const answer = await send(server.url, shop.publicKey, { method: 'OPTIONS', headers });
      expect([answer.status, answer.text, answer.headers['allow']]).toEqual([204, '', 'POST, OPTIONS']);
      expect(corsFields(answer)).toEqual({});
    }
  });

  test('OPTIONS with a body is 413 and ends its connection, and OPTIONS on another path is 405', async () => {
    const fields = `Host: x\r\nOrigin: ${SHOP}\r\nAccess-Control-Request-Method: POST\r\nContent-Length: 2\r\n`;
    const answer = await raw(server.url, `OPTIONS /v1/decide HTTP/1.1\r\n${fields}\r\n{}`);
    expect([answer.statuses, answer.closed]).toEqual([[413], true]);
    expect(answer.text).not.toMatch(/access-control/i);
    expect(await preflight(SHOP, {}, '/v1/lists')).toMatch(/^HTTP\/1\.1 405 /);
    expect(await preflight(SHOP, {}, '/v1/decide/')).toMatch(/^HTTP\/1\.1 404 /);
  });

  test('A response to a script of an origin that the key allows has the fields to read it, without credentials', async () => {
    const answer = await decide(server.url, shop.publicKey, undefined, from(SHOP));
    expect(answer.status).toBe(200);
    expect(corsFields(answer)).toEqual({
      'access-control-allow-origin': SHOP,
      'access-control-expose-headers': EXPOSED,
      vary: 'Origin',
    });
  });

  test.each([
    ['a wrong signature', 401, 'invalid_signature', { headers: { 'X-SVC-Sig': '0'.repeat(64) } }],
    ['a malformed signature', 401, 'invalid_signature', { headers: { 'X-SVC-Sig': 'x' } }],
    ['a wrong clock', 401, 'timestamp_out_of_window', { timestampSeconds: 1 }],
    ['malformed JSON', 400, 'malformed_json', { body: '{' }],
    ['another method', 405, 'method_not_allowed', { method: 'PUT' }],
    ['a body that is too large', 413, 'body_too_large', { body: 'x'.repeat(65_537) }],
    ['a repeated Host', 400, 'invalid_request', { headers: { 'Content-Type': 'a', 'X-Broken': '\u00e9' } }],
  ])('A problem response about %s can be read by the script', async (_name, status, code, options: SendOptions) => {
    const answer = await send(server.url, shop.publicKey, from(SHOP, { body: '{}', ...options }));
    expect([answer.status, answer.json['code']]).toEqual([status, code]);
    expect(answer.headers['access-control-allow-origin']).toBe(SHOP);
  });

  test('A request from an origin that the key does not allow is decided, without CORS fields', async () => {
    for (const origin of [OTHER, UNKNOWN, 'null']) {
      const answer = await decide(server.url, shop.publicKey, undefined, from(origin));
      expect([answer.status, corsFields(answer)]).toEqual([200, {}]);
    }
    expect(corsFields(await decide(server.url, other.publicKey, undefined, from(OTHER)))).toMatchObject({
      'access-control-allow-origin': OTHER,
    });
  });

  test('A secret key, an unknown key and a request without Origin get no CORS fields', async () => {
    const secret = await decide(server.url, shop.secretKey, undefined, from(SHOP));
    expect([secret.status, corsFields(secret)]).toEqual([200, {}]);
    const unknown = await decide(server.url, `pk_live_${'A'.repeat(38)}`, undefined, from(SHOP));
    expect([unknown.status, corsFields(unknown)]).toEqual([401, {}]);
    const plain = await decide(server.url, shop.publicKey);
    expect([plain.status, corsFields(plain)]).toEqual([200, {}]);
  });

  test('Other endpoints have no CORS fields', async () => {
    const lists = await call(server.url, shop.secretKey, 'GET', '/v1/lists', undefined, from(SHOP));
    expect([lists.status, corsFields(lists)]).toEqual([200, {}]);
    const refused = await bearer(server.url, shop.publicKey, 'GET', '/v1/lists', undefined, from(SHOP));
    expect([refused.status, corsFields(refused)]).toEqual([403, {}]);
  });

  test('Origin may be given once', async () => {
    const text = await preflight(SHOP, { origin: SHOP });
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
  });
});
