import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Nodes, startNodes } from '../support/cluster.ts';
import { bearer } from '../support/manage.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis.ts';
import { decide } from '../support/requests.ts';
import { until } from '../support/velocity-nodes.ts';
import { type Decided, stranger, visit } from '../support/visits.ts';

/** Promises about velocity over two nodes, observed from outside. */

const SIGNUPS = 'velocity_ip_signups_24h';
const FAILURES = 'login_failures_entity_1h';

let redis: RedisServer;
let nodes: Nodes;
let address = 0;
beforeAll(async () => {
  redis = await startRedis();
  nodes = await startNodes({ count: 2, storeUrl: redis.url, env: { GATEHOUSE_WORKERS: '2' } });
  // A worker's connection may come up after its node.
  for (const node of [0, 1]) await settled(node);
});
afterAll(async () => {
  await nodes.stop();
  await redis.stop();
});

/** In another network each time. */
const anotherAddress = (): string => `81.${++address}.69.160`;

let hasMissed = false;

async function at(node: number, body: unknown): Promise<Decided> {
  const decided = await visit(nodes.at(node).url, nodes.secretKey, body);
  hasMissed ||= decided.isDegraded;
  return decided;
}

/** A sign-up of a person that nobody has seen. */
function signup(node: number, ip: string): Promise<Decided> {
  return at(node, stranger(ip, 'signup'));
}

const REPETITIONS_MAX = 5;

/**
 * Runs a test with an address that nobody has used. On a machine that stands still for 25 ms a node decides alone: a run with such a
 * decision says nothing about several nodes, and is repeated.
 */
function together(run: (ip: string) => Promise<void>): () => Promise<void> {
  return async () => {
    for (let n = 1; ; n++) {
      hasMissed = false;
      try {
        await run(anotherAddress());
        return;
      } catch (error) {
        if (!hasMissed || n === REPETITIONS_MAX) throw error;
      }
      for (const node of [0, 1]) await settled(node);
    }
  };
}

/** Resolves when decisions of a node are counted together with those of the other. */
async function settled(node: number): Promise<void> {
  const isDegraded = async (): Promise<boolean> => {
    const { json } = await decide(nodes.at(node).url, nodes.secretKey, stranger(anotherAddress(), 'search'));
    const { layers } = (await (await fetch(`${nodes.at(node).url}/readyz`)).json()) as Readiness;
    return json['session_mode'] === 'degraded' || layers.velocity.state !== 'ok';
  };
  await until(`node ${node}`, async () => !(await isDegraded()));
}

interface Readiness {
  readonly layers: { readonly velocity: { readonly state: string; readonly detail: string } };
}

async function metric(node: number, name: string): Promise<number> {
  const text = await (await fetch(`${nodes.at(node).url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`gatehouse_velocity_exchange_${name} `));
  return Number(line?.split(' ')[1]);
}

describe.runIf(HAS_REDIS)('velocity over two nodes', () => {
  test.each([0, 1])(
    'Sign-ups from one address at alternating nodes add up: the fourth fires the rule, beginning at node %i',
    (first) =>
      together(async (ip) => {
        const fired: boolean[] = [];
        for (let n = 0; n < 4; n++) fired.push((await signup((first + n) % 2, ip)).reasons.includes(SIGNUPS));
        expect(fired).toEqual([false, false, false, true]);
      })(),
  );

  test(
    'Outcomes that are reported at one node count at the other from its next decision on',
    together(async (ip) => {
      const login = { ...stranger(ip), entity_keys: { user_id: `anna-${randomUUID()}` } };
      const guess = (node: number): Promise<Decided> => at(node, { ...login, session_token: randomUUID() });
      const outcomes: { request_id: string; outcome: string }[][] = [[], []];
      for (let n = 0; n < 10; n++) {
        const { requestId } = await guess(n % 2);
        outcomes[n % 2]?.push({ request_id: requestId, outcome: 'failed' });
      }
      for (const node of [0, 1]) expect((await guess(node)).reasons).not.toContain(FAILURES);
      // Each at the node that decided it: the test does not depend on how nodes find each other's decisions.
      for (const node of [0, 1]) {
        const body = { outcomes: outcomes[node] };
        const { json } = await bearer(nodes.at(node).url, nodes.secretKey, 'POST', '/v1/outcomes', body);
        expect(json).toEqual({ accepted: 5, rejected: [] });
      }
      for (const node of [0, 1]) expect((await guess(node)).reasons).toContain(FAILURES);
    }),
  );

  test(
    'A simulation counts at no node and sends nothing',
    together(async (ip) => {
      const sent = await metric(0, 'entries_sent_total');
      for (let n = 0; n < 6; n++) {
        const body = stranger(ip, 'signup');
        const { status } = await bearer(nodes.at(0).url, nodes.secretKey, 'POST', '/v1/simulate', body);
        expect(status).toBe(200);
      }
      expect(await metric(0, 'entries_sent_total')).toBe(sent);
      expect((await signup(1, ip)).reasons).not.toContain(SIGNUPS);
    }),
  );

  test(
    'A node that is killed and started again knows its sign-ups and those of the other meanwhile',
    together(async (ip) => {
      await signup(0, ip);
      await signup(1, ip);
      await nodes.stopNode(0, 'SIGKILL');
      await signup(1, ip);
      await nodes.startNode(0);
      await settled(0);
      expect((await signup(0, ip)).reasons).toContain(SIGNUPS);
    }),
  );

  test(
    'A node that is stopped and started again goes on without counting anything twice',
    together(async (ip) => {
      await signup(0, ip);
      await signup(1, ip);
      await nodes.stopNode(0, 'SIGTERM');
      await nodes.startNode(0);
      await settled(0);
      const fired: boolean[] = [];
      for (const node of [0, 1]) fired.push((await signup(node, ip)).reasons.includes(SIGNUPS));
      expect(fired).toEqual([false, true]);
    }),
  );

  test(
    'Without the store each node decides alone, reports degraded, and afterwards their events add up',
    together(async (ip) => {
      redis.pause();
      try {
        for (let n = 0; n < 4; n++) {
          const { status, json } = await decide(nodes.at(n % 2).url, nodes.secretKey, stranger(ip, 'signup'));
          expect([status, json['session_mode']]).toEqual([200, 'degraded']);
          expect(json['reasons']).not.toContain(SIGNUPS);
        }
        const { layers } = (await (await fetch(`${nodes.at(0).url}/readyz`)).json()) as Readiness;
        expect(layers.velocity).toMatchObject({ state: 'broken', detail: 'events are counted by this node alone' });
      } finally {
        redis.resume();
      }
      for (const node of [0, 1]) {
        await until('what waited', async () => (await metric(node, 'waiting')) === 0);
        await settled(node);
      }
      for (const node of [0, 1]) expect((await signup(node, ip)).reasons).toContain(SIGNUPS);
    }),
  );
});
