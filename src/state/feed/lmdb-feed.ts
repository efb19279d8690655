import type { RootDatabase } from 'lmdb';
import type { Committed, CommitOptions, Origin } from '../../ports/change-feed.ts';
import { apply, applying } from './apply.ts';
import { reserveRecord } from './apply/audit-record.ts';
import { batchEntry, type BatchOutcome, countNew, prepareBatchInSlices } from './apply/lists.ts';
import type { Change, ChangeOf, OutcomeOf, StateFeed } from './changes.ts';
import {
  committed,
  durably,
  durablyTogether,
  fault,
  messageOf,
  type StoreFault,
  type StoreWrite,
} from '../tables/durable.ts';
import type { FeedPositions } from './feed-position.ts';
import type { RevocationFile } from './revocations.ts';
import { STATE_BOUNDS, type StateBounds, type StateTables } from '../tables/state-tables.ts';
import type { Turns } from '../tables/turns.ts';

/** What a change feed is made of. */
export interface FeedParts {
  readonly root: RootDatabase<Buffer, Buffer>;
  readonly tables: StateTables;
  readonly revocations: RevocationFile;
  /** Null when opened read-only. */
  readonly positions: FeedPositions | null;
  readonly turns: Turns;
}

export interface LmdbFeedParts extends Pick<FeedParts, 'root' | 'tables' | 'revocations'> {
  readonly positions?: FeedPositions | null;
  readonly bounds?: Partial<StateBounds>;
}

/** Measured: a batch of this many entries in one transaction holds the thread for 0.4 ms (median). A longer one is written in steps. */
const BATCH_ENTRIES_AT_ONCE = 50;

type Listener = (committed: Committed<Change>) => void;

/** The change feed of a single machine: each change is one LMDB transaction. */
export class LmdbFeed implements StateFeed {
  readonly #parts: LmdbFeedParts;
  readonly #bounds: StateBounds;
  readonly #listeners = new Set<Listener>();
  /** Changes that only this node made would make its data differ from that of its cluster. */
  readonly #isMember: boolean;

  constructor(parts: LmdbFeedParts) {
    this.#parts = parts;
    this.#bounds = { ...STATE_BOUNDS, ...parts.bounds };
    this.#isMember = (parts.positions?.read() ?? null) !== null;
  }

  async commit<One extends Change>(
    change: One,
    origin: Origin,
    options: CommitOptions = {},
  ): Promise<StoreWrite<OutcomeOf<One['kind']>>> {
    if (this.#isMember) return memberFault();
    const unready = this.#prepare(change, origin);
    if (unready !== null) return unready;
    const written = await this.#write(change, origin, options);
    if (written.kind === 'ok') for (const listener of this.#listeners) listener({ ...origin, change });
    return written;
  }

  onCommitted(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #write<One extends Change>(
    change: One,
    origin: Origin,
    { until = 'durable', slices }: CommitOptions,
  ): Promise<StoreWrite<OutcomeOf<One['kind']>>> {
    const { root, tables } = this.#parts;
    if (change.kind === 'list.batch' && change.entries.length > BATCH_ENTRIES_AT_ONCE) {
      return this.#writeBatch(change, origin, slices);
    }
    const write = until === 'durable' ? durably : committed;
    return write(root, () => apply(tables, change, origin, this.#bounds));
  }

  /**
   * A revocation is synced to its own file before it is written here, so that it also applies to a `state` that is restored from an older
   * backup.
   */
  #prepare(change: Change, { nowMs }: Origin): StoreFault | null {
    if (change.kind !== 'key.revoked') return null;
    const key = this.#parts.tables.apiKeys.find(change.hash);
    if (key === null || key.revokedAtSeconds !== null) return null;
    try {
      this.#parts.revocations.append([[change.hash, Math.floor(nowMs / 1000)]]);
      return null;
    } catch (error) {
      return fault('store_write_failed', `the revocation could not be written: ${messageOf(error)}`);
    }
  }

  /**
   * Writes all entries of a batch or none, as `apply` does. Rows are encoded in slices before the write, which the library's own thread
   * executes. Measured: 1,000 entries hold the thread for 1 ms at most, in one transaction for 4.5 ms.
   * New entries and the audit entry are counted in an earlier transaction: if the process ends between the two, the counts stay too high by
   * their number.
   */
  async #writeBatch(
    change: ChangeOf<'list.batch'>,
    origin: Origin,
    slices: CommitOptions['slices'],
  ): Promise<StoreWrite<BatchOutcome>> {
    const { root, tables } = this.#parts;
    const { customer } = change;
    const at = applying(tables, origin, this.#bounds);
    const { rows, unseen, puts } = await prepareBatchInSlices(at, change, slices);
    const entry = batchEntry(puts);
    const reserved = await committed(root, () => {
      const added = countNew(at, customer, unseen);
      return added === null ? null : { added, record: entry && reserveRecord(at, customer, entry) };
    });
    if (reserved.kind === 'fault') return reserved;
    if (reserved.value === null) return { kind: 'ok', value: 'limit_reached' };
    const { added, record } = reserved.value;
    const written = await durablyTogether(root, () => {
      // All puts of a batch return one promise. If the write fails, it rejects with the same error as the batch.
      const promises = new Set(rows.map((row) => tables.lists.putRow(row)));
      if (record !== null) promises.add(tables.audit.putRow(record));
      for (const promise of promises) promise.catch(() => {});
      return puts;
    });
    if (written.kind === 'fault') {
      await committed(root, () => {
        tables.rowCounters.add('lists', customer, -added);
        if (record !== null) tables.rowCounters.add('audit', customer, -1);
      });
    }
    return written;
  }
}

function memberFault(): StoreFault {
  return fault(
    'cluster_member',
    'the data directory belongs to a cluster; start its server, or make it work alone with `gatehouse cluster leave`',
  );
}
