import { beforeAll, describe, expect, test } from 'vitest';
import { ENDPOINTS } from '../../../src/contract/endpoints.ts';
import type { EndpointId, SecretEndpointId } from '../../../src/contract/routes.ts';
import { DEFAULT_KEY_SCOPES, KEY_SCOPES, type KeyScope } from '../../../src/kernel/key-scopes.ts';
import { bearer } from '../../support/manage.ts';
import { type Answer, CALM, decide, gatehouse, newCustomer, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

/** The scope that each call needs. */
const NEEDED: Readonly<Record<SecretEndpointId | 'decide', KeyScope>> = {
  decide: 'decide',
  reportOutcomes: 'decide',
  simulateDecision: 'read',
  readMe: 'read',
  listKeys: 'read',
  createKey: 'admin',
  rotateKey: 'admin',
  revokeKey: 'admin',
  searchDecisions: 'read',
  findDecision: 'read',
  findLinks: 'read',
  findFingerprint: 'read',
  readStats: 'read',
  readTop: 'read',
  readPolicy: 'read',
  listPolicyHistory: 'read',
  readRuleCounts: 'read',
  readChallenger: 'read',
  startBacktest: 'read',
  findBacktest: 'read',
  cancelBacktest: 'write',
  listRules: 'read',
  listFacts: 'read',
  checkRule: 'read',
  findRule: 'read',
  putRule: 'write',
  changeRule: 'write',
  deleteRule: 'write',
  listEntries: 'read',
  putEntry: 'write',
  putEntries: 'write',
  searchCandidates: 'read',
  findEntry: 'read',
  removeEntry: 'write',
  removeEntryByQuery: 'write',
  findValueEntry: 'read',
  removeValueEntry: 'write',
  labelDecision: 'write',
  listNamedVersions: 'read',
  restoreNamedList: 'write',
  listShadowReviews: 'read',
  judgeShadowReview: 'write',
  listWebhooks: 'read',
  createWebhook: 'write',
  explainToPerson: 'read',
  listDeliveries: 'read',
  findDelivery: 'read',
  retryDelivery: 'write',
  findWebhook: 'read',
  changeWebhook: 'write',
  deleteWebhook: 'write',
  testWebhook: 'write',
  rotateSecret: 'write',
  recoverDeliveries: 'write',
  listExtractions: 'read',
  createExtraction: 'write',
  findExtraction: 'read',
  cancelExtraction: 'write',
  listRecords: 'read',
  listSessions: 'read',
  createSession: 'write',
  findSession: 'read',
  deleteSession: 'write',
  listConnectors: 'read',
  findConnector: 'read',
  listNamedLists: 'read',
  putNamedList: 'write',
  deleteNamedList: 'write',
  listNamedItems: 'read',
  changeNamedItems: 'write',
  listAudit: 'read',
  erasePerson: 'admin',
  exportPerson: 'admin',
  findPrivacyJob: 'admin',
  readPersonExport: 'admin',
  readModels: 'read',
  readModelRows: 'read',
  compareModels: 'read',
  chooseModel: 'admin',
  listWatches: 'read',
  createWatch: 'write',
  findWatch: 'read',
  changeWatch: 'write',
  deleteWatch: 'write',
  runWatch: 'write',
  rotateFeedToken: 'write',
  listWatchChanges: 'read',
};

describe('What a key may do', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  /** Makes a key by the command line. */
  const made = async (customerId: string, ...words: string[]): Promise<Record<string, string>> =>
    (await gatehouse(server.dataDir, 'keys', 'create', '--customer', customerId, ...words)) as Record<string, string>;
  const newKey = async (customerId: string, scopes: string): Promise<string> =>
    (await made(customerId, '--scopes', scopes))['secret_key'] ?? '';
  const ask = (key: string, method: string, path: string, body?: unknown): Promise<Answer> =>
    bearer(server.url, key, method, path, body);

  test.each(KEY_SCOPES)(
    'A key with the scope %s alone may make the calls of that scope and no others',
    async (scope) => {
      const { customerId } = await newCustomer(server.url, server.dataDir);
      const key = await newKey(customerId, scope);
      const allowed: string[] = [];
      for (const id of Object.keys(NEEDED) as (keyof typeof NEEDED)[]) {
        const { method, path } = ENDPOINTS[id as EndpointId];
        const target = path.replaceAll(/\{\w+\}/g, 'a'.repeat(64));
        const { json } = id === 'decide' ? await decide(server.url, key, CALM) : await ask(key, method, target);
        if (json['code'] !== 'key_not_allowed') allowed.push(id);
      }
      expect(allowed).toEqual(Object.entries(NEEDED).flatMap(([id, needed]) => (needed === scope ? [id] : [])));
    },
  );

  test('Keys without named scopes have all but gate, made over the API too', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    expect((await ask(secretKey, 'GET', '/v1/me')).json['scopes']).toEqual(DEFAULT_KEY_SCOPES);
    const { json } = await ask(secretKey, 'POST', '/v1/keys', { name: 'all' });
    expect(json['scopes']).toEqual(DEFAULT_KEY_SCOPES);
  });

  test.each(TRANSPORTS)('A key is made, used, replaced and revoked at once, over %s', async (transport) => {
    server = await sharedServer(transport);
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const body = { name: 'shop', scopes: ['read', 'decide'], networks: ['127.0.0.1', '10.0.0.0/8'], expires_at: 4e9 };
    const created = await ask(secretKey, 'POST', '/v1/keys', body);
    expect([created.status, created.headers['cache-control']]).toEqual([201, 'no-store']);
    const secret = String(created.json['secret_key']);
    const prefix = secret.slice(0, 12);
    expect(created.json).toEqual({
      prefix,
      name: 'shop',
      test: false,
      scopes: ['decide', 'read'],
      networks: ['127.0.0.1/32', '10.0.0.0/8'],
      expires_at: 4e9,
      secret_key: expect.stringMatching(/^sk_live_/),
      public_key: expect.stringMatching(/^pk_live_/),
    });
    expect((await decide(server.url, secret, CALM)).status).toBe(200);
    expect((await decide(server.url, String(created.json['public_key']), CALM)).status).toBe(200);
    const listed = (await ask(secret, 'GET', '/v1/keys')).json['data'] as Record<string, unknown>[];
    expect(listed.find((key) => key['prefix'] === prefix)).toMatchObject({
      name: 'shop',
      scopes: ['decide', 'read'],
      networks: ['127.0.0.1/32', '10.0.0.0/8'],
      expires_at: 4e9,
      is_current: true,
    });

    const rotated = await ask(secretKey, 'POST', `/v1/keys/${prefix}/rotate`);
    expect(rotated).toMatchObject({ status: 201, json: { name: 'shop', scopes: ['decide', 'read'], expires_at: 4e9 } });
    const next = String(rotated.json['secret_key']);
    expect((await decide(server.url, secret, CALM)).json['code']).toBe('unknown_key');
    expect((await decide(server.url, next, CALM)).status).toBe(200);

    const path = `/v1/keys/${next.slice(0, 12)}`;
    expect((await ask(secretKey, 'DELETE', path)).status).toBe(204);
    expect((await decide(server.url, next, CALM)).json['code']).toBe('unknown_key');
    expect((await ask(secretKey, 'DELETE', path)).status).toBe(404);
    const audit = (await ask(secretKey, 'GET', '/v1/audit')).json['data'] as Record<string, unknown>[];
    expect(audit.slice(0, 3)).toMatchObject([
      { kind: 'key.revoked', target: next.slice(0, 12), actor: `key:${secretKey.slice(0, 12)}` },
      { kind: 'key.revoked', target: prefix },
      { kind: 'key.created', after: { name: 'shop', scopes: ['decide', 'read'], expires_at: 4e9 } },
    ]);
  });

  test('A key that is replaced with an overlap stays valid until the overlap ends', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const made = await ask(secretKey, 'POST', '/v1/keys', { name: 'shop', scopes: ['read'], expires_at: 4e9 });
    const old = String(made.json['secret_key']);
    const path = `/v1/keys/${old.slice(0, 12)}/rotate`;
    const listed = async (key: string): Promise<Record<string, unknown>> =>
      ((await ask(secretKey, 'GET', '/v1/keys')).json['data'] as Record<string, unknown>[]).find(
        ({ prefix }) => prefix === key.slice(0, 12),
      ) ?? {};
    expect((await ask(secretKey, 'POST', path, { grace_seconds: 604_801 })).json).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/grace_seconds' }],
    });
    const before = Math.floor(Date.now() / 1000);
    const rotated = await ask(secretKey, 'POST', path, { grace_seconds: 3 });
    expect(rotated).toMatchObject({ status: 201, json: { name: 'shop', scopes: ['read'], expires_at: 4e9 } });
    const next = String(rotated.json['secret_key']);
    const row = await listed(old);
    expect(row).toMatchObject({ scopes: ['read'], revoked_at: null, replaced_by: next.slice(0, 12) });
    expect(Number(row['expires_at']) - before).toBeLessThanOrEqual(4);
    expect(await listed(next)).toMatchObject({ expires_at: 4e9, replaced_by: null });
    expect((await ask(next, 'GET', '/v1/me')).status).toBe(200);
    expect((await ask(old, 'GET', '/v1/me')).status).toBe(200);
    const audit = (await ask(secretKey, 'GET', '/v1/audit?kind=key.replaced')).json['data'] as unknown[];
    expect(audit).toMatchObject([
      {
        target: old.slice(0, 12),
        before: { expires_at: 4e9 },
        after: { expires_at: row['expires_at'], replaced_by: next.slice(0, 12) },
      },
    ]);
    await expect
      .poll(async () => (await ask(old, 'GET', '/v1/me')).json['code'], { timeout: 10_000 })
      .toBe('unknown_key');
    expect((await ask(next, 'GET', '/v1/me')).status).toBe(200);

    // A key with all usual rights is one of another stored form as soon as it expires.
    const { secretKey: usual } = await newCustomer(server.url, server.dataDir);
    const replaced = await ask(usual, 'POST', `/v1/keys/${usual.slice(0, 12)}/rotate`, { grace_seconds: 60 });
    expect(replaced.json).toMatchObject({ scopes: DEFAULT_KEY_SCOPES, expires_at: null });
    expect((await ask(usual, 'GET', '/v1/me')).json['scopes']).toEqual(DEFAULT_KEY_SCOPES);
  });

  test('A key gives at most what it has', async () => {
    const { customerId } = await newCustomer(server.url, server.dataDir);
    const words = ['--scopes', 'read,admin', '--networks', '127.0.0.0/8', '--expires', '30d', '--rate-limit', '77'];
    const own = await made(customerId, ...words);
    const key = own['secret_key'] ?? '';
    const make = (rest: object): Promise<Answer> => ask(key, 'POST', '/v1/keys', { name: 'x', ...rest });
    const expiry = Number(own['expires_at']);
    for (const more of [
      { scopes: ['read', 'write'] },
      { gate: true },
      { networks: ['10.0.0.0/8'] },
      { networks: ['0.0.0.0/0'] },
      { expires_at: expiry + 1 },
    ])
      expect([more, (await make(more)).json]).toMatchObject([more, { status: 403, code: 'key_not_allowed' }]);
    const usual = await make({});
    expect(usual).toMatchObject({
      status: 201,
      json: { scopes: ['read', 'admin'], networks: ['127.0.0.0/8'], expires_at: expiry },
    });
    expect(usual.json).not.toHaveProperty('public_key');
    const less = await make({ scopes: ['read'], networks: ['127.0.0.1/32'], expires_at: expiry - 1 });
    expect(less.status).toBe(201);
    expect((await ask(String(less.json['secret_key']), 'GET', '/v1/me')).json['rate_limit']).toBe(77);

    const wider = await newKey(customerId, 'read,write');
    expect((await ask(key, 'POST', `/v1/keys/${wider.slice(0, 12)}/rotate`)).status).toBe(403);
    const { secretKey: foreign } = await newCustomer(server.url, server.dataDir);
    expect((await ask(key, 'POST', `/v1/keys/${foreign.slice(0, 12)}/rotate`)).status).toBe(404);
    expect((await ask(key, 'DELETE', `/v1/keys/${foreign.slice(0, 12)}`)).status).toBe(404);
    expect((await ask(foreign, 'GET', '/v1/me')).status).toBe(200);
  });

  test('A key is refused outside its networks, on decide and elsewhere', async () => {
    const { customerId } = await newCustomer(server.url, server.dataDir);
    const { secret_key: far = '' } = await made(customerId, '--networks', '203.0.113.0/24');
    expect((await ask(far, 'GET', '/v1/me')).json).toMatchObject({ status: 403, code: 'key_not_allowed' });
    expect((await decide(server.url, far, CALM)).json).toMatchObject({ status: 403, code: 'key_not_allowed' });
    const { secret_key: near = '' } = await made(customerId, '--networks', '127.0.0.1');
    expect((await decide(server.url, near, CALM)).status).toBe(200);
  });

  test('A key that has expired is unknown', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const soon = Math.floor(Date.now() / 1000) + 2;
    const { json } = await ask(secretKey, 'POST', '/v1/keys', { name: 'short', expires_at: soon });
    const key = String(json['secret_key']);
    expect((await ask(key, 'GET', '/v1/me')).status).toBe(200);
    await expect
      .poll(async () => (await ask(key, 'GET', '/v1/me')).json['code'], { timeout: 10_000 })
      .toBe('unknown_key');
  });

  test.each([
    [{ scopes: ['read'] }, '/name'],
    [{ name: '' }, '/name'],
    [{ name: 'x', scopes: ['all'] }, '/scopes/0'],
    [{ name: 'x', scopes: [] }, '/scopes'],
    [{ name: 'x', networks: ['10.0.0.1/8'] }, '/networks/0'],
    [{ name: 'x', expires_at: 5 }, '/expires_at'],
    [{ name: 'x', gate: true, scopes: ['read'] }, '/gate'],
  ])('A new key of %j is refused', async (body, pointer) => {
    const { json } = await ask(server.secretKey, 'POST', '/v1/keys', body);
    expect(json).toMatchObject({ code: 'validation_failed', errors: [{ pointer }] });
  });

  test('A key of the command line may have a name, and is replaced there', async () => {
    const { customerId } = await newCustomer(server.url, server.dataDir);
    const gate = await made(customerId, '--gate', '--name', 'edge');
    expect(gate).toMatchObject({ name: 'edge', scopes: ['gate'] });
    expect(gate).not.toHaveProperty('public_key');
    expect((await ask(gate['secret_key'] ?? '', 'GET', '/v1/me')).status).toBe(403);
    const rotated = await gatehouse(server.dataDir, 'keys', 'rotate', String(gate['secret_key']).slice(0, 12));
    const keys = (await gatehouse(server.dataDir, 'keys', 'list'))['keys'] as Record<string, unknown>[];
    const found = keys.find(({ prefix }) => prefix === String(rotated['secret_key']).slice(0, 12));
    expect(found).toMatchObject({ name: 'edge', scopes: ['gate'], revoked_at: null });
    expect((await ask(gate['secret_key'] ?? '', 'GET', '/v1/me')).status).toBe(401);
  });

  test('A key that is replaced on the command line with a grace time is valid until its end, beside the new one', async () => {
    const { customerId } = await newCustomer(server.url, server.dataDir);
    const old = (await made(customerId, '--name', 'shop'))['secret_key'] ?? '';
    const before = Math.floor(Date.now() / 1000);
    const rotated = await gatehouse(server.dataDir, 'keys', 'rotate', old, '--grace', '600');
    const until = Number(rotated['old_valid_until']);
    expect(until - before).toBeGreaterThanOrEqual(600);
    expect(until - before).toBeLessThan(660);
    const next = String(rotated['secret_key']);
    for (const key of [old, next]) expect((await ask(key, 'GET', '/v1/me')).status).toBe(200);
    const { keys } = (await ask(next, 'GET', '/v1/keys')).json as { keys?: unknown; data?: unknown };
    const listed = (keys ?? (await ask(next, 'GET', '/v1/keys')).json['data']) as Record<string, unknown>[];
    const found = listed.find(({ prefix }) => prefix === old.slice(0, 12));
    expect(found).toMatchObject({ expires_at: until, replaced_by: next.slice(0, 12), revoked_at: null });
  });
});
