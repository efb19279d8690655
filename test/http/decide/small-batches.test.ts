import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { writeMmdb } from '../../support/mmdb-writer.ts';
import { CALM, decide, get } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';

/**
 * A small batch is scored on the main thread, a larger body by a worker. Both threads give the same answers, and get the same changes of
 * lists, rules, policies and databases.
 */

/** The main thread scores nothing for so long after a worker had a batch. */
const WORKERS_QUIET_MS = 10;
const POLLED = { timeout: 10_000 };

type Json = Readonly<Record<string, unknown>>;

let folder = '';
let server: RunningServer;
let visitors = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-small-batches-'));
  mkdirSync(join(folder, 'geoip'));
  put('geoip/city.mmdb', database('DE', 1));
  put('policy.json', '{"version":"first"}');
  const env = {
    GATEHOUSE_GEOIP_DIR: join(folder, 'geoip'),
    GATEHOUSE_GEOIP_PACKAGES: '0',
    GATEHOUSE_POLICY_FILE: join(folder, 'policy.json'),
    GATEHOUSE_WORKERS: '1',
    // A cell would decide before the main thread does.
    GATEHOUSE_CELLS: '1',
  };
  server = await startServer({ env });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

function put(name: string, content: string | Uint8Array): void {
  writeFileSync(join(folder, `${name}.new`), content);
  renameSync(join(folder, `${name}.new`), join(folder, name));
}

/** All public addresses of the tests are in this country. */
function database(country: string, serial: number): Buffer {
  const builtAtSeconds = 1_780_000_000 + serial;
  const networks = { '81.2.0.0/16': { country: { iso_code: country }, location: { latitude: 50, longitude: 10 } } };
  return writeMmdb({ type: 'GeoLite2-City', ipVersion: 6, builtAtSeconds, networks });
}

async function inlineBatches(): Promise<number> {
  const { text } = await get(server.url, '/metrics');
  return Number(/^gatehouse_inline_batches_total (\d+)/m.exec(text)?.[1]);
}

/** The same event of a new visitor on the main thread, and of another new one in a worker. */
async function onBothThreads(changes: object = {}): Promise<readonly [Json, Json]> {
  const body = (): string => JSON.stringify({ ...CALM, session_token: `small-${++visitors}`, ...changes });
  await setTimeout(WORKERS_QUIET_MS);
  const before = await inlineBatches();
  const { status, json: onMain } = await decide(server.url, server.secretKey, body());
  expect([status, await inlineBatches()]).toEqual([200, before + 1]);
  const { json: inWorker } = await decide(server.url, server.secretKey, body() + ' '.repeat(4_096));
  expect(await inlineBatches()).toBe(before + 1);
  return [onMain, inWorker];
}

async function reasonsOnBoth(changes: object = {}): Promise<readonly unknown[]> {
  return (await onBothThreads(changes)).map(({ reasons }) => reasons);
}

describe('a small batch', () => {
  test.each([
    ['a calm visitor', {}],
    ['a tool', { user_agent: 'curl/8.5.0', event_type: 'payment' }],
    ['a private address', { ip: '10.0.0.1', event_type: 'login' }],
    ['a visitor without a token', { session_token: '' }],
  ])('The main thread and a worker answer alike: %s', async (_who, changes) => {
    const [onMain, inWorker] = await onBothThreads(changes);
    // A sample of decisions is copied to the review queue, selected by the id of the request.
    const own = {
      request_id: null,
      latency_ms: null,
      fingerprint_hash: null,
      fingerprint_url: null,
      shadow_routed: null,
    };
    expect({ ...onMain, ...own }).toEqual({ ...inWorker, ...own });
  });

  test('The main thread counts the events that a worker counted, and a worker those of the main thread', async () => {
    const session = { session_token: 'small-counted', event_type: 'small_counted', ip: '81.2.69.77' };
    const when = 'event.type == "small_counted" && session.decisions_1m == 4';
    await bearer(server.url, server.secretKey, 'PUT', '/v1/rules/own_fourth', { when, weight: 0.1, mode: 'enforce' });
    const reasons: unknown[] = [];
    for (const padding of ['', ' '.repeat(4_096), '', ' '.repeat(4_096), '']) {
      const { json } = await decide(server.url, server.secretKey, JSON.stringify({ ...CALM, ...session }) + padding);
      reasons.push(json['reasons']);
    }
    expect(reasons).toEqual([[], [], [], ['own_fourth'], []]);
  });

  test('An entry of a list counts for the next decision on both threads, and so does its removal', async () => {
    const ip = '81.2.70.77';
    await call(server.url, server.secretKey, 'POST', '/v1/lists', { kind: 'ip', value: ip, action: 'block' });
    expect(await reasonsOnBoth({ ip })).toEqual([
      expect.arrayContaining(['list_block']),
      expect.arrayContaining(['list_block']),
    ]);
    await bearer(server.url, server.secretKey, 'DELETE', `/v1/lists/ip/${ip}`);
    for (const reasons of await reasonsOnBoth({ ip })) expect(reasons).not.toContain('list_block');
  });

  test('A rule of the API counts for the next decision on both threads, and so does its removal', async () => {
    const event_type = 'small_rule';
    const rule = { when: `event.type == "${event_type}"`, decision: 'REVIEW', mode: 'enforce' };
    await bearer(server.url, server.secretKey, 'PUT', '/v1/rules/own_small', rule);
    expect(await reasonsOnBoth({ event_type })).toEqual([['own_small'], ['own_small']]);
    await bearer(server.url, server.secretKey, 'DELETE', '/v1/rules/own_small');
    expect(await reasonsOnBoth({ event_type })).toEqual([[], []]);
  });

  test('A new policy file is used on both threads', async () => {
    const event_type = 'small_policy';
    const rules = [{ code: 'own_file', when: `event.type == "${event_type}"`, decision: 'REVIEW', mode: 'enforce' }];
    put('policy.json', JSON.stringify({ version: 'second', rules }));
    await expect.poll(() => reasonsOnBoth({ event_type }), POLLED).toEqual([['own_file'], ['own_file']]);
  });

  test('A new location database is used on both threads', async () => {
    const ip = '81.2.71.9';
    const countries = async (): Promise<unknown> =>
      Promise.all(
        (await onBothThreads({ ip })).map(async ({ request_id }) => {
          const found = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions/${String(request_id)}`);
          return found.json['country'];
        }),
      );
    expect(await countries()).toEqual(['DE', 'DE']);
    put('geoip/city.mmdb', database('AT', 2));
    await expect.poll(countries, POLLED).toEqual(['AT', 'AT']);
  });

  test('A simulation is left to a worker', async () => {
    const before = await inlineBatches();
    const simulated = await call(server.url, server.secretKey, 'POST', '/v1/simulate', { ...CALM, session_token: 's' });
    expect(simulated.status).toBe(200);
    expect(await inlineBatches()).toBe(before);
  });
});
