import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startNodes, type Nodes } from '../support/cluster.ts';
import { IS_FULL } from '../support/long.ts';
import { bearer, fingerprintOf } from '../support/manage.ts';
import { HAS_REDIS, startRedisCluster, type RedisCluster } from '../support/redis.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { eventually, startReceiver, webhookClient, type Receiver } from '../support/webhooks.ts';

/**
 * Histories of three nodes over a Redis Cluster, through rounds of random faults with a fixed seed: what was acknowledged is never lost,
 * and no request id is accepted twice, except while the primary that holds it is replaced. That window is measured and printed.
 */

const SEED = Number(process.env['GATEHOUSE_TEST_SEED'] ?? 20_261_123);
const ROUNDS = IS_FULL ? 20 : 4;
const NODES = 3;
const ROUND_MS = 2_500;
const STEP_MS = 40;
/** Choice: a quarter of a round passes before and after a fault. */
const FAULT_AT_MS = ROUND_MS / 4;
const ATTEMPTS_MAX = 4;
const BLOCKED = 'a-session-that-is-blocked';

type FaultKind = 'kill a primary' | 'pause a primary' | 'kill a node' | 'pause a node' | 'flush functions';
const FAULTS: readonly FaultKind[] = [
  'kill a primary',
  'kill a node',
  'pause a primary',
  'pause a node',
  'flush functions',
];

let store: RedisCluster;
let nodes: Nodes;
let receiver: Receiver;
beforeAll(async () => {
  if (!HAS_REDIS) return;
  receiver = await startReceiver();
  store = await startRedisCluster();
  nodes = await startNodes({
    count: NODES,
    storeUrl: store.url,
    env: { GATEHOUSE_WORKERS: '1', GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' },
  });
});
afterAll(async () => {
  if (!HAS_REDIS) return;
  await nodes.stop();
  await store.stop();
  await receiver.close();
});

/** Same numbers for the same seed. Source: the generator mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Acceptance {
  readonly round: number;
  readonly atMs: number;
  /** Decided by one node alone, and reported as such. */
  readonly isAlone: boolean;
}

/** What clients saw. */
class Histories {
  /** Request id → its acceptances. */
  readonly accepted = new Map<string, Acceptance[]>();
  /** Hashes whose list entry was acknowledged. */
  readonly listed: string[] = [];
  /** Ids of BLOCK decisions that were answered. */
  readonly blocked: string[] = [];
  /** Last lines of nodes that ended by themselves. */
  readonly ended: string[] = [];

  get twice(): readonly (readonly Acceptance[])[] {
    return [...this.accepted.values()].filter((all) => all.length > 1);
  }
}

/** Sends one copy of a request to each of two nodes, a list entry and now and then a blocked session. */
async function step(histories: Histories, round: number, n: number, random: () => number): Promise<void> {
  const urls = nodes.urls();
  const any = (): string => urls[Math.floor(random() * urls.length)] ?? '';
  const key = nodes.secretKey;
  const requestId = randomUUID();
  const [one, other] = [any(), any()];
  const copy = async (url: string): Promise<void> => {
    const answer = await decide(url, key, newcomer(), { requestId }).catch(() => null);
    if (answer?.status !== 200) return;
    const isAlone = answer.json['session_mode'] === 'degraded';
    const known = histories.accepted.get(requestId) ?? [];
    histories.accepted.set(requestId, [...known, { round, atMs: performance.now(), isAlone }]);
  };
  const list = async (url: string): Promise<void> => {
    const hash = fingerprintOf(`${round}-${n}`);
    const entry = { fingerprint_hash: hash, action: 'watch' };
    const answer = await bearer(url, key, 'POST', '/v1/lists', entry).catch(() => null);
    if (answer !== null && answer.status < 300) histories.listed.push(hash);
  };
  const block = async (url: string): Promise<void> => {
    const answer = await decide(url, key, { ...newcomer(), session_token: BLOCKED }).catch(() => null);
    if (answer?.json['decision'] === 'BLOCK') histories.blocked.push(String(answer.json['request_id']));
  };
  await Promise.all([
    copy(one).then(() => copy(other)),
    n % 4 === 0 ? list(any()) : undefined,
    n % 8 === 0 ? block(any()) : undefined,
  ]);
}

