import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { RedisPoliteness } from '../../../../src/cluster/jobs/redis-politeness.ts';
import { DomainLimiter } from '../../../../src/extract/engine/domain-limiter.ts';
import { linkTo } from '../../../support/links.ts';
import { type RedisServer, startRedis } from '../../../support/redis.ts';

const KEY = Buffer.alloc(32, 5);
const GAP_MS = 40;

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

interface Started {
  readonly node: number;
  readonly atMs: number;
}

/** A limiter as each node has one, and the requests that it lets start; each runs for `runMs`. */
async function openNode(
  node: number,
  starts: Started[],
  { gapMs = GAP_MS, concurrency = 2, runMs = 5, slotMs = 15_000, nodes = 2, server = redis } = {},
) {
  const link = await linkTo(server.url);
  const limits = { gapMs, concurrency };
  const shared = new RedisPoliteness({ link, key: KEY, limits, nodes: () => nodes, slotMs });
  let running = 0;
  const limiter = new DomainLimiter({
    settings: limits,
    shared,
    monotonicMs: () => performance.now(),
    after(ms, then) {
      const timer = setTimeout(then, ms);
      return () => clearTimeout(timer);
    },
    grant(permits) {
      for (const permit of permits) {
        running++;
        starts.push({ node, atMs: performance.now() });
        if (runMs < Infinity)
          setTimeout(() => {
            running--;
            limiter.release(permit);
            limiter.pump();
          }, runMs);
      }
    },
    waits() {},
  });
  const close = async (): Promise<void> => {
    limiter.stop();
    shared.close();
    await link.close();
  };
  onTestFinished(close);
  const wish = (domain: string, count: number, from = 0): void => {
    for (let n = from; n < from + count; n++) limiter.wish(n, n, node, domain);
    limiter.pump();
  };
  return { limiter, wish, close, running: () => running };
}

const started = (starts: readonly Started[], count: number) =>
  expect.poll(() => starts.length, { timeout: 10_000, interval: 5 }).toBe(count);

function gapsOf(starts: readonly Started[]): readonly number[] {
  const times = starts.map(({ atMs }) => atMs).toSorted((a, b) => a - b);
  return times.slice(1).map((atMs, n) => atMs - (times[n] ?? 0));
}

/** A grant reaches its node a moment after the store gave it, earlier or later than the one before it. */
const LATE_MS = 15;

test('Two nodes that read one domain keep the gap between all their requests, and both get their turns', async () => {
  const starts: Started[] = [];
  const nodes = [await openNode(0, starts), await openNode(1, starts)];
  const domain = randomUUID();
  const fromMs = performance.now();
  for (const { wish } of nodes) wish(domain, 8);
  await started(starts, 16);
  expect(performance.now() - fromMs).toBeGreaterThanOrEqual(15 * GAP_MS - LATE_MS);
  expect(Math.min(...gapsOf(starts))).toBeGreaterThan(GAP_MS - LATE_MS);
  expect(new Set(starts.slice(0, 8).map(({ node }) => node)).size).toBe(2);
});

test('Domains do not wait for each other', async () => {
  const starts: Started[] = [];
  const { wish } = await openNode(0, starts, { gapMs: 5_000 });
  for (let n = 0; n < 5; n++) wish(randomUUID(), 1, n);
  await started(starts, 5);
  expect(Math.max(...gapsOf(starts))).toBeLessThan(5_000);
});

test('All nodes together have no more requests at a time than one node may have', async () => {
  const starts: Started[] = [];
  const nodes = [0, 1, 2].map((node) => openNode(node, starts, { gapMs: 0, runMs: 30, nodes: 3 }));
  const open = await Promise.all(nodes);
  const domain = randomUUID();
  let runningMax = 0;
  const timer = setInterval(() => {
    runningMax = Math.max(
      runningMax,
      open.reduce((sum, { running }) => sum + running(), 0),
    );
  }, 1);
  onTestFinished(() => clearInterval(timer));
  for (const { wish } of open) wish(domain, 4);
  await started(starts, 12);
  expect(runningMax).toBe(2);
});

test('The slots of a node that died are free again after their lease, not before', async () => {
  const starts: Started[] = [];
  const options = { gapMs: 0, slotMs: 400 };
  const dead = await openNode(0, starts, { ...options, runMs: Infinity });
  const other = await openNode(1, starts, options);
  const domain = randomUUID();
  dead.wish(domain, 2);
  await started(starts, 2);
  await dead.close();
  const fromMs = performance.now();
  other.wish(domain, 1);
  await started(starts, 3);
  expect(performance.now() - fromMs).toBeGreaterThan(200);
});

test('A slot in use longer than its lease is renewed, so that no other node gets it', async () => {
  const starts: Started[] = [];
  const options = { gapMs: 0, slotMs: 150, concurrency: 1 };
  const busy = await openNode(0, starts, { ...options, runMs: 600 });
  const other = await openNode(1, starts, options);
  const domain = randomUUID();
  busy.wish(domain, 1);
  await started(starts, 1);
  other.wish(domain, 1);
  await started(starts, 2);
  expect((starts[1]?.atMs ?? 0) - (starts[0]?.atMs ?? 0)).toBeGreaterThan(500);
});

test('A pause that a source asked one node for holds on all nodes, and jobs there show until when', async () => {
  const starts: Started[] = [];
  const [first, second] = [await openNode(0, starts), await openNode(1, starts)];
  const domain = randomUUID();
  const fromMs = performance.now();
  first.limiter.report(domain, { retryAfterMs: 60_000 });
  second.wish(domain, 1);
  await expect.poll(() => second.limiter.pausedUntilMs(domain), { timeout: 5_000 }).not.toBeNull();
  expect(second.limiter.pausedUntilMs(domain)).toBeGreaterThan(fromMs + 60_000 - LATE_MS);
  expect(starts).toEqual([]);
});

test('While the store does not answer, each of two nodes keeps twice the gap', async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const starts: Started[] = [];
  const { wish } = await openNode(0, starts, { gapMs: 60, server: own });
  await own.kill();
  const domain = randomUUID();
  wish(domain, 5);
  await started(starts, 5);
  // The first one started under the full limits and waited for them twice.
  expect(Math.min(...gapsOf(starts).slice(1))).toBeGreaterThan(120 - LATE_MS);
});
