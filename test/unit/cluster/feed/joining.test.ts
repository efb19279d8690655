import { existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HEAD_KEY, REPLICAS_KEY } from '../../../../src/cluster/feed/feed-keys.ts';
import { clusterStatus, leaveCluster, prepareJoin } from '../../../../src/cluster/feed/membership-commands.ts';
import type { Link } from '../../../../src/cluster/store/link.ts';
import { openLink } from '../../../../src/cluster/store/redis-link.ts';
import { ensureUsable } from '../../../../src/state/repair/ensure-usable.ts';
import { newCustomer } from '../../../../src/state/feed/key-changes.ts';
import { openStore } from '../../../../src/state/feed/open-store.ts';
import { CHANGES_FROM_MS } from '../../../support/any-change.ts';
import { caughtUp, type FeedNode, openNode, rowsOf, until } from '../../../support/feeds.ts';
import { withOwnClock } from '../../../support/own-clock.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../../support/redis.ts';
import { open, value } from '../../state/support.ts';

let redis: RedisServer;
let link: Link;
beforeAll(async () => {
  redis = await startRedis();
  const opened = openLink({ urls: [redis.url], user: null, password: null });
  await until(() => opened.isUp);
  link = opened;
});
afterAll(async () => {
  await link.close();
  await redis.stop();
});
beforeEach(() => redis.flush());

const ORIGIN = { by: 'service', nowMs: CHANGES_FROM_MS } as const;

/** A data directory that has worked alone, with one customer. */
async function aloneWith(name: string): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-alone-'));
  const usable = await ensureUsable({ dataDir, simulated: false, repair: true, nowMs: Date.now() });
  expect(usable.kind).toBe('ok');
  const store = open(dataDir);
  await value(store.changes.commit(newCustomer(name, CHANGES_FROM_MS), ORIGIN));
  await store.close();
  return dataDir;
}

function namesOf({ store }: Pick<FeedNode, 'store'>): readonly string[] {
  return store.tables.customers.all().map(({ name }) => name);
}

