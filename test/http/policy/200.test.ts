import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { decide, newcomer, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';

type Json = Record<string, unknown>;

let folder = '';
let file = '';
let server: RunningServer;

function put(policy: object): void {
  writeFileSync(`${file}.new`, JSON.stringify(policy));
  renameSync(`${file}.new`, file);
}

function start(): Promise<RunningServer> {
  return startServer({ dataDir: join(folder, 'data'), env: { GATEHOUSE_POLICY_FILE: file } });
}

async function ask(path: string, key: string): Promise<Json> {
  const { status, json } = await bearer(server.url, key, 'GET', path);
  expect(status).toBe(200);
  return json;
}

async function untilVersion(version: string, key: string): Promise<void> {
  const until = Date.now() + 20_000;
  while ((await ask('/v1/policy', key))['version'] !== version) {
    if (Date.now() > until) throw new Error(`the policy ${version} was not loaded`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

describe('the policy over HTTP', () => {
  let secretKey = '';
  let other = { customerId: '', secretKey: '' };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
    file = join(folder, 'policy.json');
    put({ version: 'v1', weights: { device_http_library: 0.6 } });
    server = await start();
    ({ secretKey } = server);
    other = await newCustomer(server.url, server.dataDir);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  test('The policy, its changes and the bands of a decision of its time are those of the file, also after a restart', async () => {
    const decided = await decide(server.url, secretKey, { ...newcomer(), user_agent: 'curl/8.5.0' });
    const first = await ask('/v1/policy', secretKey);
    expect(first).toMatchObject({
      version: 'v1',
      source: 'file',
      is_refused: false,
      mode: 'enforce',
      bands: { ALLOW_WATCH: 30, SOFT_CHALLENGE: 50, REVIEW: null, BLOCK: 80 },
      challenger: null,
    });
    const rules = first['rules'] as Json[];
    expect(rules.find(({ reason }) => reason === 'device_http_library')).toMatchObject({
      weight: 0.6,
      is_changed: true,
    });

    put({
      version: 'v2',
      mode: 'observe',
      bands: { allow_watch: 25 },
      customers: { [other.customerId]: { rules_off: ['ip_hosting'] } },
      challenger: { version: 'c1', weights: { device_http_library: 0.9 } },
    });
    await untilVersion('v2', secretKey);
    expect(await ask('/v1/me', secretKey)).toMatchObject({
      policy: { version: 'v2', mode: 'observe', challenger: 'c1' },
    });
    const second = await ask('/v1/policy', secretKey);
    expect((second['challenger'] as Json)['differences']).toEqual([
      { event_type: null, kind: 'weight', name: 'device_http_library', before: 0.62, after: 0.9 },
    ]);
    const own = [
      { event_type: null, kind: 'setting', name: 'mode', before: 'enforce', after: 'observe' },
      { event_type: null, kind: 'band', name: 'ALLOW_WATCH', before: 30, after: 25 },
      { event_type: null, kind: 'weight', name: 'device_http_library', before: 0.6, after: 0.62 },
    ];
    const rule = { event_type: null, kind: 'rule', name: 'ip_hosting', before: true, after: false };
    const changes = async (key: string): Promise<unknown> =>
      ((await ask('/v1/policy/history', key))['data'] as Json[]).map(({ version, differences }) => [
        version,
        differences,
      ]);
    expect(await changes(secretKey)).toEqual([
      ['v2', own],
      ['v1', null],
    ]);
    expect((await changes(other.secretKey)) as unknown[]).toContainEqual(['v2', [own[0], own[1], rule, own[2]]]);

    const before = await ask(`/v1/decisions/${String(decided.json['request_id'])}`, secretKey);
    expect([before['policy_version'], (before['bands'] as Json)['ALLOW_WATCH']]).toEqual(['v1', 30]);
    const later = await decide(server.url, secretKey, { ...newcomer(), user_agent: 'curl/8.5.0' });
    const after = await ask(`/v1/decisions/${String(later.json['request_id'])}`, secretKey);
    expect([after['policy_version'], (after['bands'] as Json)['ALLOW_WATCH']]).toEqual(['v2', 25]);
    expect([after['decision'], after['would_be']]).toEqual(['ALLOW', 'SOFT_CHALLENGE']);

    const history = await changes(secretKey);
    await server.stop();
    server = await start();
    expect(await changes(secretKey)).toEqual(history);
    const restored = await ask(`/v1/decisions/${String(decided.json['request_id'])}`, secretKey);
    expect(restored).toEqual(before);
  });

  test('A faulty file is reported, and the last valid policy stays', async () => {
    const { version } = await ask('/v1/policy', secretKey);
    put({ bands: { block: 1_000 } });
    const until = Date.now() + 20_000;
    let policy: Json = {};
    while (policy['is_refused'] !== true && Date.now() < until) {
      await new Promise((done) => setTimeout(done, 50));
      policy = await ask('/v1/policy', secretKey);
    }
    expect([policy['is_refused'], policy['version']]).toEqual([true, version]);
  });

  test('A counter of the file is a fact of GET /v1/rules/facts, and conditions may read it', async () => {
    const spent = { kind: 'sum', of: 'attributes.amount', by: 'account', window: '24h' };
    put({ version: 'counted', counters: { spent } });
    await untilVersion('counted', secretKey);
    const { data } = (await ask('/v1/rules/facts', secretKey)) as { data: readonly Json[] };
    expect(data.find(({ name }) => name === 'counters.spent')).toEqual({
      name: 'counters.spent',
      type: 'number',
      meaning: 'sum of attributes.amount by account in 24h',
      absent_when: 'the request does not have whom it is about, or the history is unavailable',
    });
    const check = (when: string): ReturnType<typeof bearer> =>
      bearer(server.url, secretKey, 'POST', '/v1/rules/check', { when });
    expect(await check('counters.spent > 5')).toMatchObject({ status: 200, json: { facts: ['counters.spent'] } });
    expect(await check('counters.spnt > 5')).toMatchObject({
      status: 422,
      json: { errors: [{ code: 'unknown_fact', did_you_mean: 'counters.spent' }] },
    });
  });
});
