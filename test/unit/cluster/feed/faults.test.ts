import { mkdirSync, readFileSync, renameSync, rmdirSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { CHANGE_FORMATS, type ChangeFormats } from '../../../../src/state/feed/change-formats.ts';
import type { ChangeOf } from '../../../../src/state/feed/changes.ts';
import { CHANGES_KEY } from '../../../../src/cluster/feed/feed-keys.ts';
import { newCustomer } from '../../../../src/state/feed/key-changes.ts';
import { CHANGES_FROM_MS } from '../../../support/any-change.ts';
import { caughtUp, type FeedNode, openNode, rowsOf, until } from '../../../support/feeds.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../../support/redis.ts';
import { customer, hashOf, value } from '../../state/support.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  if (!redis.isRunning) await redis.restart();
  await redis.flush();
});

const ORIGIN = { by: 'service', nowMs: CHANGES_FROM_MS } as const;
const NOW_SECONDS = CHANGES_FROM_MS / 1000;
/** Nothing is kept that every live node has applied. */
const TRIMMED = { keepBytesMax: 0, trimMs: 0 };

function putOf(seed: number): ChangeOf<'list.put'> {
  const entry = { fingerprintHash: hashOf(seed), action: 'block', note: null, expiresAtSeconds: null } as const;
  return { kind: 'list.put', customer: customer(1), entry };
}

function isListed({ store }: FeedNode, seed: number): boolean {
  return store.tables.lists.get(customer(1), hashOf(seed), NOW_SECONDS) !== null;
}

const keyHash = 'ab'.repeat(32);
const createKey: ChangeOf<'key.created'> = {
  kind: 'key.created',
  customer: customer(1),
  rateLimit: null,
  keys: [{ kind: 'secret', hash: keyHash, prefix: 'sk_live_test', origins: [] }],
};

async function twoNodes(options = {}): Promise<[FeedNode, FeedNode]> {
  return [await openNode(redis.url, options), await openNode(redis.url, options)];
}

describe.runIf(HAS_REDIS)('a node that was away', () => {
  test('catches up from the stream, and its listeners hear nothing of what they missed', async () => {
    const [one, other] = await twoNodes();
    await value(other.feed.commit(putOf(0), ORIGIN));
    await other.close();
    await Promise.all(Array.from({ length: 300 }, (_none, n) => value(one.feed.commit(putOf(n), ORIGIN))));
    const back = await openNode(redis.url, { dataDir: other.dataDir, node: other.id });
    expect(back.opened).toEqual({ kind: 'ok', how: 'continued' });
    expect(back.feed.position).toBe(one.feed.position);
    expect(rowsOf(back.store)).toEqual(rowsOf(one.store));
  });

  test('takes a snapshot of a live node when its position is no longer in the stream', async () => {
    const [one, other] = await twoNodes(TRIMMED);
    await value(other.feed.commit(putOf(1_000), ORIGIN));
    await other.close();
    await Promise.all(Array.from({ length: 100 }, (_none, n) => value(one.feed.commit(putOf(n), ORIGIN))));
    await untilTrimmed();
    const back = await openNode(redis.url, { dataDir: other.dataDir, node: other.id, ...TRIMMED });
    expect(rowsOf(back.store)).toEqual(rowsOf(one.store));
    await value(back.feed.commit(putOf(500), ORIGIN));
    await caughtUp([one, back]);
    expect(isListed(one, 500)).toBe(true);
    const left = (await redis.command('KEYS', '*chunks*')) as unknown[];
    expect(left).toEqual([]);
  });

  test('takes a snapshot when somebody has emptied the stream, although nothing is added to it', async () => {
    const [one, other] = await twoNodes();
    await other.close();
    for (let n = 0; n < 5; n++) await value(one.feed.commit(putOf(n), ORIGIN));
    await redis.command('XTRIM', CHANGES_KEY, 'MAXLEN', '0');
    const back = await openNode(redis.url, { dataDir: other.dataDir, node: other.id });
    expect(rowsOf(back.store)).toEqual(rowsOf(one.store));
    await value(one.feed.commit(putOf(5), ORIGIN));
    await caughtUp([one, back]);
  });

  test('takes the snapshot again when it ended within it', async () => {
    const [one, other] = await twoNodes();
    await value(one.feed.commit(putOf(1), ORIGIN));
    await caughtUp([one, other]);
    // As the first step of a snapshot leaves the tables.
    const { state, positions } = other.store;
    await state.transaction(() => positions?.put({ cluster: 'x', term: 0, number: 0, last: '', isLoading: true }));
    const cluster = one.store.positions?.read()?.cluster ?? '';
    await state.transaction(() => positions?.put({ cluster, term: 0, number: 0, last: '', isLoading: true }));
    await other.close();
    const back = await openNode(redis.url, { dataDir: other.dataDir, node: other.id });
    expect(back.opened).toEqual({ kind: 'ok', how: 'joined' });
    expect(rowsOf(back.store)).toEqual(rowsOf(one.store));
  });

  test('keeps in the stream what it has not applied, as long as it is alive', async () => {
    const [one, other] = await twoNodes({ ...TRIMMED, formats: known(2) });
    const path = join(other.dataDir, 'revoked-keys.log');
    await value(one.feed.commit(createKey, ORIGIN));
    await caughtUp([one, other]);
    blockFile(path);
    await value(one.feed.commit({ kind: 'key.revoked', hash: keyHash }, ORIGIN));
    const stoppedAt = one.feed.position;
    for (let n = 0; n < 20; n++) await value(one.feed.commit(putOf(n), ORIGIN));
    await until(() => other.feed.state.kind === 'stopped');
    await sleep(300);
    expect(await firstNumber()).toBe(stoppedAt);
    unblockFile(path);
    await caughtUp([one, other]);
    expect(rowsOf(other.store)).toEqual(rowsOf(one.store));
  });
});

