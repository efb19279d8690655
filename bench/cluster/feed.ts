import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RedisFeed } from '../../src/cluster/feed/redis-feed.ts';
import { openLink, openWaitingLink } from '../../src/cluster/store/redis-link.ts';
import type { CustomerNumber, FingerprintHash } from '../../src/kernel/brand.ts';
import type { ChangeOf, StateFeed } from '../../src/state/feed/changes.ts';
import { openStore, type Store } from '../../src/state/feed/open-store.ts';

/**
 * Measures the change feed of a cluster against that of a single node: `node dist/bench/cluster/feed.js redis://127.0.0.1:6379 [changes]`.
 * The store must be empty. The second node is a process of its own. Prints one line of JSON per figure.
 */

const [url = 'redis://127.0.0.1:6379', countText = '5000', mode = ''] = process.argv.slice(2);
const COUNT = Number(countText);
const AT_ONCE = 64;
const ORIGIN = { by: 'service', nowMs: Date.now() } as const;

interface Node {
  readonly store: Store;
  readonly feed: RedisFeed;
  close(): Promise<void>;
}

function putOf(n: number): ChangeOf<'list.put'> {
  const fingerprintHash = (n % 50_000).toString(16).padStart(64, '0') as FingerprintHash;
  const entry = { fingerprintHash, action: 'block', note: null, expiresAtSeconds: null } as const;
  return { kind: 'list.put', customer: 1 as CustomerNumber, entry };
}

async function openNode(node: string, dataDir: string): Promise<Node> {
  const feeds: RedisFeed[] = [];
  const opened = openStore({
    dataDir,
    readOnly: false,
    feed(parts) {
      const feed = new RedisFeed(parts);
      feeds.push(feed);
      return feed;
    },
  });
  const [feed] = feeds;
  if (opened.kind === 'fault' || feed === undefined) throw new Error('the store does not open');
  const address = { urls: [url], user: null, password: null };
  const [link, waiting] = [openLink(address), openWaitingLink(address)];
  const joined = await feed.open({ link, waiting, key: Buffer.alloc(32, 1), node, version: 'bench' });
  if (joined.kind === 'fault') throw new Error(joined.detail);
  return {
    store: opened.store,
    feed,
    async close() {
      await feed.close();
      await Promise.all([link.close(), waiting.close()]);
      await opened.store.close();
    },
  };
}

async function commitAll(feed: StateFeed, count: number, atOnce: number): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) {
      const write = await feed.commit(putOf(next++), ORIGIN);
      if (write.kind === 'fault') throw new Error(write.detail);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

async function measure(name: string, count: number, work: () => Promise<void>): Promise<void> {
  const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  const ms = performance.now() - startedMs;
  print({
    name,
    changes: count,
    per_second: Math.round((count / ms) * 1000),
    cpu_us_each: Math.round((user + system) / count),
  });
}

function print(figure: object): void {
  process.stdout.write(`${JSON.stringify(figure)}\n`);
}

async function medianMs(feed: StateFeed, count: number): Promise<{ readonly p50: number; readonly p99: number }> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const startedMs = performance.now();
    const write = await feed.commit(putOf(n), ORIGIN);
    if (write.kind === 'fault') throw new Error(write.detail);
    times.push(performance.now() - startedMs);
  }
  times.sort((a, b) => a - b);
  const at = (part: number): number => Math.round((times[Math.floor(part * times.length)] ?? 0) * 100) / 100;
  return { p50: at(0.5), p99: at(0.99) };
}

async function follow(dataDir: string): Promise<void> {
  const node = await openNode('follower', dataDir);
  process.send?.('open');
  process.on('message', (target: number) => {
    const timer = setInterval(() => {
      if (node.feed.position < target) return;
      clearInterval(timer);
      const { user, system } = process.cpuUsage();
      const lag = { p50: node.feed.lag.quantile(0.5), p99: node.feed.lag.quantile(0.99) };
      process.send?.({ lag, cpu_us: user + system, position: node.feed.position });
    }, 10);
  });
  process.on('disconnect', () => void node.close().then(() => process.exit(0)));
}

async function main(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-bench-feed-'));
  const alone = openStore({ dataDir: join(home, 'alone'), readOnly: false });
  if (alone.kind === 'fault') throw new Error(alone.detail);
  print({ name: 'one node: ms per commit', ...(await medianMs(alone.store.changes, 300)) });
  await measure('one node', COUNT, () => commitAll(alone.store.changes, COUNT, AT_ONCE));
  await alone.store.close();

  const writer = await openNode('writer', join(home, 'writer'));
  const away = await openNode('away', join(home, 'away'));
  await away.close();
  const child = fork(fileURLToPath(import.meta.url), [url, join(home, 'follower'), 'follow']);
  const heard = (): Promise<unknown> => new Promise((resolve) => child.once('message', resolve));
  await heard();
  print({ name: 'cluster: ms per commit', ...(await medianMs(writer.feed, 300)) });
  child.send(writer.feed.position);
  print({ name: 'cluster, other node: lag ms, one commit at a time', ...((await heard()) as object) });
  await measure('cluster, node that commits', COUNT, () => commitAll(writer.feed, COUNT, AT_ONCE));
  child.send(writer.feed.position);
  print({ name: 'cluster, other node: lag ms, 64 commits at a time', ...((await heard()) as object) });
  await measure('cluster, node that was away', COUNT + 300, async () => {
    const back = await openNode('away', join(home, 'away'));
    await back.close();
  });
  await measure('cluster, new node: rows by a snapshot', 50_000, async () => {
    const fresh = await openNode('new', join(home, 'new'));
    await fresh.close();
  });
  child.disconnect();
  await writer.close();
  rmSync(home, { recursive: true, force: true });
}

await (mode === 'follow' ? follow(countText) : main());