describe.runIf(HAS_REDIS)('founding and joining', () => {
  test('The first node founds the cluster with its data, and an empty one joins and gets it', async () => {
    const founder = await openNode(redis.url, { dataDir: await aloneWith('old') });
    expect(founder.opened).toEqual({ kind: 'ok', how: 'founded' });
    const joiner = await openNode(redis.url);
    expect(joiner.opened).toEqual({ kind: 'ok', how: 'joined' });
    expect(rowsOf(joiner.store)).toEqual(rowsOf(founder.store));
    const next = await value(joiner.feed.commit(newCustomer('new', CHANGES_FROM_MS), ORIGIN));
    expect(next.number).toBe(2);
    await caughtUp([founder, joiner]);
    expect(namesOf(founder)).toEqual(['old', 'new']);
  });

  test('A node whose clock is ten minutes behind gets the data of the others', async () => {
    const founder = await openNode(redis.url, { dataDir: await aloneWith('old') });
    const joiner = await withOwnClock(-600_000, () => openNode(redis.url));
    expect(joiner.opened).toEqual({ kind: 'ok', how: 'joined' });
    expect(rowsOf(joiner.store)).toEqual(rowsOf(founder.store));
  });

  test('Of nodes that start at once one founds the cluster, and the others have its data', async () => {
    const nodes = await Promise.all(Array.from({ length: 3 }, () => openNode(redis.url)));
    const how = nodes.map(({ opened }) => (opened.kind === 'ok' ? opened.how : opened.detail));
    expect(how.toSorted()).toEqual(['founded', 'joined', 'joined']);
    await Promise.all(nodes.map(({ feed }, n) => value(feed.commit(newCustomer(`c${n}`, CHANGES_FROM_MS), ORIGIN))));
    await caughtUp(nodes);
    for (const node of nodes) expect(rowsOf(node.store)).toEqual(rowsOf(nodes[0]?.store ?? node.store));
  });

  test('A node with other data is refused, and nothing of either is changed', async () => {
    const founder = await openNode(redis.url, { dataDir: await aloneWith('first') });
    const other = await openNode(redis.url, { dataDir: await aloneWith('second') });
    expect(other.opened).toMatchObject({ kind: 'fault', code: 'cluster_refused' });
    expect(other.opened).toMatchObject({ detail: expect.stringContaining('cluster join --replace') as unknown });
    expect([namesOf(founder), namesOf(other)]).toEqual([['first'], ['second']]);
    expect(other.store.positions?.read()).toBeNull();
  });

  test('A node with another master key, or of another cluster, is refused', async () => {
    const first = await openNode(redis.url);
    const foreign = await openNode(redis.url, { key: Buffer.alloc(32, 8) });
    expect(foreign.opened).toMatchObject({ kind: 'fault', code: 'cluster_refused' });
    expect(foreign.opened).toMatchObject({ detail: expect.stringContaining('GATEHOUSE_MASTER_KEY') as unknown });
    const member = await openNode(redis.url);
    await member.close();
    await first.close();
    await redis.flush();
    await openNode(redis.url);
    const lost = await openNode(redis.url, { dataDir: member.dataDir, node: member.id });
    expect(lost.opened).toMatchObject({ kind: 'fault', code: 'cluster_refused' });
  });

  test('A node without data that starts when the store has just lost everything joins the nodes that live', async () => {
    const founder = await openNode(redis.url, { dataDir: await aloneWith('old') });
    await redis.flush();
    const joiner = await openNode(redis.url);
    expect(joiner.opened).toEqual({ kind: 'ok', how: 'joined' });
    expect(rowsOf(joiner.store)).toEqual(rowsOf(founder.store));
  });

  test('A founder that is killed before the store knows of the cluster founds it with its next start', async () => {
    const dataDir = await aloneWith('old');
    const store = open(dataDir);
    const position = { cluster: 'c-1', term: 1, number: 1, last: '', isLoading: false };
    await store.state.transaction(() => store.positions?.put(position));
    await store.close();
    const founder = await openNode(redis.url, { dataDir });
    await until(() => founder.feed.state.kind === 'current');
    await value(founder.feed.commit(newCustomer('new', CHANGES_FROM_MS), ORIGIN));
    const joiner = await openNode(redis.url);
    expect(namesOf(joiner)).toEqual(['old', 'new']);
  });

  test('Without the store, a node with data starts with it and follows when the store is back; an empty one does not start', async () => {
    const [one, other] = [await openNode(redis.url), await openNode(redis.url)];
    await value(one.feed.commit(newCustomer('known', CHANGES_FROM_MS), ORIGIN));
    await caughtUp([one, other]);
    await other.close();
    await redis.kill();
    const alone = await openNode(redis.url, { dataDir: other.dataDir, node: other.id, startMs: 200 });
    expect(alone.opened).toEqual({ kind: 'ok', how: 'alone' });
    expect(namesOf(alone)).toEqual(['known']);
    const empty = await openNode(redis.url, { startMs: 200 });
    expect(empty.opened).toMatchObject({ kind: 'fault', code: 'cluster_unavailable' });
    await redis.restart();
    await until(() => one.feed.state.kind === 'current' && alone.feed.state.kind === 'current', 30_000);
    await value(one.feed.commit(newCustomer('later', CHANGES_FROM_MS), ORIGIN));
    await caughtUp([one, alone]);
    expect(namesOf(alone)).toEqual(['known', 'later']);
  }, 60_000);
});