describe.runIf(HAS_REDIS)('a node that cannot apply a change', () => {
  test('stops before it, says so, refuses changes of its own, and goes on when it can', async () => {
    const [one, other] = await twoNodes();
    await value(one.feed.commit(createKey, ORIGIN));
    await caughtUp([one, other]);
    const path = join(other.dataDir, 'revoked-keys.log');
    blockFile(path);
    await value(one.feed.commit({ kind: 'key.revoked', hash: keyHash }, ORIGIN));
    await value(one.feed.commit(putOf(1), ORIGIN));
    await until(() => other.feed.state.kind === 'stopped');
    expect(isListed(other, 1)).toBe(false);
    expect(await other.feed.commit(putOf(2), ORIGIN)).toMatchObject({ kind: 'fault', code: 'cluster_unavailable' });
    unblockFile(path);
    await until(() => isListed(other, 1));
    expect(readFileSync(path, 'latin1')).toContain(keyHash);
    await value(other.feed.commit(putOf(2), ORIGIN));
    await caughtUp([one, other]);
    expect(rowsOf(other.store)).toEqual(rowsOf(one.store));
  });

  test('waits at a change of a newer version and applies it when it is upgraded', async () => {
    const newer = known(3);
    const one = await openNode(redis.url, { formats: newer });
    // Only the newer node is alive, so it writes the newer version.
    await value(one.feed.commit(putOf(1), ORIGIN));
    const other = await openNode(redis.url, { formats: known(2) });
    await value(one.feed.commit(newCustomer('both', CHANGES_FROM_MS), ORIGIN));
    await other.close();
    await until(() => one.feed.replicas?.live().length === 1);
    await value(one.feed.commit(putOf(2), ORIGIN));
    const stopped = await openNode(redis.url, {
      dataDir: other.dataDir,
      node: other.id,
      formats: known(2),
      startMs: 300,
    });
    await until(() => stopped.feed.state.kind === 'stopped');
    expect(stopped.feed.state).toMatchObject({ detail: expect.stringContaining('list.put, version 3') as unknown });
    expect(isListed(stopped, 2)).toBe(false);
    await stopped.close();
    const upgraded = await openNode(redis.url, { dataDir: other.dataDir, node: other.id, formats: newer });
    expect(rowsOf(upgraded.store)).toEqual(rowsOf(one.store));
  }, 40_000);

  test('makes newer nodes write the version that it knows, with the same rows', async () => {
    const one = await openNode(redis.url, { formats: known(3) });
    const other = await openNode(redis.url, { formats: known(2) });
    await until(() => one.feed.replicas?.live().length === 2);
    await value(one.feed.commit(putOf(1), ORIGIN));
    await value(other.feed.commit(putOf(2), ORIGIN));
    await caughtUp([one, other]);
    expect([isListed(other, 1), isListed(one, 2)]).toEqual([true, true]);
    expect(rowsOf(one.store)).toEqual(rowsOf(other.store));
  });
});