/** Causes the fault, and ends it. Returns when the store is complete again. */
async function cause(kind: FaultKind, random: () => number): Promise<void> {
  const node = Math.floor(random() * NODES);
  const primary = await store.primaryOf(`{gh:k${1 + Math.floor(random() * 8)}}`);
  switch (kind) {
    case 'kill a primary':
      await primary.kill();
      await sleep(ROUND_MS / 2);
      await primary.restart();
      break;
    case 'pause a primary':
      primary.pause();
      await sleep(ROUND_MS / 4);
      primary.resume();
      break;
    case 'kill a node':
      await nodes.stopNode(node, 'SIGKILL');
      await nodes.startNode(node);
      break;
    case 'pause a node':
      process.kill(nodes.at(node).pid, 'SIGSTOP');
      await sleep(ROUND_MS / 4);
      process.kill(nodes.at(node).pid, 'SIGCONT');
      break;
    case 'flush functions':
      for (const server of store.servers) await server.command('FUNCTION', 'FLUSH').catch(() => {});
      break;
  }
  await store.settled();
}

async function runRound(round: number, kind: FaultKind, histories: Histories, random: () => number): Promise<void> {
  const running = { isOver: false };
  const fault = sleep(FAULT_AT_MS)
    .then(() => cause(kind, random))
    .finally(() => (running.isOver = true));
  const steps: Promise<void>[] = [];
  const startMs = performance.now();
  for (let n = 0; !running.isOver || performance.now() - startMs < ROUND_MS; n++) {
    steps.push(step(histories, round, n, random));
    await sleep(STEP_MS);
  }
  await Promise.all([...steps, fault]);
  await eventually('all nodes with the store', async () => {
    const states = await Promise.all(Array.from({ length: NODES }, (_, node) => stateOf(node, histories)));
    return states.every((state) => state === 'ok') ? true : null;
  });
}

/** State of the layer `cluster` on a node. Starts a node again that has ended by itself, as its supervisor does. */
async function stateOf(node: number, histories: Histories): Promise<string> {
  const server = nodes.at(node);
  const answer = await get(server.url, '/readyz').catch(() => null);
  if (answer !== null) return (answer.json['layers'] as { cluster: { state: string } }).cluster.state;
  histories.ended.push(server.stdout().trimEnd().split('\n').at(-1) ?? '');
  await nodes.stopNode(node, 'SIGKILL');
  await nodes.startNode(node);
  return 'started';
}

test.skipIf(!HAS_REDIS)('Through random faults nothing acknowledged is lost, and no id is accepted twice', async () => {
  const random = randomOf(SEED);
  const histories = new Histories();
  const key = nodes.secretKey;
  const blocked = { fingerprint_hash: fingerprintOf(BLOCKED), action: 'block' };
  expect((await bearer(nodes.at(0).url, key, 'POST', '/v1/lists', blocked)).status).toBe(201);
  await webhookClient(nodes.at(0).url, key).create(receiver.url, 'BLOCK');
  const kinds: FaultKind[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // Every kind in turn, in another order in each cycle.
    const kind = FAULTS[(round + Math.floor(random() * 2)) % FAULTS.length] ?? 'pause a node';
    kinds.push(kind);
    await runRound(round, kind, histories, random);
  }
  const about = `seed ${SEED}, rounds ${kinds.join(', ')}`;

  // Writes: each is on every node.
  expect(histories.listed.length).toBeGreaterThan(ROUNDS);
  for (const url of nodes.urls()) {
    const missing: string[] = [];
    for (const hash of histories.listed)
      if ((await bearer(url, key, 'GET', `/v1/lists/${hash}`)).status !== 200) missing.push(hash);
    expect(missing).toEqual([]);
  }

  // Deliveries: each decision's arrives, at most four times.
  const arrivals = (): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { body } of receiver.arrivals) {
      const { request_id: id } = JSON.parse(body.toString()) as { request_id: string };
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  };
  expect(histories.blocked.length).toBeGreaterThan(0);
  await eventually(`the deliveries of all decisions, ${about}`, async () => {
    const counts = arrivals();
    return histories.blocked.every((id) => counts.has(id)) ? true : null;
  });
  expect(Math.max(...arrivals().values())).toBeLessThanOrEqual(ATTEMPTS_MAX);

  // Ids: twice only while a node decided alone, or when a primary died with what its replica had not got yet.
  const windows = histories.twice.map((all) => ({
    kind: kinds[all[0]?.round ?? 0],
    isAlone: all.some((one) => one.isAlone),
    ms: Math.round((all.at(-1)?.atMs ?? 0) - (all[0]?.atMs ?? 0)),
  }));
  console.log(
    `${histories.accepted.size} ids, ${histories.listed.length} list entries, ${histories.blocked.length} deliveries; ` +
      `${windows.length} ids accepted by two nodes during failovers`,
    windows,
    histories.ended,
    about,
  );
  const unexplained = windows.filter(({ kind, isAlone }) => !isAlone && kind !== 'kill a primary');
  expect({ unexplained, about }).toEqual({ unexplained: [], about });
});
