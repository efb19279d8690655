import { existsSync, mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FeedSnapshots } from '../../../../src/cluster/feed/data-snapshot.ts';
import {
  CHANGES_KEY,
  chunksKey,
  HEAD_KEY,
  RESTART_KEY,
  snapshotSenderKey,
  WANTED_KEY,
} from '../../../../src/cluster/feed/feed-keys.ts';
import { recordPlace, textOfSigned } from '../../../../src/cluster/log/signed-record.ts';
import { ENVIRONMENT_FORMATS } from '../../../../src/kernel/formats.ts';
import type { Change, ChangeOf } from '../../../../src/state/feed/changes.ts';
import { Turns } from '../../../../src/state/tables/turns.ts';
import { CHANGES_FROM_MS } from '../../../support/any-change.ts';
import {
  caughtUp,
  CLUSTER_KEY,
  type FeedNode,
  type NodeOptions,
  openNode,
  rowsOf,
  until,
} from '../../../support/feeds.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../../support/redis.ts';
import { customer, hashOf, value } from '../../state/support.ts';

/** Old parts of the shared store that somebody writes again. */

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.flush());

const ORIGIN = { by: 'service', nowMs: CHANGES_FROM_MS } as const;
const NOW_SECONDS = CHANGES_FROM_MS / 1000;
const QUICK = { foundWaitMs: 250 };
const TABLES = ENVIRONMENT_FORMATS.state.version;

const keyHash = 'ab'.repeat(32);
const createKey: ChangeOf<'key.created'> = {
  kind: 'key.created',
  customer: customer(1),
  rateLimit: null,
  keys: [{ kind: 'secret', hash: keyHash, prefix: 'sk_live_test', origins: [] }],
};

function putOf(seed: number, action: 'allow' | 'block' = 'block'): ChangeOf<'list.put'> {
  const entry = { fingerprintHash: hashOf(seed), action, note: null, expiresAtSeconds: null } as const;
  return { kind: 'list.put', customer: customer(1), entry };
}

function isListed({ store }: FeedNode, seed: number): boolean {
  return store.tables.lists.get(customer(1), hashOf(seed), NOW_SECONDS) !== null;
}

function isRevoked({ store }: FeedNode): boolean {
  return store.tables.apiKeys.find(keyHash)?.revokedAtSeconds !== null;
}

const commit = (node: FeedNode, change: Change): Promise<unknown> => value(node.feed.commit(change, ORIGIN));
const isWell = ({ feed }: FeedNode): boolean => feed.state.kind === 'current';

/** What somebody keeps of the store, with all bytes. */
const KEEP = `
for at, key in ipairs(KEYS) do
  local content = redis.call('DUMP', key)
  if content then redis.call('SET', ARGV[at], content) end
end`;
const WRITE_AGAIN = `
for at, key in ipairs(KEYS) do
  local content = redis.call('GET', ARGV[at])
  if content then redis.call('RESTORE', key, 0, content, 'REPLACE') else redis.call('DEL', key) end
end`;
const COPY = `
local fields = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', 1)[1][2]
return redis.call('XADD', KEYS[1], ARGV[2], unpack(fields))`;

async function evaluate(script: string, keys: readonly string[], ...args: readonly string[]): Promise<unknown> {
  return redis.command('EVAL', script, String(keys.length), ...keys, ...args);
}

const newest = async (): Promise<number> => {
  const [top] = (await redis.command('XREVRANGE', CHANGES_KEY, '+', '-', 'COUNT', '1')) as [string, unknown][];
  return Number(top?.[0].split('-')[0]);
};

/** Two nodes on which a key is revoked and an `allow` entry is removed; the store as it was before is kept aside. */
async function twoNodes(
  options: NodeOptions = {},
): Promise<{ readonly nodes: [FeedNode, FeedNode]; readonly at: number }> {
  const nodes: [FeedNode, FeedNode] = [
    await openNode(redis.url, { ...QUICK, ...options }),
    await openNode(redis.url, { ...QUICK, ...options }),
  ];
  const [one, other] = nodes;
  await commit(one, createKey);
  await commit(other, putOf(1, 'allow'));
  const at = await newest();
  await evaluate(KEEP, [CHANGES_KEY, HEAD_KEY], 'kept-changes', 'kept-head');
  await commit(one, { kind: 'key.revoked', hash: keyHash });
  await commit(other, { kind: 'list.removed', customer: customer(1), fingerprintHash: hashOf(1) });
  await caughtUp(nodes);
  return { nodes, at };
}

