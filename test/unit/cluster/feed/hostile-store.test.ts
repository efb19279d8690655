import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  CHANGES_KEY,
  HEAD_KEY,
  REPLICAS_KEY,
  RESTART_KEY,
  WANTED_KEY,
} from '../../../../src/cluster/feed/feed-keys.ts';
import type { ChangeOf } from '../../../../src/state/feed/changes.ts';
import { CHANGES_FROM_MS } from '../../../support/any-change.ts';
import { caughtUp, type FeedNode, type NodeOptions, openNode, rowsOf, until } from '../../../support/feeds.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../../support/redis.ts';
import { customer, hashOf, value } from '../../state/support.ts';

/** What somebody can do to the feed who writes to the shared store as he likes and does not have the master key, or by mistake. */

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.flush());

const ORIGIN = { by: 'service', nowMs: CHANGES_FROM_MS } as const;
const NOW_SECONDS = CHANGES_FROM_MS / 1000;
/** So that the tests wait less. */
const QUICK = { foundWaitMs: 250 };
/** Changes that are in the stream before. */
const BEFORE = 5;

function putOf(seed: number): ChangeOf<'list.put'> {
  const entry = { fingerprintHash: hashOf(seed), action: 'block', note: null, expiresAtSeconds: null } as const;
  return { kind: 'list.put', customer: customer(1), entry };
}

function isListed({ store }: FeedNode, seed: number): boolean {
  return store.tables.lists.get(customer(1), hashOf(seed), NOW_SECONDS) !== null;
}

/** Two nodes that would end their process to take a snapshot; `ended` has those that did. */
async function twoNodes(
  options: NodeOptions = {},
): Promise<{ readonly nodes: [FeedNode, FeedNode]; readonly ended: string[] }> {
  const ended: string[] = [];
  const open = (node: string): Promise<FeedNode> =>
    openNode(redis.url, { node, onReplace: (detail) => ended.push(`${node}: ${detail}`), ...QUICK, ...options });
  const nodes: [FeedNode, FeedNode] = [await open('a'), await open('b')];
  for (let n = 0; n < BEFORE; n++) await value(nodes[n % 2 === 0 ? 0 : 1].feed.commit(putOf(n), ORIGIN));
  await caughtUp(nodes);
  return { nodes, ended };
}

const isWell = ({ feed }: FeedNode): boolean => feed.state.kind === 'current';

/** Both nodes are well, have all changes, and a change that either makes reaches the other. */
async function replicate(nodes: readonly FeedNode[]): Promise<void> {
  await until(() => nodes.every(isWell), 20_000);
  for (const [n, node] of nodes.entries()) {
    await value(node.feed.commit(putOf(100 + n), ORIGIN));
    await until(() => nodes.every((one) => isListed(one, 100 + n)));
  }
  for (const node of nodes) for (let n = 0; n < BEFORE; n++) expect(isListed(node, n)).toBe(true);
  expect(new Set(nodes.map(({ store }) => JSON.stringify(rowsOf(store)))).size).toBe(1);
  await until(() => nodes.every(isWell));
}

type Entry = readonly [id: string, fields: readonly string[]];

/** Entries of the stream; their bytes are lost, so a copy of one is damaged too. */
async function entries(): Promise<readonly Entry[]> {
  return (await redis.command('XRANGE', CHANGES_KEY, '-', '+')) as Entry[];
}

const nextNumber = async (): Promise<number> => Number((await entries()).at(-1)?.[0].split('-')[0] ?? 0) + 1;

/** Copies an entry as it is, with all of its bytes, to another id. */
const COPY = `
local fields = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', 1)[1][2]
return redis.call('XADD', KEYS[1], ARGV[2], unpack(fields))`;

async function copy(fromId: string, toId: string): Promise<void> {
  await redis.command('EVAL', COPY, '1', CHANGES_KEY, fromId, toId);
}

const add = async (id: string, ...fields: readonly string[]): Promise<unknown> =>
  redis.command('XADD', CHANGES_KEY, id, ...fields);
const FORM = ['t', 'x:1:0', 'p', 'y', 'm', '1', 'b', '1', 'c', '1', 'd', 'not encrypted'];

