import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { packDelivery, unpackDelivery } from '../../../src/cluster/deliveries/delivery-codec.ts';
import { EncryptedValues } from '../../../src/cluster/store/encrypted-values.ts';
import { chunksKey } from '../../../src/cluster/feed/feed-keys.ts';
import { FeedSnapshots } from '../../../src/cluster/feed/data-snapshot.ts';
import { writePage } from '../../../src/cluster/reads/history-wire.ts';
import { JobLog } from '../../../src/cluster/jobs/job-log.ts';
import { JOB_LOG_FORMAT } from '../../../src/cluster/jobs/job-ops.ts';
import { decodeMessage, encodeMessage, questionFormat } from '../../../src/cluster/nodes/peer-message.ts';
import { inboxOf } from '../../../src/cluster/nodes/peers.ts';
import { RedisWorkQueue } from '../../../src/cluster/deliveries/redis-work-queue.ts';
import { velocityKey, velocityShard } from '../../../src/cluster/store/store-keys.ts';
import { withHead } from '../../../src/cluster/velocity/entry-head.ts';
import { EventEncoder } from '../../../src/cluster/velocity/event-codec.ts';
import { isVelocityDegraded, readVelocityState } from '../../../src/cluster/velocity/velocity-state.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { encrypt } from '../../../src/kernel/encryption.ts';
import { pack } from '../../../src/kernel/pack.ts';
import { Turns } from '../../../src/state/tables/turns.ts';
import { newExtraction } from '../../support/extraction-jobs.ts';
import { CLUSTER_KEY as FEED_KEY, openNode as openFeedNode } from '../../support/feeds.ts';
import { linkTo } from '../../support/links.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { SharedNode } from '../../support/shared-extraction.ts';
import { openVelocityNode, VALUES_KEY } from '../../support/velocity-nodes.ts';
import { delivery } from '../state/deliveries-support.ts';
import { event } from '../velocity/events.ts';
import { CLUSTER_KEY, openNodes, type TestNode } from './nodes.ts';
import { ask, startStore, type StoreServer } from '../../support/store-links.ts';

/** What a node makes of everything that a newer build sends it: it is refused or left alone, counted and reported, and nothing breaks. */

const JOBS_KEY = Buffer.alloc(32, 9);
const LIVE = { timeout: 10_000, interval: 5 };

let redis: RedisServer;
let server: StoreServer;
beforeAll(async () => {
  [redis, server] = await Promise.all([startRedis(), startStore()]);
});
afterAll(() => Promise.all([redis.stop(), server.stop()]));
beforeEach(() => redis.flush());

/** Returns bytes with the version after this build's. */
function newer(bytes: Buffer, by = 1): Buffer {
  const [version = 0] = bytes;
  return Buffer.concat([Buffer.from([version + by]), bytes.subarray(1)]);
}

describe('the log of extractions', () => {
  test('A node stops before an entry of a newer build, refuses new jobs at once, and the upgraded node continues there', async () => {
    const [link, reader] = [await linkTo(redis.url), await linkTo(redis.url)];
    const log = new JobLog({ link, reader, key: JOBS_KEY });
    const node = await SharedNode.open({ url: redis.url, node: 'a', runsJobs: false });
    const before = await node.engine.writes.create(newExtraction({}));
    const entry = pack([JOB_LOG_FORMAT + 1, 'b', 'run', 1, Date.now(), { kind: 'fields of a newer build' }]);
    await log.append(entry, 0, null);
    await expect.poll(() => node.unknown, LIVE).toEqual([[2, JOB_LOG_FORMAT + 1]]);
    expect(node.engine.state().isOutdated).toBe(true);
    const startedMs = performance.now();
    const after = await node.engine.writes.create(newExtraction({}));
    expect([before.kind, after.kind]).toEqual(['created', 'fault']);
    expect(await node.engine.caughtUp()).toBe(false);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    // Nothing is skipped: the position is still before the entry.
    expect(node.store.counters.get('jobLog')).toBe(1);
    await node.stop();
    const again = await SharedNode.open({ url: redis.url, node: 'a', runsJobs: false, folder: node.folder });
    await expect.poll(() => again.unknown, LIVE).toEqual([[2, JOB_LOG_FORMAT + 1]]);
    await Promise.all([link.close(), reader.close()]);
  });
});

describe('deliveries of a node that is gone', () => {
  test('Rows of a newer build are released unread and reported; others are claimed', async () => {
    const link = await linkTo(redis.url);
    const unreadable: unknown[] = [];
    const onUnreadable = (lane: string, count: number): void => void unreadable.push([lane, count]);
    const parts = { link, key: VALUES_KEY, name: 'test' };
    const ofNewer = new RedisWorkQueue({ ...parts, encode: (row) => newer(packDelivery(row)) });
    const ours = new RedisWorkQueue({ ...parts, onUnreadable });
    const [theirs, own] = [delivery(1), delivery(1)];
    await ofNewer.replace('gone', [theirs]);
    await ours.replace('gone', [own]);
    const order = { consumer: 'a', limit: 10, nowMs: Date.now() + 60_000 };
    const claims = await ours.claim('gone', order);
    expect(claims.map(({ row }) => row.id)).toEqual([own.id]);
    expect(unreadable).toEqual([['gone', 1]]);
    // It can be claimed at once by a node that reads it.
    const decode = (id: string, bytes: Buffer) =>
      unpackDelivery(id, Buffer.concat([Buffer.from([(bytes[0] ?? 0) - 1]), bytes.subarray(1)]));
    const upgraded = new RedisWorkQueue({ ...parts, decode });
    const [claimed] = await upgraded.claim('gone', order);
    expect(claimed?.row).toEqual(theirs);
    await link.close();
  });
});

