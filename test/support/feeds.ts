import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { FeedOptions } from '../../src/cluster/feed/feed-options.ts';
import { type FeedOpened, RedisFeed } from '../../src/cluster/feed/redis-feed.ts';
import type { Link } from '../../src/cluster/store/link.ts';
import { openLink, openWaitingLink } from '../../src/cluster/store/redis-link.ts';
import { openChangeTables } from '../../src/state/tables/change-tables.ts';
import { openStore, type Store } from '../../src/state/feed/open-store.ts';

/** Nodes of a cluster inside the test's process: each has a data directory and a feed of its own. */

export const CLUSTER_KEY = Buffer.alloc(32, 7);

export interface FeedNode {
  readonly id: string;
  readonly dataDir: string;
  readonly store: Store;
  readonly feed: RedisFeed;
  readonly opened: FeedOpened;
  /** The connection that sends changes. */
  readonly link: Link;
  /** Ends it in an orderly way. Idempotent. */
  close(): Promise<void>;
}

export type NodeOptions = Partial<Omit<FeedOptions, 'link' | 'waiting'>> & { readonly dataDir?: string };

let made = 0;

/** Opens a node that founds or joins the cluster of the store; it is closed after the test. */
export async function openNode(url: string, options: NodeOptions = {}): Promise<FeedNode> {
  const { dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-node-')), ...others } = options;
  const id = options.node ?? `node-${String(++made).padStart(4, '0')}`;
  const feeds: RedisFeed[] = [];
  const opening = openStore({
    dataDir,
    readOnly: false,
    feed(parts) {
      const feed = new RedisFeed(parts);
      feeds.push(feed);
      return feed;
    },
  });
  const [feed] = feeds;
  if (opening.kind === 'fault' || feed === undefined) throw new Error('the store does not open');
  const { store } = opening;
  const address = { urls: url.split(','), user: null, password: null };
  const [link, waiting] = [openLink(address), openWaitingLink(address)];
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    await feed.close();
    await Promise.all([link.close(), waiting.close()]);
    await store.close();
  };
  const node = { id, dataDir, store, feed, link, close: () => (closing ??= close()) };
  onTestFinished(async () => {
    await node.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const opened = await feed.open({
    link,
    waiting,
    key: CLUSTER_KEY,
    node: id,
    version: '1.0.0',
    reportMs: 50,
    ...others,
  });
  return { ...node, opened };
}

/** Resolves when all nodes have applied the same number of changes, at least as many as any had. */
export async function caughtUp(nodes: readonly FeedNode[], timeMs = 20_000): Promise<void> {
  const target = Math.max(...nodes.map(({ feed }) => feed.position));
  await until(() => nodes.every(({ feed }) => feed.position >= target), timeMs);
}

export async function until(isSo: () => boolean, timeMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeMs;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`not so within ${timeMs} ms: ${isSo.toString()}`);
    await sleep(5);
  }
}

/** All rows that changes own, as they are stored: `<table> <key> <value>` in hex. */
export function rowsOf({ state }: Pick<Store, 'state'>): readonly string[] {
  state.resetReadTxn();
  const rows: string[] = [];
  for (const { name, database, owns } of openChangeTables(state))
    for (const { key, value } of database.getRange()) {
      const copied = Buffer.from(key);
      if (owns(copied)) rows.push(`${name} ${copied.toString('hex')} ${Buffer.from(value).toString('hex')}`);
    }
  return rows;
}