const HOSTILE: readonly (readonly [what: string, act: () => Promise<unknown>])[] = [
  ['an entry of other fields at the end', () => add('*', 'a', 'b')],
  ['an entry of other fields with the next number', async () => add(`${await nextNumber()}-0`, 'a', 'b')],
  ['an entry of other fields 50 numbers ahead', async () => add(`${(await nextNumber()) + 50}-0`, 'a', 'b')],
  ['bytes that cannot be decrypted in the right fields', async () => add(`${await nextNumber()}-0`, ...FORM)],
  [
    'an entry with the last number that a stream can have',
    () => add('18446744073709551615-18446744073709551615', 'a', 'b'),
  ],
  ['an entry beside the newest change', async () => add(`${(await nextNumber()) - 1}-7`, 'a', 'b')],
  [
    '200 entries of other fields',
    async () => {
      for (let n = 0; n < 200; n++) await add('*', 'a', String(n));
    },
  ],
  [
    'an entry of a form with numbers that are none',
    async () => add(`${await nextNumber()}-0`, ...FORM.map((one) => (one === '1' ? 'NaN' : one))),
  ],
  ['a copy of an old change at the end', async () => copy('2-0', `${await nextNumber()}-0`)],
  [
    'a copy of the newest change behind it',
    async () => copy(`${(await nextNumber()) - 1}-0`, `${await nextNumber()}-0`),
  ],
  ['the loss of all keys', () => redis.flush()],
  ['the loss of the stream', () => redis.command('DEL', CHANGES_KEY)],
  ['the loss of the head', () => redis.command('DEL', HEAD_KEY)],
  ['a stream that is emptied', () => redis.command('XTRIM', CHANGES_KEY, 'MAXLEN', '0')],
  ['a stream that is trimmed to its newest entry', () => redis.command('XTRIM', CHANGES_KEY, 'MAXLEN', '1')],
  ['the loss of the newest entry', async () => redis.command('XDEL', CHANGES_KEY, `${(await nextNumber()) - 1}-0`)],
  ['the loss of an entry in the middle', () => redis.command('XDEL', CHANGES_KEY, '3-0')],
  ['a jump of the last id', () => redis.command('XSETID', CHANGES_KEY, '900000-0')],
  ['a string in the place of the stream', () => redis.command('SET', CHANGES_KEY, 'x')],
  ['a string in the place of the head', () => redis.command('SET', HEAD_KEY, 'x')],
  [
    'a list in the place of the reports',
    // In one step: a node may report at any moment.
    () => redis.command('EVAL', "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], 'x')", '1', REPLICAS_KEY),
  ],
  ['a string in the place of the requests for snapshots', () => redis.command('SET', WANTED_KEY, 'x')],
  ['a list in the place of the turn to restart', () => redis.command('RPUSH', RESTART_KEY, 'x')],
  ['a head with a later number', () => redis.command('HSET', HEAD_KEY, 'number', '900', 'last', 'x')],
  ['a head with a later term', () => redis.command('HSET', HEAD_KEY, 'term', '900')],
  ['a head of another cluster', () => redis.command('HSET', HEAD_KEY, 'id', '8d7c0b7e-0000-4000-8000-000000000000')],
  ['a head of another format', () => redis.command('HSET', HEAD_KEY, 'format', '9')],
  [
    'a head of another master key',
    () => redis.command('HSET', HEAD_KEY, 'check', '0'.repeat(32), 'proof', '0'.repeat(64)),
  ],
  ['a head of words', () => redis.command('HSET', HEAD_KEY, 'number', 'x', 'last', '', 'term', 'y', 'format', 'z')],
  [
    'reports of nodes that are further',
    async () => {
      const facts = {
        term: 9,
        number: 9e6,
        state: 'current',
        detail: '',
        lagMs: 0,
        version: '9',
        formats: {},
        tables: 1,
      };
      const id = ((await redis.command('HGET', HEAD_KEY, 'id')) as string) ?? '';
      const report = JSON.stringify({ ...facts, cluster: id, startedAtMs: 0, atMs: Date.now() });
      await redis.command('HSET', REPLICAS_KEY, '0', report, 'a', report, 'zz', `${'0'.repeat(64)} ${report}`);
      // The nodes need each other's reports to mend this.
      await redis.command('DEL', CHANGES_KEY);
    },
  ],
];

/** Those that a start finds in a way of its own: it has nothing in memory. */
const AT_A_START = HOSTILE.filter(([what]) =>
  ['at the end', '50 numbers', 'last number', 'all keys', 'loss of the stream', 'jump', 'string', 'a head'].some(
    (part) => what.includes(part),
  ),
);

describe.runIf(HAS_REDIS)('whoever writes to the shared store without the master key', () => {
  test.each(HOSTILE)(
    'ends no node and loses no change by %s',
    async (_what, act) => {
      const { nodes, ended } = await twoNodes();
      await act();
      await replicate(nodes);
      expect(ended).toEqual([]);
    },
    60_000,
  );

  test.each(AT_A_START)(
    'keeps no stopped node from its start by %s, and two start with all that they had',
    async (_what, act) => {
      const { nodes } = await twoNodes();
      for (const node of nodes) await node.close();
      await act();
      const again = await Promise.all(
        nodes.map(({ dataDir, id }) => openNode(redis.url, { dataDir, node: id, ...QUICK })),
      );
      expect(again.map(({ opened }) => opened)).toEqual(again.map(() => ({ kind: 'ok', how: 'continued' })));
      await replicate(again);
    },
    60_000,
  );

  test('makes nodes go on without changes that only a node had that is down, and it takes their data when it is back', async () => {
    const { nodes } = await twoNodes();
    const [one, other] = nodes;
    await other.close();
    for (let n = 10; n < 15; n++) await value(one.feed.commit(putOf(n), ORIGIN));
    await one.close();
    await redis.command('XDEL', CHANGES_KEY, `${other.feed.position + 1}-0`);
    const left = await openNode(redis.url, { dataDir: other.dataDir, node: other.id, ...QUICK });
    await until(() => isWell(left));
    await value(left.feed.commit(putOf(20), ORIGIN));
    const back = await openNode(redis.url, { dataDir: one.dataDir, node: one.id, ...QUICK });
    await until(() => isWell(back));
    expect([back, left].map((node) => [isListed(node, 10), isListed(node, 20)])).toEqual([
      [false, true],
      [false, true],
    ]);
    await replicate([back, left]);
  });

  test('is noticed: entries that no node wrote are counted, each once', async () => {
    const { nodes } = await twoNodes();
    for (let n = 0; n < 3; n++) await add('*', 'a', 'b');
    await until(() => nodes.every(({ feed }) => feed.brokenEntries === 3));
    await replicate(nodes);
    expect(nodes.map(({ feed }) => feed.brokenEntries)).toEqual([3, 3]);
  });
});