let nextSeed = 100;

/** What is on all nodes when the old state is on none. */
const UNCHANGED = { isRevoked: true, isListed: false, differentNodes: 1 };

/** Makes a change on each node, which all get, and returns what the nodes have then. */
async function afterwards(nodes: readonly FeedNode[]): Promise<typeof UNCHANGED> {
  await sleep(600);
  await until(() => nodes.every(isWell));
  for (const node of nodes) {
    const seed = nextSeed++;
    await commit(node, putOf(seed));
    await until(() => nodes.every((one) => isListed(one, seed)));
  }
  return {
    isRevoked: nodes.every(isRevoked),
    isListed: nodes.some((node) => isListed(node, 1)),
    differentNodes: new Set(nodes.map(({ store }) => JSON.stringify(rowsOf(store)))).size,
  };
}

describe.runIf(HAS_REDIS)('old changes that somebody writes again', () => {
  test.each([0, 1, 50])(
    'A copy of an old change %i behind the next number changes nothing on any node',
    async (ahead) => {
      const { nodes, at } = await twoNodes();
      for (const [n, number] of [at - 1, at].entries())
        await evaluate(COPY, [CHANGES_KEY], `${number}-0`, `${(await newest()) + 1 + (n === 0 ? ahead : 0)}-0`);
      expect(await afterwards(nodes)).toEqual(UNCHANGED);
    },
  );

  test('The whole stream as it was before changes nothing on nodes that live', async () => {
    const { nodes } = await twoNodes();
    await evaluate(WRITE_AGAIN, [CHANGES_KEY, HEAD_KEY], 'kept-changes', 'kept-head');
    expect(await afterwards(nodes)).toEqual(UNCHANGED);
  });

  test('The whole stream as it was before changes nothing on nodes that start', async () => {
    const { nodes } = await twoNodes();
    for (const node of nodes) await node.close();
    await evaluate(WRITE_AGAIN, [CHANGES_KEY, HEAD_KEY], 'kept-changes', 'kept-head');
    const open = ({ dataDir, id }: FeedNode): Promise<FeedNode> => openNode(redis.url, { dataDir, node: id, ...QUICK });
    expect(await afterwards(await Promise.all(nodes.map(open)))).toEqual(UNCHANGED);
  });

  test('A stream that was founded before is not followed after it was founded again', async () => {
    const { nodes } = await twoNodes();
    await evaluate(KEEP, [CHANGES_KEY, HEAD_KEY], 'kept-changes', 'kept-head');
    await redis.command('DEL', CHANGES_KEY, HEAD_KEY);
    expect(await afterwards(nodes)).toEqual(UNCHANGED);
    await evaluate(WRITE_AGAIN, [CHANGES_KEY, HEAD_KEY], 'kept-changes', 'kept-head');
    await commit(nodes[0], putOf(60));
    await until(() => nodes.every((node) => isListed(node, 60)));
    expect(await afterwards(nodes)).toEqual(UNCHANGED);
  });

  test('The creation of a key that exists leaves it as it is', async () => {
    const { nodes } = await twoNodes();
    await commit(nodes[0], createKey);
    expect(await afterwards(nodes)).toEqual(UNCHANGED);
  });
});

