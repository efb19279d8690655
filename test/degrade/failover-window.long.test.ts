import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { ClusterAdmission } from '../../src/cluster/admission/cluster-admission.ts';
import { LINK_DEADLINE_MS } from '../../src/cluster/store/link.ts';
import { openLink } from '../../src/cluster/store/redis-link.ts';
import { LocalAdmission } from '../../src/local/local-admission.ts';
import { ReplayGuard } from '../../src/local/replay-guard.ts';
import type { AdmissionRequest } from '../../src/ports/admission.ts';
import { timesInFull } from '../support/long.ts';
import { HAS_REDIS, startRedisCluster } from '../support/redis.ts';
import { eventually } from '../support/webhooks.ts';

/**
 * A primary replicates asynchronously: what it accepted last is lost when it is killed. Measures how many ids that a node has admitted over
 * the store another node admits again after the failover, and how long before the kill the oldest of them was admitted.
 */

const FAILOVERS = timesInFull(6);
/** Ids in a batch, and the pause between two batches: at least 4,000 a second on an idle machine. */
const BATCH = 16;
const PAUSE_MS = 4;
const LOADED_MS = 1_000;
/** Choice: ten times the largest of what was measured. */
const WINDOW_MS_MAX = 500;
/** A stall of the machine must not look like a fault of the store. */
const AMPLE_MS = 5_000;
const HASH_KEY = Buffer.alloc(16, 7);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function openNode(url: string, nodeId: string, deadlineMs = LINK_DEADLINE_MS): Promise<ClusterAdmission> {
  const link = openLink({ urls: url.split(','), user: null, password: null });
  await eventually('the link', () => Promise.resolve(link.status().storesUp === 3 ? true : null));
  const local = new LocalAdmission(new ReplayGuard(1_000_000, HASH_KEY), { stage: () => {} });
  const admission = new ClusterAdmission({ link, local, hashKey: HASH_KEY, nodeId, isStrict: false, deadlineMs });
  closing.push(
    () => link.close(),
    () => admission.close(),
  );
  await admission.prepare();
  return admission;
}

interface Admitted {
  readonly request: AdmissionRequest;
  readonly atMs: number;
}

let serial = 0;

function batchOf(nowSeconds: number): AdmissionRequest[] {
  return Array.from({ length: BATCH }, () => ({
    window: 'decide' as const,
    keyNumber: 1,
    allowance: 1_000_000_000,
    source: null,
    requestId: `id-${serial++}`,
    timestampSeconds: nowSeconds,
    nowSeconds,
  }));
}

/** Admits new ids until told to stop. Returns those that the store has admitted, and the number of those that the node admitted alone. */
async function load(
  node: ClusterAdmission,
  state: { isOver: boolean },
): Promise<{ shared: Admitted[]; alone: number }> {
  const shared: Admitted[] = [];
  let alone = 0;
  while (!state.isOver) {
    const verdicts = await node.admit(batchOf(Math.floor(Date.now() / 1_000)));
    const atMs = performance.now();
    for (const verdict of verdicts) {
      if (verdict.outcome !== 'admitted') continue;
      if (verdict.isDegraded === true) alone++;
      else shared.push({ request: verdict.request, atMs });
    }
    await sleep(PAUSE_MS);
  }
  return { shared, alone };
}

/** Returns those that this node admits too. */
async function admittedAgain(node: ClusterAdmission, all: readonly Admitted[]): Promise<Admitted[]> {
  const again: Admitted[] = [];
  for (let from = 0; from < all.length; from += BATCH) {
    const some = all.slice(from, from + BATCH);
    const verdicts = await node.admit(some.map(({ request }) => request));
    for (const [n, verdict] of verdicts.entries()) {
      const one = some[n];
      if (verdict.outcome === 'admitted' && verdict.isDegraded !== true && one !== undefined) again.push(one);
    }
  }
  return again;
}

test.skipIf(!HAS_REDIS)('A failover forgets only ids of the last moment before the primary was killed', async () => {
  const store = await startRedisCluster();
  closing.push(() => store.stop());
  const [one, other] = [await openNode(store.url, 'one'), await openNode(store.url, 'other', AMPLE_MS)];
  const windows: object[] = [];
  for (let n = 0; n < FAILOVERS; n++) {
    const state = { isOver: false };
    const loading = load(one, state);
    await sleep(LOADED_MS * (1 + Math.random()));
    const primary = await store.primaryOf('{gh:k1}');
    const killedAtMs = performance.now();
    await primary.kill();
    await eventually('the replica', async () => ((await isShared(one)) ? true : null));
    const failoverMs = performance.now() - killedAtMs;
    state.isOver = true;
    const { shared, alone } = await loading;
    const before = shared.filter(({ atMs }) => atMs <= killedAtMs);
    const after = shared.filter(({ atMs }) => atMs > killedAtMs);
    await eventually('the other node', async () => ((await isShared(other)) ? true : null));
    const again = await admittedAgain(other, before);
    const afterwards = await admittedAgain(other, after);
    const windowMs = Math.max(0, ...again.map(({ atMs }) => killedAtMs - atMs));
    windows.push({
      perSecond: Math.round((before.length / (killedAtMs - (before[0]?.atMs ?? 0))) * 1_000),
      before: before.length,
      again: again.length,
      windowMs: Math.round(windowMs * 10) / 10,
      // Between the look at the clock and the end of the process.
      afterTheLook: afterwards.length,
      failoverMs: Math.round(failoverMs),
      alone,
    });
    expect(before.length).toBeGreaterThan(100);
    expect(windowMs).toBeLessThan(WINDOW_MS_MAX);
    await primary.restart();
    await store.settled();
  }
  console.log('time in which only the primary has a write, ms', await replicationMs(store.url, one));
  console.log('ids that a second node admits again after a failover', windows);
});

const SAMPLES = 300;

/**
 * Returns quantiles of the time from a write's reply until its replica has confirmed it, under load: what the death of a machine, with all
 * that is in its network buffers, takes along. The death of the process takes less.
 */
async function replicationMs(
  url: string,
  node: ClusterAdmission,
): Promise<Readonly<Record<'p50' | 'p99' | 'max', number>>> {
  const link = openLink({ urls: url.split(','), user: null, password: null });
  await eventually('the link', () => Promise.resolve(link.status().storesUp === 3 ? true : null));
  closing.push(() => link.close());
  const state = { isOver: false };
  const loading = load(node, state);
  const key = '{gh:k1}:sample';
  const times: number[] = [];
  for (let n = 0; n < SAMPLES; n++) {
    await link.send([{ key, args: ['SET', key, String(n)] }], AMPLE_MS);
    const writtenAtMs = performance.now();
    const [confirmed] = await link.send([{ key, args: ['WAIT', '1', '5000'] }], AMPLE_MS);
    times.push(performance.now() - writtenAtMs);
    expect(confirmed).toEqual({ kind: 'reply', reply: 1 });
  }
  state.isOver = true;
  await loading;
  times.sort((a, b) => a - b);
  const at = (share: number): number => Math.round((times[Math.floor((SAMPLES - 1) * share)] ?? NaN) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Whether the store admits. */
async function isShared(node: ClusterAdmission): Promise<boolean> {
  const [verdict] = await node.admit(batchOf(Math.floor(Date.now() / 1_000)).slice(0, 1));
  return verdict?.outcome === 'admitted' && verdict.isDegraded !== true;
}