describe.runIf(HAS_REDIS)('a store that fails', () => {
  test('A commit without the store is a fault at once and changes nothing; later ones are made', async () => {
    const [one, other] = await twoNodes();
    await redis.kill();
    // A change that is sent into a connection that is just ending may have been made.
    await until(() => one.feed.state.kind === 'away' && !one.link.isUp);
    expect(await one.feed.commit(putOf(1), ORIGIN)).toMatchObject({ kind: 'fault', code: 'cluster_unavailable' });
    await redis.restart();
    await until(() => one.feed.state.kind === 'current' && other.feed.state.kind === 'current', 30_000);
    await value(one.feed.commit(putOf(2), ORIGIN));
    await caughtUp([one, other]);
    for (const node of [one, other]) expect([isListed(node, 1), isListed(node, 2)]).toEqual([false, true]);
    expect(rowsOf(one.store)).toEqual(rowsOf(other.store));
  }, 60_000);

  test('A store that is killed and comes back empty in the middle of 1,000 commits loses no confirmed one and repeats none', async () => {
    const [one, other] = await twoNodes();
    const confirmed: string[] = [];
    let others = 0;
    let made = 0;
    const commitAll = async (node: FeedNode, from: number): Promise<void> => {
      for (let n = from; n < from + 500; n++) {
        const change = newCustomer(`c${n}`, CHANGES_FROM_MS);
        const write = await node.feed.commit(change, ORIGIN);
        made++;
        if (write.kind === 'ok') confirmed.push(change.id);
        else others++;
      }
    };
    const all = Promise.all([commitAll(one, 0), commitAll(other, 500)]);
    await until(() => made > 300);
    await redis.kill();
    await redis.restart();
    await all;
    await until(() => one.feed.state.kind === 'current' && other.feed.state.kind === 'current', 30_000);
    await caughtUp([one, other]);
    const names = one.store.tables.customers.all().map(({ name }) => name);
    const ids = new Set<string>(one.store.tables.customers.all().map(({ id }) => id));
    expect(confirmed.filter((id) => !ids.has(id))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    expect(confirmed.length + others).toBe(1_000);
    expect(rowsOf(one.store)).toEqual(rowsOf(other.store));
  }, 90_000);

  test('A batch without an answer is found in the stream, not appended again', async () => {
    const [one, other] = await twoNodes();
    redis.pause();
    const writes = Array.from({ length: 40 }, (_none, n) =>
      one.feed.commit(newCustomer(`c${n}`, CHANGES_FROM_MS), ORIGIN),
    );
    // Longer than a deadline of the link, so that the batch is sent again.
    await sleep(1_500);
    redis.resume();
    const settled = await Promise.all(writes);
    await until(() => one.feed.state.kind === 'current' && other.feed.state.kind === 'current', 30_000);
    await caughtUp([one, other]);
    const names = one.store.tables.customers.all().map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const confirmed = settled.flatMap((write) => (write.kind === 'ok' ? [write.value.name] : []));
    expect(confirmed.filter((name) => !names.includes(name))).toEqual([]);
    expect(rowsOf(one.store)).toEqual(rowsOf(other.store));
  }, 60_000);

  test('A stream that lost its newest changes gets them back from a node that has them', async () => {
    const [one, other] = await twoNodes();
    for (let n = 0; n < 20; n++) await value(one.feed.commit(putOf(n), ORIGIN));
    await caughtUp([one, other]);
    const newest = await newestNumber();
    // As after the failover to a replica that lacks the last five.
    for (let number = newest - 4; number <= newest; number++) await redis.command('XDEL', CHANGES_KEY, `${number}-0`);
    await redis.command('XSETID', CHANGES_KEY, `${newest - 5}-0`);
    await value(other.feed.commit(putOf(100), ORIGIN));
    await caughtUp([one, other]);
    expect(rowsOf(one.store)).toEqual(rowsOf(other.store));
    expect(await newestNumber()).toBe(newest + 1);
    const third = await openNode(redis.url);
    expect(rowsOf(third.store)).toEqual(rowsOf(one.store));
  }, 60_000);
});

describe.runIf(HAS_REDIS)('a key that is revoked', () => {
  test('is revoked on every node within a second, also in the file outside the store', async () => {
    const [one, other] = await twoNodes();
    await value(one.feed.commit(createKey, ORIGIN));
    const startedMs = performance.now();
    expect(await value(one.feed.commit({ kind: 'key.revoked', hash: keyHash }, ORIGIN))).toBe('revoked');
    await until(() => other.store.tables.apiKeys.find(keyHash)?.revokedAtSeconds !== null, 1_000);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    for (const { dataDir } of [one, other])
      expect(readFileSync(join(dataDir, 'revoked-keys.log'), 'latin1').split(keyHash)).toHaveLength(2);
  });
});

describe.runIf(HAS_REDIS)('changes that every node would make by itself', () => {
  test('are made by one node', async () => {
    const nodes = await twoNodes();
    const [one, other] = nodes;
    const soon = { ...putOf(1), entry: { ...putOf(1).entry, expiresAtSeconds: NOW_SECONDS + 1 } };
    await value(one.feed.commit(soon, ORIGIN));
    await until(() => nodes.every(({ feed }) => feed.replicas?.live().length === 2));
    const before = one.feed.position;
    const keys = one.store.tables.lists.expired(NOW_SECONDS + 10, 100);
    expect(keys).toHaveLength(1);
    const later = { by: 'service', nowMs: CHANGES_FROM_MS + 10_000 } as const;
    const removed = await Promise.all(
      nodes.map(({ feed }) => value(feed.commit({ kind: 'rows.expired', table: 'lists', keys }, later))),
    );
    expect(removed.toSorted((a, b) => a - b)).toEqual([0, 1]);
    await caughtUp([one, other]);
    expect(one.feed.position).toBe(before + 1);
  });

  test('A node whose clock is ahead of the store by more than a minute removes no expired row', async () => {
    const node = await openNode(redis.url);
    const soon = { ...putOf(1), entry: { ...putOf(1).entry, expiresAtSeconds: NOW_SECONDS + 1 } };
    await value(node.feed.commit(soon, ORIGIN));
    const keys = node.store.tables.lists.expired(NOW_SECONDS + 10, 100);
    const expiry = { kind: 'rows.expired', table: 'lists', keys } as const;
    const later = { by: 'service', nowMs: CHANGES_FROM_MS + 10_000 } as const;
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 400_000);
    onTestFinished(() => clock.mockRestore());
    await node.feed.replicas?.report();
    expect(await value(node.feed.commit(expiry, later))).toBe(0);
    clock.mockRestore();
    await node.feed.replicas?.report();
    expect(await value(node.feed.commit(expiry, later))).toBe(1);
  });
});