describe.runIf(HAS_REDIS)('the upgrade from a stream of format 1', () => {
  /** A member of such a cluster that has applied 5 changes, and the store with this many. */
  async function memberOf(changes: number): Promise<string> {
    const dataDir = await aloneWith('old');
    const store = open(dataDir);
    const position = { cluster: 'c-1', term: 0, number: 5, last: 'run:1:0', isLoading: false };
    await store.state.transaction(() => store.positions?.put(position));
    await store.close();
    const head = ['id', 'c-1', 'check', 'x', 'format', '1', 'number', String(changes), 'last', 'run:1:0', 'bytes', '0'];
    await redis.command('HSET', HEAD_KEY, ...head);
    return dataDir;
  }

  test('The first node founds the stream again, and the others take what they lack from it', async () => {
    const [dataDir, behind] = [await memberOf(5), await memberOf(5)];
    const store = open(behind);
    await store.state.transaction(() =>
      store.positions?.put({ cluster: 'c-1', term: 0, number: 3, last: 'run:0:0', isLoading: false }),
    );
    await store.close();
    const first = await openNode(redis.url, { dataDir });
    await until(() => first.feed.state.kind === 'current');
    await value(first.feed.commit(newCustomer('new', CHANGES_FROM_MS), ORIGIN));
    expect(first.feed.position).toBe(6);
    const other = await openNode(redis.url, { dataDir: behind });
    await until(() => other.feed.state.kind === 'current');
    expect(namesOf(other)).toEqual(['old', 'new']);
    expect(rowsOf(other.store)).toEqual(rowsOf(first.store));
  });

  test('A start is refused that would lose changes, or while an older node runs; nothing is changed', async () => {
    const dataDir = await memberOf(6);
    const fewer = await openNode(redis.url, { dataDir });
    expect(fewer.opened).toMatchObject({ detail: expect.stringContaining('the newest data first') as unknown });
    await fewer.close();
    await redis.command('HSET', HEAD_KEY, 'number', '5');
    const report = { cluster: 'c-1', number: 5, state: 'current', atMs: Date.now() + 2_000 };
    await redis.command('HSET', REPLICAS_KEY, 'older', JSON.stringify(report));
    const beside = await openNode(redis.url, { dataDir });
    expect(beside.opened).toMatchObject({ detail: expect.stringContaining('an older version are running') as unknown });
    expect(await redis.command('HGET', HEAD_KEY, 'format')).toBe('1');
  });
});

