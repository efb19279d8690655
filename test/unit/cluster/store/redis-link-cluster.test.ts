import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { ClusterAdmission } from '../../../../src/cluster/admission/cluster-admission.ts';
import type { Command, MeasuredLink, Sent } from '../../../../src/cluster/store/link.ts';
import { openLink } from '../../../../src/cluster/store/redis-link.ts';
import { slotOf } from '../../../../src/cluster/store/hash-slots.ts';
import { LocalAdmission } from '../../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../../src/local/replay-guard.ts';
import type { AdmissionRequest } from '../../../../src/ports/admission.ts';
import { type RedisCluster, type RedisServer, startRedisCluster } from '../../../support/redis.ts';

let redis: RedisCluster;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  redis = await startRedisCluster();
});

afterAll(() => redis.stop());

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function openUp(): Promise<MeasuredLink> {
  const opened = openLink({ urls: redis.url.split(','), user: null, password: null });
  closing.push(() => opened.close());
  await allUp(opened);
  return opened;
}

const allUp = (opened: MeasuredLink): Promise<void> =>
  vi.waitFor(() => expect(opened.status()).toMatchObject({ stores: 3, storesUp: 3, details: [] }), 30_000);

const KEYS = Array.from({ length: 60 }, (_, n) => `{gh:k${n}}:n`);

const each = (name: string): readonly Command[] => KEYS.map((key) => ({ key, args: [name, key] }));
const kinds = (sent: readonly Sent[]): ReadonlySet<string> =>
  new Set(sent.map((one) => (one.kind === 'reply' ? 'reply' : one.what)));

function nodeOver(link: MeasuredLink, nodeId: string): ClusterAdmission {
  const hashKey = Buffer.alloc(16, 7);
  const local = new LocalAdmission(new ReplayGuard(10_000, hashKey), { stage: () => {} });
  const admission = new ClusterAdmission({ link, local, hashKey, nodeId, isStrict: false, deadlineMs: 5_000 });
  closing.push(() => admission.close());
  return admission;
}

let serial = 0;

function requestOf(keyNumber: number): AdmissionRequest {
  const nowSeconds = Date.UTC(2026, 10, 21, 12) / 1_000;
  const fields = {
    window: 'decide',
    allowance: 1_000,
    source: null,
    timestampSeconds: nowSeconds,
    nowSeconds,
  } as const;
  return { ...fields, keyNumber, requestId: `cluster-${serial++}` };
}

async function outcomes(admission: ClusterAdmission, batch: readonly AdmissionRequest[]): Promise<readonly string[]> {
  return (await admission.admit(batch)).map(({ outcome }) => outcome);
}

/** Moves a slot from its primary to another one, and stops between the two steps if `isHalf`. */
async function moveSlot(key: string, isHalf = false): Promise<readonly [RedisServer, RedisServer]> {
  const slot = String(slotOf(key));
  const from = await redis.primaryOf(key);
  const other = await Promise.all(KEYS.map((one) => redis.primaryOf(one)));
  const to = other.find(({ port }) => port !== from.port);
  if (to === undefined) throw new Error('the Cluster has one primary');
  const fromId = String(await from.command('CLUSTER', 'MYID'));
  const toId = String(await to.command('CLUSTER', 'MYID'));
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
  await from.command('MIGRATE', '127.0.0.1', String(to.port), key, '0', '5000');
  if (isHalf) return [from, to];
  await to.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
  await from.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
  return [from, to];
}

test('A link finds the primaries and sends each command to that of its slot', async () => {
  const opened = await openUp();
  expect(kinds(await opened.send(each('INCR'), 5_000))).toEqual(new Set(['reply']));
  expect(opened.counts).toMatchObject({ sends: 1, commands: 60, redirected: 0 });
});

