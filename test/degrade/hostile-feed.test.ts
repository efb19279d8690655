import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHANGES_KEY, HEAD_KEY, REPLICAS_KEY } from '../../src/cluster/feed/feed-keys.ts';
import { type Nodes, startNodes } from '../support/cluster.ts';
import { command } from '../support/command-line.ts';
import { bearer, fingerprintOf } from '../support/manage.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { decide, get } from '../support/requests.ts';

/** Two servers over a shared store in which somebody without the master key writes. */

const POLL = { timeout: 30_000, interval: 100 };

let redis: RedisServer;
let nodes: Nodes;
beforeAll(async () => {
  redis = await startRedis();
  nodes = await startNodes({ count: 2, storeUrl: redis.url, env: { GATEHOUSE_WORKERS: '1' } });
});
afterAll(async () => {
  await nodes.stop();
  await redis.stop();
});

let made = 0;

/** Makes a list entry through one node, and finds it on the other at last. */
async function replicates(from: number): Promise<void> {
  const hash = fingerprintOf(`entry-${made++}`);
  const entry = { fingerprint_hash: hash, action: 'watch' };
  const put = async (): Promise<number> =>
    (await bearer(nodes.at(from).url, nodes.secretKey, 'POST', '/v1/lists', entry)).status;
  await expect.poll(put, POLL).toBeLessThan(300);
  const listed = async (): Promise<string> =>
    (await bearer(nodes.at(1 - from).url, nodes.secretKey, 'GET', '/v1/lists?limit=100')).text;
  await expect.poll(listed, POLL).toContain(hash);
}

const statusOf = (pid: number): string => readFileSync(`/proc/${pid}/status`, 'utf8');

interface Ready {
  readonly code: number;
  readonly feed: { readonly state: string; readonly detail: string };
}

async function readyOf(node: number): Promise<Ready> {
  const { status, json } = await get(nodes.at(node).url, '/readyz');
  return { code: status, feed: (json as { layers: { feed: Ready['feed'] } }).layers.feed };
}

/** Also after a time in which each node has looked at the store and told the others of itself. */
async function areWell(): Promise<void> {
  await sleep(2_500);
  for (const node of [0, 1])
    await expect.poll(() => readyOf(node), POLL).toMatchObject({ code: 200, feed: { state: 'ok' } });
  for (const node of [0, 1]) await replicates(node);
}

describe('a shared store in which somebody writes', () => {
  test('One stray entry ends no node: it is skipped, logged and counted, and changes go on', async () => {
    await areWell();
    await redis.command('XADD', CHANGES_KEY, '*', 'a', 'b');
    await areWell();
    for (const node of [0, 1]) {
      const { text } = await get(nodes.at(node).url, '/metrics');
      expect(text).toContain('\ngatehouse_feed_broken_entries_total 1\n');
      expect((await readyOf(node)).feed.detail).toContain('1 broken entries of the shared store were skipped');
      expect(nodes.at(node).stdout()).toContain('entries of the stream of changes were skipped');
    }
  });

  test.each<readonly [string, () => Promise<unknown>]>([
    ['an entry far ahead', () => redis.command('XADD', CHANGES_KEY, '999999-0', 'a', 'b')],
    ['the loss of all keys', () => redis.flush()],
    ['a string in the place of the stream', () => redis.command('SET', CHANGES_KEY, 'x')],
    ['a head that claims more changes', () => redis.command('HSET', HEAD_KEY, 'number', '999999')],
    [
      'another key and format of the nodes',
      () => redis.command('HSET', '{gh:feed}:cluster', 'key', 'x', 'format', '9'),
    ],
    [
      'a later run of both nodes',
      async () => {
        for (const node of ['node-0', 'node-1'])
          await redis.command('HSET', '{gh:feed}:nodes', node, `${Date.now() + 1e6} ${Date.now()} up 0f0f x`);
      },
    ],
  ])('No node ends, and changes go on, after %s', async (_what, act) => {
    await act();
    await areWell();
    for (const node of [0, 1]) expect((await readyOf(node)).code).toBe(200);
  });

  test('Values of tens of MB take no memory of the nodes; decisions go on, and changes after their removal', async () => {
    const memoryMb = (node: number): number => Number(/VmRSS:\s*(\d+)/.exec(statusOf(nodes.at(node).pid))?.[1]) / 1024;
    const before = [0, 1].map(memoryMb);
    const huge = "local long = string.rep('x', 70000000) ";
    const wait = async (): Promise<void> => {
      for (let seconds = 0; seconds < 4; seconds++) {
        await sleep(1_000);
        for (const node of [0, 1]) {
          expect((await decide(nodes.at(node).url, nodes.secretKey)).status).toBe(200);
          expect(memoryMb(node) - (before[node] ?? 0)).toBeLessThan(150);
        }
      }
    };
    await redis.command('EVAL', `${huge}return redis.call('HSET', KEYS[1], 'node-9', long)`, '1', REPLICAS_KEY);
    await wait();
    const refused = async (node: number): Promise<boolean> =>
      /refused_values_total\{kind="reply"\} [1-9]/.test((await get(nodes.at(node).url, '/metrics')).text);
    for (const node of [0, 1]) await expect.poll(() => refused(node), POLL).toBe(true);
    await redis.command('EVAL', `${huge}return redis.call('XADD', KEYS[1], '*', 'v', long)`, '1', CHANGES_KEY);
    await wait();
    await redis.command('DEL', CHANGES_KEY, REPLICAS_KEY);
    await areWell();
  });

  test('Both nodes start again beside a stray entry, and one can leave', async () => {
    for (const node of [0, 1]) await nodes.stopNode(node, 'SIGTERM');
    await redis.command('XADD', CHANGES_KEY, '*', 'a', 'b');
    await Promise.all([nodes.startNode(0), nodes.startNode(1)]);
    await areWell();
    await nodes.stopNode(1, 'SIGTERM');
    const words = [
      '--json',
      '--data-dir',
      nodes.at(0).dataDir.replace(/node-0$/, 'node-1'),
      'cluster',
      'leave',
      '--force',
    ];
    const left = await command(words, { env: nodes.env(1) });
    expect(JSON.parse(left.out)).toEqual({ left: true });
  });
});