describe.runIf(HAS_REDIS)('snapshots that somebody writes again', () => {
  test('Chunks of an earlier snapshot are passed over, and the data stays as it is', async () => {
    const node = await openNode(redis.url);
    await commit(node, createKey);
    const { state: root, positions } = node.store;
    const position = positions?.read() ?? null;
    if (positions === null || position === null) throw new Error('the node is in a cluster');
    const parts = { link: node.link, key: CLUSTER_KEY, root, positions, turns: new Turns(), tables: TABLES };
    const [sender, receiver] = ['a', 'b'].map((id) => new FeedSnapshots({ ...parts, node: id }));
    const atLeast = { term: 0, number: 0 };
    expect(await sender?.copies.send({ id: 'old', atMs: Date.now(), tables: TABLES, atLeast })).toBe(true);
    await evaluate(KEEP, [chunksKey('old')], 'kept-chunks');
    await commit(node, { kind: 'key.revoked', hash: keyHash });
    const [rows, before] = [rowsOf(node.store), positions.read()];
    await node.feed.close();
    const taking = receiver?.receive(position.cluster, atLeast);
    // Under the id of the new request, as often as it looks.
    const writing = { isDone: false };
    const replaying = (async () => {
      while (!writing.isDone) {
        const wanted = await redis.command('HGET', WANTED_KEY, 'b');
        const request = typeof wanted === 'string' ? (JSON.parse(textOfSigned(wanted)) as { id: string }) : null;
        if (request !== null) await evaluate(WRITE_AGAIN, [chunksKey(request.id)], 'kept-chunks');
        await sleep(50);
      }
    })();
    expect(await taking).toMatchObject({ kind: 'fault', code: 'cluster_unavailable' });
    writing.isDone = true;
    await replaying;
    expect(rowsOf(node.store)).toEqual(rows);
    expect(positions.read()).toEqual(before);
  }, 30_000);

  test('A node gives no snapshot for a request that no node signed, nor for one that wants later data than it has', async () => {
    const node = await openNode(redis.url);
    await commit(node, createKey);
    const request = { id: 'forged', atMs: Date.now(), tables: TABLES, atLeast: { term: 0, number: 0 } };
    await redis.command('HSET', WANTED_KEY, 'x', JSON.stringify(request));
    await redis.command('HSET', WANTED_KEY, 'y', `${'0'.repeat(64)} ${JSON.stringify(request)}`);
    await sleep(500);
    expect(await redis.command('EXISTS', chunksKey('forged'))).toBe(0);
    const { state: root, positions } = node.store;
    if (positions === null) throw new Error('the store is open for writing');
    const parts = { link: node.link, key: CLUSTER_KEY, root, positions, turns: new Turns(), tables: TABLES };
    const later = { ...request, id: 'later', atLeast: { term: 1, number: node.feed.position + 1 } };
    expect(await new FeedSnapshots({ ...parts, node: node.id }).copies.send(later)).toBe(false);
    // Another node that has it may send it at once.
    expect(await redis.command('EXISTS', snapshotSenderKey('later'))).toBe(0);
    expect(recordPlace(WANTED_KEY, 'x')).not.toBe(recordPlace(WANTED_KEY, 'y'));
  });
});

describe.runIf(HAS_REDIS)('nodes whose changes are no longer in the stream', () => {
  test('end one at a time, and only while a live node has later changes', async () => {
    const ended: string[] = [];
    const open = (node: string): Promise<FeedNode> =>
      openNode(redis.url, { node, ...QUICK, onReplace: () => ended.push(node) });
    const nodes = [await open('a'), await open('b'), await open('c')] as const;
    const [furthest, ...behind] = nodes;
    await commit(furthest, createKey);
    await caughtUp(nodes);
    for (const { dataDir } of behind) blockFile(join(dataDir, 'revoked-keys.log'));
    await commit(furthest, { kind: 'key.revoked', hash: keyHash });
    await until(() => behind.every(({ feed }) => feed.state.kind === 'stopped'));
    // More than a node puts back.
    await Promise.all(Array.from({ length: 1_200 }, (_none, n) => commit(furthest, putOf(n))));
    await redis.command('XTRIM', CHANGES_KEY, 'MAXLEN', '1');
    for (const { dataDir } of behind) unblockFile(join(dataDir, 'revoked-keys.log'));
    await until(() => ended.length > 0);
    await sleep(1_500);
    expect(ended).toHaveLength(1);
    // The first one is back.
    const [first] = ended;
    const back = behind.find(({ id }) => id === first);
    await back?.close();
    const again = await openNode(redis.url, { dataDir: back?.dataDir ?? '', node: first ?? '', ...QUICK });
    expect(rowsOf(again.store)).toEqual(rowsOf(furthest.store));
    await until(() => ended.length === 2);
    expect(ended.toSorted()).toEqual(['b', 'c']);
    expect(await redis.command('EXISTS', RESTART_KEY)).toBe(1);
  }, 60_000);
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
