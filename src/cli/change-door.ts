import { setTimeout as sleep } from 'node:timers/promises';
import { CONTROL_ENTRIES_MAX, isControlChange } from '../app/control-protocol.ts';
import type { Change, Committer, OutcomeOf } from '../state/feed/changes.ts';
import type { StoreWrite } from '../state/tables/durable.ts';
import type { Store } from '../state/feed/open-store.ts';
import { acquireServerLock } from '../state/repair/server-lock.ts';
import { ServerConnection } from './server-connection.ts';

/** Choice: how long a command waits for a server that holds the lock and does not listen yet; it then writes beside it. */
const SERVER_WAIT_MS = 2_000;
const POLL_MS = 50;

/**
 * Choice: entries in one write of this process, which holds the write lock for some 20 ms; a server gets fewer at once.
 * Measured: 100,000 rows take 3 s through a server.
 */
const ENTRIES_PER_WRITE = 5_000;

type Commit = Parameters<Committer['commit']>;

/**
 * The one way in which commands change the store: through the server that runs on the data directory, so that its caches follow before the
 * command ends; without a server in the store itself, under the server's lock. If a server runs and cannot be reached, a command
 * writes beside it, and the server notices a changed key within a second.
 */
export class ChangeDoor implements Committer {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The number of registry entries that one change may have now. */
  async entriesMax(): Promise<number> {
    const server = await ServerConnection.open(this.#store.dataDir);
    server?.close();
    return server === null ? ENTRIES_PER_WRITE : CONTROL_ENTRIES_MAX;
  }

  async commit<One extends Change>(
    change: One,
    origin: Commit[1],
    options: Commit[2] = {},
  ): Promise<StoreWrite<OutcomeOf<One['kind']>>> {
    const deadline = performance.now() + SERVER_WAIT_MS;
    const isAccepted = isControlChange(change) && entriesOf(change) <= CONTROL_ENTRIES_MAX;
    for (;;) {
      // Choice: a connection for each change, so that a lost response can only mean that the server ended while it applied it.
      const server = isAccepted ? await ServerConnection.open(this.#store.dataDir) : null;
      if (server !== null) {
        const message = { change, nowMs: origin.nowMs, until: options.until ?? 'durable' };
        return (await server.ask(message)) as StoreWrite<OutcomeOf<One['kind']>>;
      }
      const locked = await acquireServerLock(this.#store.dataDir, 0);
      if (locked.kind === 'ok') {
        const written = await this.#store.changes.commit(change, origin, options);
        // A stuck write would also block the release; the process ends instead.
        if (!(written.kind === 'fault' && written.code === 'store_stuck')) await locked.lock.release();
        return written;
      }
      const mayAppear = locked.code === 'data_dir_in_use' && isAccepted && performance.now() < deadline;
      if (!mayAppear) return this.#store.changes.commit(change, origin, options);
      await sleep(POLL_MS);
    }
  }
}

function entriesOf(change: Change): number {
  return change.kind === 'registry.imported' || change.kind === 'list.batch' ? change.entries.length : 0;
}