/** Makes the file of revocations unusable, as a full disk does. */
function blockFile(path: string): void {
  if (existsSync(path)) renameSync(path, `${path}.aside`);
  mkdirSync(path);
}

function unblockFile(path: string): void {
  rmdirSync(path);
  if (existsSync(`${path}.aside`)) renameSync(`${path}.aside`, path);
}

/** A build that reads this version of `list.put`. */
function known(version: 2 | 3): ChangeFormats {
  if (version === 2) return CHANGE_FORMATS;
  type Fields = Readonly<Record<string, unknown>>;
  const renamed = (from: string, to: string) => (fields: Fields) => {
    const { [from]: moved, ...entry } = fields['entry'] as Fields;
    return { ...fields, entry: { ...entry, [to]: moved } };
  };
  const now = CHANGE_FORMATS['list.put'];
  // What `apply` gets is of version 3 here, which it reads like version 2.
  const up = { ...now.up, 2: renamed('note', 'note') };
  const down = { ...now.down, 3: renamed('note', 'note') };
  return { ...CHANGE_FORMATS, 'list.put': { version: 3, up, down } };
}

async function untilTrimmed(): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (Number(await redis.command('XLEN', '{gh:feed}:changes')) > 1) {
    if (performance.now() > deadline) throw new Error('the stream is not trimmed');
    await sleep(20);
  }
}

async function firstNumber(): Promise<number> {
  const [first] = (await redis.command('XRANGE', '{gh:feed}:changes', '-', '+', 'COUNT', '1')) as [string, unknown][];
  return Number(first?.[0].split('-')[0]);
}

async function newestNumber(): Promise<number> {
  const args = ['XREVRANGE', CHANGES_KEY, '+', '-', 'COUNT', '1'];
  const [newest] = (await redis.command(...args)) as [string, unknown][];
  return Number(newest?.[0].split('-')[0]);
}
