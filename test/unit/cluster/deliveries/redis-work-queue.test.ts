import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Claim, RedisWorkQueue } from '../../../../src/cluster/deliveries/redis-work-queue.ts';
import type { StoreResult } from '../../../../src/cluster/store/store-calls.ts';
import { linkTo } from '../../../support/links.ts';
import { type RedisServer, startRedis } from '../../../support/redis.ts';
import { delivery } from '../../state/deliveries-support.ts';

const START_MS = Date.UTC(2026, 10, 23, 12);
const KEY = Buffer.alloc(32, 5);

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

async function open(name = randomUUID()): Promise<RedisWorkQueue> {
  const link = await linkTo(redis.url);
  onTestFinished(() => link.close());
  return new RedisWorkQueue({ link, key: KEY, name });
}

let serial = 0;

/** Writes new deliveries to a lane, and returns their ids. */
async function added(queue: RedisWorkQueue, count: number, lane = 'gone'): Promise<readonly string[]> {
  const rows = Array.from({ length: count }, () => delivery(1, {}, START_MS + serial++));
  valueOf(await queue.replace(lane, rows));
  return rows.map(({ id }) => id);
}

function claimed(
  queue: RedisWorkQueue,
  order: { readonly consumer?: string; readonly limit?: number; readonly nowMs?: number } = {},
  lane = 'gone',
): Promise<readonly Claim[]> {
  return queue.claim(lane, { consumer: 'one', limit: 1_000, nowMs: START_MS, ...order });
}

function ids(claims: readonly Claim[]): readonly string[] {
  return claims.map(({ row }) => row.id);
}

function valueOf<T>(answer: StoreResult<T>): T {
  if (answer.kind === 'away') throw new Error(answer.detail);
  return answer.value;
}

describe('the queue of work in the store', () => {
  test('Work is claimed in the order of its first write, each piece by one consumer', async () => {
    const queue = await open();
    const all = await added(queue, 5);
    const first = await claimed(queue, { limit: 2 });
    const second = await claimed(queue, { consumer: 'two', limit: 2 });
    const third = await claimed(queue);
    expect([ids(first), ids(second), ids(third)]).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)]);
    expect(await claimed(queue, { consumer: 'two' })).toEqual([]);
    expect(new Set([...first, ...second, ...third].map(({ token }) => token)).size).toBe(5);
  });

  test('Consumers that claim at the same time share the work', async () => {
    const queue = await open();
    const all = await added(queue, 40);
    const consumers = Array.from({ length: 8 }, (_none, n) => claimed(queue, { consumer: `c${n}`, limit: 5 }));
    expect(ids((await Promise.all(consumers)).flat()).toSorted()).toEqual(all.toSorted());
  });

  test('Lanes are separate, and those without unfinished work are not listed', async () => {
    const queue = await open();
    const [[one], [two]] = [await added(queue, 1, 'a'), await added(queue, 1, 'b')];
    expect([...(await queue.lanes())].toSorted()).toEqual(['a', 'b']);
    expect(ids(await claimed(queue, {}, 'b'))).toEqual([two]);
    const claims = await claimed(queue, {}, 'a');
    expect(ids(claims)).toEqual([one]);
    expect(valueOf(await queue.settle('b', claims, START_MS))).toEqual([false]);
    expect(valueOf(await queue.settle('a', claims, START_MS))).toEqual([true]);
    expect(await queue.lanes()).toEqual(['b']);
    expect(await claimed(queue, {}, 'c')).toEqual([]);
  });

  test('An expired claim goes to the next consumer, and the first one can neither settle nor release it', async () => {
    const queue = await open();
    const all = await added(queue, 2);
    const first = await claimed(queue);
    const nowMs = START_MS + queue.leaseMs;
    expect(await claimed(queue, { consumer: 'two', nowMs: nowMs - 1 })).toEqual([]);
    const second = await claimed(queue, { consumer: 'two', nowMs });
    expect(ids(second)).toEqual(all);
    expect(valueOf(await queue.settle('gone', first, nowMs))).toEqual([false, false]);
    await queue.release('gone', first);
    expect(await claimed(queue, { consumer: 'three', nowMs })).toEqual([]);
    expect(valueOf(await queue.settle('gone', second, nowMs))).toEqual([true, true]);
  });

  test('An expired claim that no other consumer has taken can still be settled', async () => {
    const queue = await open();
    await added(queue, 1);
    const claims = await claimed(queue);
    const nowMs = START_MS + 2 * queue.leaseMs;
    expect(valueOf(await queue.settle('gone', claims, nowMs))).toEqual([true]);
    expect(await claimed(queue, { nowMs })).toEqual([]);
  });

  test('Released work can be claimed at once, before later work', async () => {
    const queue = await open();
    const all = await added(queue, 3);
    const claims = await claimed(queue, { limit: 2 });
    await queue.release('gone', claims.slice(0, 1));
    expect(ids(await claimed(queue, { consumer: 'two' }))).toEqual([all[0], all[2]]);
  });

  test('Settled work is never claimed again, also when it is written again and by a process that starts later', async () => {
    const name = randomUUID();
    const queue = await open(name);
    const row = delivery(1, {}, START_MS + serial++);
    valueOf(await queue.replace('gone', [row]));
    const claims = await claimed(queue);
    expect(valueOf(await queue.settle('gone', claims, START_MS))).toEqual([true]);
    expect(valueOf(await queue.settle('gone', claims, START_MS))).toEqual([false]);
    const later = await open(name);
    valueOf(await later.replace('gone', [row]));
    expect(await claimed(later, { nowMs: START_MS + 10 * later.leaseMs })).toEqual([]);
    expect(valueOf(await later.endedOf('gone', [row.id, 'other']))).toEqual(new Set([row.id]));
    expect(await later.lanes()).toEqual([]);
  });

  test('What a process had claimed when it died is claimed again once the lease has ended', async () => {
    const name = randomUUID();
    const queue = await open(name);
    const all = await added(queue, 4);
    const claims = await claimed(queue, { limit: 3 });
    valueOf(await queue.settle('gone', claims.slice(1, 2), START_MS));
    const later = await open(name);
    const nowMs = START_MS + later.leaseMs;
    expect(ids(await claimed(later, { consumer: 'two', nowMs }))).toEqual([all[0], all[2], all[3]]);
  });
});
