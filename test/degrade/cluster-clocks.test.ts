import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Nodes, startNodes } from '../support/cluster.ts';
import { command } from '../support/command-line.ts';
import { bearer, fingerprintOf } from '../support/manage.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis.ts';
import { decide, newcomer } from '../support/requests.ts';
import { clockEnv, SHIFTABLE, shiftClock } from '../support/shifted-clock.ts';
import { stranger, visit } from '../support/visits.ts';
import { eventually } from '../support/webhooks.ts';

/** Two servers over one store, the second of which has a wrong clock. */

const SECOND = 1_000;
const SIGNUPS = 'velocity_ip_signups_24h';
const ALLOWANCE = 20;
const FOLLOWED_MS_MAX = 1_000;

let redis: RedisServer;
let nodes: Nodes;
let folder = '';
let clock = '';
let serial = 0;

beforeAll(async () => {
  if (!HAS_REDIS) return;
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-clock-'));
  clock = join(folder, 'shift');
  redis = await startRedis();
  nodes = await startNodes({
    count: 2,
    storeUrl: redis.url,
    env: { GATEHOUSE_WORKERS: '1' },
    envOf: (node) => (node === 1 ? clockEnv(clock) : {}),
    nodeFlags: SHIFTABLE,
  });
});
afterEach(async () => {
  if (HAS_REDIS) await shift(0);
});
afterAll(async () => {
  if (!HAS_REDIS) return;
  await nodes.stop();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Sets the second server's clock, and resolves when it follows and both servers decide over the store. */
async function shift(shiftMs: number): Promise<void> {
  shiftClock(clock, shiftMs);
  for (const [node, ms] of [0, shiftMs].entries())
    await eventually(`node ${node} with its clock ${ms} ms ahead`, async () => {
      const timestampSeconds = Math.floor((Date.now() + ms) / SECOND);
      // Accepted only by a clock that differs by less than 300 s from this.
      const [early, late] = [timestampSeconds - 299, timestampSeconds + 299];
      const answers = await Promise.all([early, late].map((at) => once(node, { timestampSeconds: at })));
      return answers.every(({ status, mode }) => status === 200 && mode !== 'degraded') ? true : null;
    });
}

interface Answered {
  readonly status: number;
  readonly code: unknown;
  readonly mode: unknown;
}

async function once(node: number, options: Parameters<typeof decide>[3] = {}, key?: string): Promise<Answered> {
  const { status, json } = await decide(nodes.at(node).url, key ?? nodes.secretKey, newcomer(), options);
  return { status, code: json['code'], mode: json['session_mode'] };
}

const REPLAYED = { status: 401, code: 'replayed_request' };

/** Sends one id to one server, then to the other. */
async function sendTwice(first: number, options: Parameters<typeof decide>[3] = {}): Promise<Answered[]> {
  const both = { requestId: randomUUID(), ...options };
  return [await once(first, both), await once(1 - first, both)];
}

async function limitedKey(): Promise<string> {
  const words = ['--json', '--data-dir', nodes.at(0).dataDir, 'customers', 'create', `shop-${serial++}`];
  const { customer_id: customer } = JSON.parse((await command(words, { env: nodes.env(0) })).out) as {
    customer_id: string;
  };
  const create = ['keys', 'create', '--customer', customer, '--rate-limit', String(ALLOWANCE)];
  const made = await command([...words.slice(0, 3), ...create], { env: nodes.env(0) });
  const { secret_key: key } = JSON.parse(made.out) as { secret_key: string };
  for (const node of [0, 1])
    await eventually('the new key', async () =>
      (await bearer(nodes.at(node).url, key, 'GET', '/v1/me')).status === 200 ? true : null,
    );
  return key;
}

/**
 * Sends more than the allowance of a new key to both servers in turn. Returns how many were accepted; null when a server decided alone,
 * with the allowance for itself, as on a machine that stands still for 25 ms.
 */
async function accepted(): Promise<number | null> {
  const key = await limitedKey();
  // Each server's minute begins at another time. Where both are in the same minute the limit is that of one server.
  await eventually('a time in the middle of a minute', () => {
    const second = (Date.now() / SECOND) % 60;
    return Promise.resolve(second > 6 && second < 45 ? true : null);
  });
  const sent = Array.from({ length: 2 * ALLOWANCE }, (_none, n) => once(n % 2, {}, key));
  const answers = await Promise.all(sent);
  expect(answers.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
  if (answers.some(({ mode }) => mode === 'degraded')) return null;
  return answers.filter(({ status }) => status === 200).length;
}

describe.skipIf(!HAS_REDIS)('a server whose clock is some seconds off', () => {
  test.each([5, -5])(
    'With a clock %i s off, ids are accepted once, limits and blocks hold, and counts add up',
    async (seconds) => {
      await shift(seconds * SECOND);
      for (const first of [0, 1]) expect(await sendTwice(first)).toMatchObject([{ status: 200 }, REPLAYED]);

      expect(await eventually('servers that decide together', accepted)).toBe(ALLOWANCE);

      const token = `blocked-${serial++}`;
      const entry = { fingerprint_hash: fingerprintOf(token), action: 'block' };
      expect((await bearer(nodes.at(1).url, nodes.secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
      await eventually(
        'the block on the other server',
        async () => {
          const { json } = await decide(nodes.at(0).url, nodes.secretKey, { ...newcomer(), session_token: token });
          return json['decision'] === 'BLOCK' ? true : null;
        },
        FOLLOWED_MS_MAX,
      );

      await eventually('sign-ups that add up', async () => {
        const ip = `82.${1 + (serial++ % 250)}.69.160`;
        const fired: boolean[] = [];
        for (let n = 0; n < 4; n++) {
          const { reasons } = await visit(nodes.at(n % 2).url, nodes.secretKey, stranger(ip, 'signup'));
          fired.push(reasons.includes(SIGNUPS));
        }
        return JSON.stringify(fired) === JSON.stringify([false, false, false, true]) ? true : null;
      });
    },
  );

  test('A clock that is set back by 2 s lets no id through a second time', async () => {
    const ids = Array.from({ length: 5 }, () => ({ requestId: randomUUID() }));
    for (const id of ids) expect(await once(1, id)).toMatchObject({ status: 200 });
    await shift(-2 * SECOND);
    for (const id of ids) for (const node of [0, 1]) expect(await once(node, id)).toMatchObject(REPLAYED);
  });
});

describe.skipIf(!HAS_REDIS)('a server whose clock is 400 s off', () => {
  test('A clock that is set back while the server decides alone does not keep it alone', async () => {
    redis.pause();
    try {
      await eventually('a decision of this server alone', async () =>
        (await once(1)).mode === 'degraded' ? true : null,
      );
    } finally {
      redis.resume();
    }
    await shift(-400 * SECOND);
    const timestampSeconds = Math.floor(Date.now() / SECOND) - 400;
    expect(await once(1, { timestampSeconds })).toMatchObject({ status: 200, mode: 'unverified' });
  });

  test.each([400, -400])(
    'With a clock %i s off it refuses requests of the right time, the others go on, and afterwards no id passes twice',
    async (seconds) => {
      const [before, during] = [{ requestId: randomUUID() }, { requestId: randomUUID() }];
      expect(await once(1, before)).toMatchObject({ status: 200 });
      await shift(seconds * SECOND);
      expect(await once(1, during)).toMatchObject({ status: 401, code: 'timestamp_out_of_window' });
      expect(await once(0, during)).toMatchObject({ status: 200, mode: 'unverified' });
      expect(await once(0, before)).toMatchObject(REPLAYED);

      // An entry that is valid for five minutes is not removed by a clock for which they are over.
      const entry = {
        fingerprint_hash: fingerprintOf(`short-${serial++}`),
        action: 'watch',
        expires_at: Math.floor(Date.now() / SECOND) + 300,
      };
      expect((await bearer(nodes.at(0).url, nodes.secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);

      await shift(0);
      for (const id of [before, during])
        for (const node of [0, 1]) expect(await once(node, id)).toMatchObject(REPLAYED);
      for (const node of [0, 1]) {
        const path = `/v1/lists/${entry.fingerprint_hash}`;
        expect((await bearer(nodes.at(node).url, nodes.secretKey, 'GET', path)).status).toBe(200);
      }
    },
  );
});