describe.runIf(HAS_REDIS)('the commands', () => {
  test('join warns that a directory without data would found a cluster without data', async () => {
    const dataDir = await aloneWith('first');
    const willDo = async (folder: string): Promise<unknown> => prepareJoin(link, folder, false, Date.now());
    expect(await willDo(dataDir)).toMatchObject({ will: 'found' });
    expect(await willDo(join(dataDir, 'absent'))).toMatchObject({ will: 'found_empty' });
    await openNode(redis.url, { dataDir });
    expect(await willDo(join(dataDir, 'absent'))).toMatchObject({ will: 'join' });
  });

  test('join --replace moves other data aside, and the next start has the data of the cluster', async () => {
    const founder = await openNode(redis.url, { dataDir: await aloneWith('first') });
    const dataDir = await aloneWith('second');
    mkdirSync(join(dataDir, 'hot', 'replay'), { recursive: true });
    expect(await prepareJoin(link, dataDir, false, Date.now())).toMatchObject({
      kind: 'fault',
      code: 'cluster_refused',
    });
    const prospect = await prepareJoin(link, dataDir, true, Date.now());
    expect(prospect).toMatchObject({ kind: 'ok', will: 'join' });
    const aside = prospect.kind === 'ok' ? (prospect.aside ?? '') : '';
    expect(existsSync(join(dataDir, aside, 'state', 'data.mdb'))).toBe(true);
    expect(readdirSync(dataDir)).not.toContain('hot');
    const joiner = await openNode(redis.url, { dataDir });
    expect(rowsOf(joiner.store)).toEqual(rowsOf(founder.store));
  });

  test('leave makes the directory work alone with all its data; before that nothing but its cluster changes it', async () => {
    const founder = await openNode(redis.url, { dataDir: await aloneWith('first') });
    await value(founder.feed.commit(newCustomer('second', CHANGES_FROM_MS), ORIGIN));
    await founder.close();
    const member = openStore({ dataDir: founder.dataDir, readOnly: false });
    if (member.kind === 'fault') throw new Error(member.detail);
    const refused = await member.store.changes.commit(newCustomer('no', CHANGES_FROM_MS), ORIGIN);
    expect(refused).toMatchObject({ kind: 'fault', code: 'cluster_member' });
    await member.store.close();
    expect(await leaveCluster(founder.dataDir)).toEqual({ kind: 'ok', was: true });
    expect(await leaveCluster(founder.dataDir)).toEqual({ kind: 'ok', was: false });
    const store = open(founder.dataDir);
    const third = await value(store.changes.commit(newCustomer('third', CHANGES_FROM_MS), ORIGIN));
    expect(third.number).toBe(3);
    expect(namesOf({ store })).toEqual(['first', 'second', 'third']);
    await store.close();
  });

  test('leave --force makes a directory work alone that a snapshot has left incomplete, which leave alone refuses', async () => {
    const founder = await openNode(redis.url, { dataDir: await aloneWith('first') });
    await founder.close();
    const store = open(founder.dataDir);
    const position = { cluster: 'c-1', term: 0, number: 0, last: '', isLoading: true };
    await store.state.transaction(() => store.positions?.put(position));
    await store.close();
    expect(await leaveCluster(founder.dataDir)).toMatchObject({
      code: 'cluster_refused',
      detail: expect.stringContaining('--force') as unknown,
    });
    expect(await leaveCluster(founder.dataDir, true)).toEqual({ kind: 'ok', was: true });
    const alone = open(founder.dataDir);
    await value(alone.changes.commit(newCustomer('second', CHANGES_FROM_MS), ORIGIN));
    expect(namesOf({ store: alone })).toEqual(['first', 'second']);
    await alone.close();
  });

  test('A start that gets no snapshot leaves the data whole, and leave works', async () => {
    const node = await openNode(redis.url, { dataDir: await aloneWith('first') });
    await node.close();
    // The stream has changes that this node lacks, and nobody lives who has them.
    const store = open(node.dataDir);
    const before = store.positions?.read();
    if (before === undefined || before === null) throw new Error('the directory is in a cluster');
    await store.state.transaction(() => store.positions?.put({ ...before, number: 0, last: 'x' }));
    await store.close();
    const again = await openNode(redis.url, {
      dataDir: node.dataDir,
      node: node.id,
      startMs: 300,
      foundWaitMs: 60_000,
    });
    expect([again.opened.kind, again.feed.state.kind]).toEqual(['ok', 'mending']);
    expect(namesOf(again)).toEqual(['first']);
    await again.close();
    expect(await leaveCluster(node.dataDir)).toEqual({ kind: 'ok', was: true });
  });

  test('status shows every node with its version, position and lag, and which are gone', async () => {
    const [one, other] = [await openNode(redis.url, { node: 'a' }), await openNode(redis.url, { node: 'b' })];
    for (let n = 0; n < 5; n++) await value(one.feed.commit(newCustomer(`c${n}`, CHANGES_FROM_MS), ORIGIN));
    await caughtUp([one, other]);
    await Promise.all([one.feed.replicas?.report(), other.feed.replicas?.report()]);
    const status = await clusterStatus(link);
    expect(status).toMatchObject({ kind: 'ok', head: { number: 6 } });
    if (status.kind === 'fault') return;
    expect(
      status.nodes.map(({ id, isLive, number, behind, version }) => [id, isLive, number, behind, version]),
    ).toEqual([
      ['a', true, 6, 0, '1.0.0'],
      ['b', true, 6, 0, '1.0.0'],
    ]);
    expect(status.nodes.every(({ lagMs }) => lagMs >= 0 && lagMs < 1_000)).toBe(true);
    await redis.command('HSET', '{gh:feed}:replicas', 'c', JSON.stringify({ ...status.nodes[0], atMs: 1 }));
    const later = await clusterStatus(link);
    expect(later.kind === 'ok' && later.nodes.find(({ id }) => id === 'c')?.isLive).toBe(false);
  });
});

describe.runIf(HAS_REDIS)('the lag of the other nodes', () => {
  test('p99 is below a second while all nodes make changes', async () => {
    const nodes = [await openNode(redis.url), await openNode(redis.url), await openNode(redis.url)];
    await Promise.all(
      nodes.map(async ({ feed }, from) => {
        for (let n = 0; n < 100; n++) await value(feed.commit(newCustomer(`c${from}-${n}`, CHANGES_FROM_MS), ORIGIN));
      }),
    );
    await caughtUp(nodes);
    for (const { feed } of nodes) {
      expect(feed.lag.quantile(0.99)).toBeLessThan(1_000);
      expect(feed.lag.seconds.counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(300);
    }
  });
});