describe('questions between nodes', () => {
  async function pair(): Promise<readonly [TestNode, TestNode]> {
    const [a, b] = await openNodes(server, 2);
    if (a === undefined || b === undefined) throw new Error('there are two nodes');
    return [a, b];
  }

  test('A question in another version is answered at once as unsupported', async () => {
    const [, b] = await pair();
    const link = await server.link(b.space);
    const inbox = inboxOf(b.id, b.membership.run);
    const from = { from: 'newer', fromRun: 'run', serial: 1, id: 'ab'.repeat(12) };
    const question = { kind: 'question' as const, ...from, deadlineMs: 1_000, name: 'history.find', body: [] };
    const format = questionFormat(question.name) + 1;
    await ask(link, 'RPUSH', inbox, encodeMessage(CLUSTER_KEY, inbox, { ...question, format }));
    const answers = inboxOf('newer', 'run');
    let entry: unknown = null;
    await expect.poll(async () => (entry ??= await ask(link, 'LPOP', answers)), LIVE).not.toBeNull();
    expect(decodeMessage(CLUSTER_KEY, answers, entry as Buffer)).toMatchObject({ id: from.id, status: 'unsupported' });
    expect(b.peers.counts.answered).toBe(0);
  });

  test('A node that does not know a question makes the result partial, is counted, and is reported once', async () => {
    const [a, b] = await pair();
    for (let n = 0; n < 3; n++)
      expect(await a.peers.ask('of.a.newer.build', [])).toEqual({ answers: [], isPartial: true });
    expect(a.peers.counts.unsupported).toBe(3);
    expect(a.otherVersions).toEqual([{ node: b.id, name: 'of.a.newer.build' }]);
  });

  test('Messages in another form are counted and reported once, apart from those of nobody', async () => {
    const [, b] = await pair();
    const link = await server.link(b.space);
    const inbox = inboxOf(b.id, b.membership.run);
    const other = encrypt(CLUSTER_KEY, pack([3, 'fields', 'of another form']), inbox);
    for (const entry of [other, other, Buffer.from('garbage')]) await ask(link, 'RPUSH', inbox, entry);
    await expect.poll(() => b.peers.counts, LIVE).toMatchObject({ otherVersion: 2, dropped: 1 });
    expect(b.otherVersions).toEqual([{ node: null, name: null }]);
  });

  test('A decision that a newer build recorded is left out, and the page is partial', async () => {
    const [a, b] = await pair();
    const me = 1 as CustomerNumber;
    const record = Buffer.from('a record of another form');
    b.peers.handle('history.search', () => writePage([{ occurredAtMs: 1, arrival: 1, latencyMs: 1, record }], null));
    const query = { decision: null, text: null, limit: 10, nowMs: Date.now(), after: null };
    const coverage = { isPartial: false };
    expect(await a.history.search(me, { ...query, coverage })).toMatchObject({ kind: 'page', rows: [] });
    expect(coverage.isPartial).toBe(true);
  });
});

describe('events of the velocity store', () => {
  test('A batch of a newer build is skipped and counted, and the counts are marked as incomplete', async () => {
    const link = await linkTo(redis.url);
    const node = openVelocityNode(link);
    const one = event({});
    const key = velocityKey(velocityShard(one.customer));
    const head = { life: 7n, sender: 1, serial: 1, writtenMs: Date.now() };
    const items = new EventEncoder().encode([one]);
    // Version 2 has amounts.
    const ofNewer = [withHead(head, newer(items, 3)), newer(withHead({ ...head, serial: 2 }, items))];
    for (const bytes of ofNewer)
      await ask(link, 'XADD', key, '*', 'l', 'abc', 'e', new EncryptedValues(VALUES_KEY).encrypt(key, bytes));
    const [facts] = await node.worker().observe([one]);
    expect(facts?.session.decisions1m).toBe(1);
    await vi.waitFor(() => expect(node.marks.count('unreadable')).toBe(2));
    expect(isVelocityDegraded(node.marks)).toBe(true);
    expect(readVelocityState(node.marks)).toMatchObject({ isBroken: true, detail: /another version/ });
    await link.close();
  });
});

describe('a snapshot of the tables', () => {
  test('A node gives none to a node that reads another version of the tables', async () => {
    const link = await linkTo(redis.url);
    const { store } = await openFeedNode(redis.url);
    const { state: root, positions } = store;
    if (positions === null) throw new Error('the store is open for writing');
    const snapshots = new FeedSnapshots({
      link,
      key: FEED_KEY,
      node: 'a',
      root,
      positions,
      turns: new Turns(),
      tables: 2,
    });
    const wanted = { id: 'request', atMs: Date.now(), atLeast: { term: 0, number: 0 } };
    expect(await snapshots.copies.send({ ...wanted, tables: 1 })).toBe(false);
    expect(await ask(link, 'LLEN', chunksKey(wanted.id))).toBe(0);
    expect(await snapshots.copies.send({ ...wanted, tables: 2 })).toBe(true);
    await link.close();
  });
});