test('A slot that has moved is found with one redirect, and then without', async () => {
  const opened = await openUp();
  const key = '{gh:k99}:moved';
  await opened.send([{ key, args: ['SET', key, 'kept'] }], 5_000);
  await moveSlot(key);
  const get = [{ key, args: ['GET', key] }];
  expect(await opened.send(get, 5_000)).toEqual([{ kind: 'reply', reply: Buffer.from('kept') }]);
  expect(opened.counts.redirected).toBe(1);
  await opened.send(get, 5_000);
  expect(opened.counts.redirected).toBe(1);
});

test('A key that is moving is asked for at its new primary, and the slot stays where it is', async () => {
  const opened = await openUp();
  const key = '{gh:k98}:moving';
  await opened.send([{ key, args: ['SET', key, 'kept'] }], 5_000);
  const [from, to] = await moveSlot(key, true);
  const get = [{ key, args: ['GET', key] }];
  for (const redirected of [1, 2]) {
    expect(await opened.send(get, 5_000)).toEqual([{ kind: 'reply', reply: Buffer.from('kept') }]);
    expect(opened.counts.redirected).toBe(redirected);
  }
  const slot = String(slotOf(key));
  const id = String(await to.command('CLUSTER', 'MYID'));
  for (const server of [to, from]) await server.command('CLUSTER', 'SETSLOT', slot, 'NODE', id);
});

test('Admission over a Cluster: a batch of many keys is one round trip, and its ids are refused by another node', async () => {
  const first = nodeOver(await openUp(), 'one');
  const second = nodeOver(await openUp(), 'other');
  const batch = Array.from({ length: 60 }, (_, n) => requestOf(n));
  expect(new Set(await outcomes(first, batch))).toEqual(new Set(['admitted']));
  expect(new Set(await outcomes(second, batch))).toEqual(new Set(['replayed']));
  for (const key of KEYS.slice(0, 10)) await (await redis.primaryOf(key)).command('FUNCTION', 'FLUSH');
  expect(new Set(await outcomes(second, batch))).toEqual(new Set(['replayed']));
  expect([first.counts.alone, second.counts.alone]).toEqual([0, 0]);
});

test('A paused primary does not delay the keys of others, and its replica takes over', async () => {
  await redis.settled();
  const opened = await openUp();
  await opened.send(each('INCR'), 5_000);
  const [key = ''] = KEYS;
  const paused = await redis.primaryOf(key);
  paused.pause();
  try {
    await vi.waitFor(async () =>
      expect(kinds(await opened.send([{ key, args: ['GET', key] }])).has('down')).toBe(true),
    );
    const startedAt = performance.now();
    const sent = await opened.send(each('GET'), 5_000);
    expect(performance.now() - startedAt).toBeLessThan(2_500);
    expect(kinds(sent)).toEqual(new Set(['reply', 'down']));
    await vi.waitFor(async () => expect(kinds(await opened.send(each('GET'), 1_000))).toEqual(new Set(['reply'])), {
      timeout: 60_000,
      interval: 100,
    });
  } finally {
    paused.resume();
  }
  await redis.settled();
});

test('A killed primary is replaced by its replica, also for a link that opens while it is dead', async () => {
  await redis.settled();
  const opened = await openUp();
  const [key = ''] = KEYS;
  const used = Array.from({ length: 60 }, (_, n) => requestOf(n));
  expect(new Set(await outcomes(nodeOver(opened, 'one'), used))).toEqual(new Set(['admitted']));
  await redis.settled();
  const killed = await redis.primaryOf(key);
  await killed.kill();
  const late = openLink({ urls: redis.url.split(','), user: null, password: null });
  closing.push(() => late.close());
  for (const link of [opened, late])
    await vi.waitFor(async () => expect(kinds(await link.send(each('INCR'), 1_000))).toEqual(new Set(['reply'])), {
      timeout: 60_000,
      interval: 100,
    });
  // What the replica has, the node that did not admit it refuses.
  expect(new Set(await outcomes(nodeOver(late, 'other'), used))).toEqual(new Set(['replayed']));
  await killed.restart();
  await redis.settled();
  await allUp(opened);
});
