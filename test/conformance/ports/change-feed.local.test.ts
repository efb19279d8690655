import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Store } from '../../../src/state/feed/open-store.ts';
import { boundedFeed } from '../../support/writes.ts';
import { open } from '../../unit/state/support.ts';
import { type ChangeFeedSubject, describeChangeFeed } from './change-feed.ts';

/** A single node: its commits are the order of all changes, so it is always caught up. */
describeChangeFeed('a store of one node', async (bounds) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-feed-'));
  let store = open(folder);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const subject = (of: Store): ChangeFeedSubject => ({
    nodes: [{ feed: boundedFeed(of, bounds), tables: of.tables }],
    caughtUp: () => Promise.resolve(),
    async restart() {
      await store.close();
      store = open(folder);
      return subject(store);
    },
  });
  return subject(store);
});
