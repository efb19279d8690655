import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { CALM, decide, gatehouse, newCustomer } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

interface Key {
  readonly prefix: string;
  readonly kind: string;
  readonly revoked_at: number | null;
  readonly is_current: boolean;
  readonly usage: {
    readonly calls: number;
    readonly refusals: Record<string, number>;
    readonly last_used_at: number | null;
  };
}

describe('GET /v1/keys', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  const keysOf = async (key: string, query = ''): Promise<readonly Key[]> => {
    const { status, json } = await bearer(server.url, key, 'GET', `/v1/keys${query}`);
    expect(status).toBe(200);
    return json['data'] as Key[];
  };

  test('The own keys are listed with their limits and origins, and never a key itself', async () => {
    const own = await newCustomer(server.url, server.dataDir, 1_234, ['https://shop.example']);
    await newCustomer(server.url, server.dataDir);
    const { status, json, text } = await call(server.url, own.secretKey, 'GET', '/v1/keys');
    expect(status).toBe(200);
    expect((json['data'] as Key[]).toSorted((a, b) => a.kind.localeCompare(b.kind))).toMatchObject([
      {
        prefix: own.publicKey.slice(0, 12),
        kind: 'public',
        rate_limit: 1_234,
        origins: ['https://shop.example'],
        revoked_at: null,
        is_current: false,
      },
      { prefix: own.secretKey.slice(0, 12), kind: 'secret', rate_limit: 1_234, origins: [], is_current: true },
    ]);
    expect(text).not.toContain(own.secretKey);
    expect(text).not.toContain(own.publicKey);
  });

  test('Calls and refusals are counted for the key that made them', async () => {
    const own = await newCustomer(server.url, server.dataDir);
    const requestId = `rid-${own.customerId}`;
    expect((await decide(server.url, own.publicKey, CALM, { requestId })).status).toBe(200);
    expect((await decide(server.url, own.publicKey, CALM, { requestId })).status).toBe(401);
    expect((await bearer(server.url, own.publicKey, 'GET', '/v1/me')).status).not.toBe(200);
    const keys = await keysOf(own.secretKey);
    const [used, current] = [keys.find(({ kind }) => kind === 'public'), keys.find(({ kind }) => kind === 'secret')];
    expect(used?.usage).toMatchObject({ calls: 1, refusals: { replayed_request: 1 } });
    expect(used?.usage.last_used_at).toBeGreaterThan(0);
    // This call is the first one that was accepted.
    expect(current?.usage).toMatchObject({ calls: 1, refusals: {} });
    expect((await keysOf(own.secretKey)).find(({ kind }) => kind === 'secret')?.usage.calls).toBe(2);
  });

  test('New and revoked keys are listed at once, page by page', async () => {
    const own = await newCustomer(server.url, server.dataDir);
    const created = await gatehouse(server.dataDir, 'keys', 'create', '--customer', own.customerId);
    await gatehouse(server.dataDir, 'keys', 'revoke', own.publicKey);
    const until = Date.now() + 10_000;
    let keys = await keysOf(own.secretKey);
    while (keys.length < 4 && Date.now() < until) keys = await keysOf(own.secretKey);
    expect(JSON.stringify(created)).toContain(keys.at(-1)?.prefix);
    expect(keys.filter(({ revoked_at: at }) => at !== null).map(({ prefix }) => prefix)).toEqual([
      own.publicKey.slice(0, 12),
    ]);
    const first = await bearer(server.url, own.secretKey, 'GET', '/v1/keys?limit=3');
    const next = await keysOf(own.secretKey, `?limit=3&cursor=${String(first.json['next_cursor'])}`);
    expect([...(first.json['data'] as Key[]), ...next].map(({ prefix }) => prefix)).toEqual(
      keys.map(({ prefix }) => prefix),
    );
    expect(
      (await bearer(server.url, server.secretKey, 'GET', `/v1/keys?cursor=${String(first.json['next_cursor'])}`))
        .status,
    ).toBe(400);
  });
});
