import { beforeAll, describe, expect, test } from 'vitest';
import { UNSIGNED } from '../../support/manage.ts';
import { type Answer, newCustomer, raw, send, type SendOptions, TRANSPORTS } from '../../support/requests.ts';
import { startServer } from '../../support/server.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const PATH = '/v1/collector/grant';
const SHOP = 'https://shop.example';
const OTHER = 'https://other-shop.example';

interface Keys {
  readonly secretKey: string;
  readonly publicKey: string;
}

/** A grant request of a page, with the key alone. */
function ask(url: string, key: string, origin: string | null, options: SendOptions = {}): Promise<Answer> {
  const { headers, ...rest } = options;
  return send(url, key, {
    path: PATH,
    ...rest,
    headers: { ...UNSIGNED, 'X-SVC-Key': key, ...(origin !== null && { Origin: origin }), ...headers },
  });
}

/** Contract, 17.2. */
describe.each(TRANSPORTS)('POST /v1/collector/grant over %s', (transport) => {
  let server: SharedServer;
  let shop: Keys;
  let other: Keys;
  beforeAll(async () => {
    server = await sharedServer(transport);
    shop = await newCustomer(server.url, server.dataDir, null, [SHOP]);
    other = await newCustomer(server.url, server.dataDir, null, [OTHER]);
  });

  test('A page of the key gets a grant for 30 minutes, by its key alone', async () => {
    const answer = await ask(server.url, shop.publicKey, SHOP);
    expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(answer.json).toEqual({
      grant: expect.stringMatching(/^[A-Za-z0-9_-]{80}$/),
      nonce: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      expires_at: expect.any(Number),
    });
    expect(Math.abs((answer.json['expires_at'] as number) - Date.now() / 1_000 - 1_800)).toBeLessThan(10);
    expect(answer.headers['access-control-allow-origin']).toBe(SHOP);
    expect(answer.headers['x-svc-rl-limit']).toBe('60');
    const second = await ask(server.url, shop.publicKey, SHOP);
    expect(second.json['nonce']).not.toBe(answer.json['nonce']);
  });

  test('A signed request is verified, and its request id may be used again', async () => {
    const signed: SendOptions = { path: PATH, headers: { Origin: SHOP }, requestId: 'the-same', body: '{}' };
    for (let n = 0; n < 2; n++) expect((await send(server.url, shop.publicKey, signed)).status).toBe(200);
    for (const [code, options] of [
      ['invalid_signature', { signedBody: 'x' }],
      ['timestamp_out_of_window', { timestampSeconds: 1 }],
      ['missing_credentials', { headers: { Origin: SHOP, 'X-SVC-Ts': null } }],
    ] as const) {
      const { status, json } = await send(server.url, shop.publicKey, { ...signed, ...options });
      expect([status, json['code']]).toEqual([401, code]);
    }
  });

  test.each([
    ['the origin of another customer', OTHER],
    ['an origin that no key allows', 'https://nobody.example'],
    ['a longer host', `${SHOP}.evil.example`],
    ['an opaque origin', 'null'],
    ['no origin', null],
  ])('A page of %s gets no grant, and cannot read the refusal', async (_name, origin) => {
    const { status, json, headers } = await ask(server.url, shop.publicKey, origin);
    expect([status, json['code']]).toEqual([403, 'origin_not_allowed']);
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });

  test('Two keys with swapped origins get nothing, and with their own a grant', async () => {
    expect((await ask(server.url, shop.publicKey, OTHER)).status).toBe(403);
    expect((await ask(server.url, other.publicKey, SHOP)).status).toBe(403);
    expect((await ask(server.url, shop.publicKey, SHOP)).status).toBe(200);
    expect((await ask(server.url, other.publicKey, OTHER)).status).toBe(200);
  });

  test('A preflight is answered for the origins of all public keys', async () => {
    const preflight = (origin: string) =>
      raw(
        server.url,
        `OPTIONS ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: POST\r\n\r\n`,
      );
    for (const origin of [SHOP, OTHER]) {
      const { text } = await preflight(origin);
      expect(text).toMatch(/^HTTP\/1\.1 204 /);
      expect(text).toContain(`\r\nAccess-Control-Allow-Origin: ${origin}\r\nVary: Origin\r\n`);
    }
    expect((await preflight('https://nobody.example')).text).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('A secret key, an unknown key and no key are refused', async () => {
    const secret = await ask(server.url, shop.secretKey, SHOP);
    expect([secret.status, secret.json['code']]).toEqual([403, 'key_not_allowed']);
    const unknown = await ask(server.url, `pk_live_${'A'.repeat(38)}`, SHOP);
    expect([unknown.status, unknown.json['code']]).toEqual([401, 'unknown_key']);
    const none = await ask(server.url, '', SHOP, { headers: { 'X-SVC-Key': null } });
    expect([none.status, none.json['code']]).toEqual([401, 'missing_credentials']);
  });

  test('The body is ignored up to 1,024 bytes, and GET is 405', async () => {
    expect((await ask(server.url, shop.publicKey, SHOP, { body: 'x'.repeat(1_024) })).status).toBe(200);
    expect((await ask(server.url, shop.publicKey, SHOP, { body: 'x'.repeat(1_025) })).status).toBe(413);
    const answer = await ask(server.url, shop.publicKey, SHOP, { method: 'GET' });
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST, OPTIONS']);
  });
});

describe('the rate of grants', () => {
  test('One address gets 60 grants in a window, another one its own 60, and a /64 counts as one', async () => {
    const server = await startServer({
      env: { GATEHOUSE_TRUSTED_PROXIES: '127.0.0.1', GATEHOUSE_SIMULATED_TIME: '1' },
    });
    try {
      const { publicKey } = await newCustomer(server.url, server.dataDir, null, [SHOP]);
      const from = (address: string) => ask(server.url, publicKey, SHOP, { headers: { 'X-Forwarded-For': address } });
      const statuses: number[] = [];
      for (let n = 0; n < 61; n++) statuses.push((await from(`2a00:1450:4001:81b::${n}`)).status);
      expect(statuses).toEqual([...Array.from({ length: 60 }, () => 200), 429]);
      const refused = await from('2a00:1450:4001:81b::1');
      expect(refused.json['code']).toBe('rate_limited');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(refused.headers['x-svc-rl-remaining']).toBe('0');
      // The page can read the refusal.
      expect(refused.headers['access-control-allow-origin']).toBe(SHOP);
      expect((await from('81.2.69.160')).status).toBe(200);
      // The proxy names no client: the address stands for everybody.
      expect((await ask(server.url, publicKey, SHOP)).status).toBe(200);
    } finally {
      await server.stop();
    }
  });
});
