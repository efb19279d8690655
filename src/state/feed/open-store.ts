import type { Database, RootDatabase } from 'lmdb';
import { Audit } from '../tables/audit-table.ts';
import { ApiKeys } from '../tables/key-table.ts';
import type { StateFeed } from './changes.ts';
import { type FeedParts, LmdbFeed } from './lmdb-feed.ts';
import { FeedPositions } from './feed-position.ts';
import { SightingReports } from './sighting-reports.ts';
import type { StateTables } from '../tables/state-tables.ts';
import { Counters } from '../tables/counters.ts';
import { Customers } from '../tables/customer-table.ts';
import { Deliveries } from '../tables/delivery-table.ts';
import { watchDisk } from '../tables/disk-room.ts';
import { fault, messageOf, type StoreFault } from '../tables/durable.ts';
import { openEnvironment, table } from '../tables/environment.ts';
import { Erased, Erasures } from '../tables/erasure-table.ts';
import { ErasureFile } from './erasure-file.ts';
import { type ExtractStore, openExtractStore } from '../tables/extract-store.ts';
import { Feedback } from './feedback.ts';
import { Labels } from '../tables/label-table.ts';
import { LearningRows } from '../tables/learning-row-table.ts';
import { ListKinds } from '../tables/list-kinds-table.ts';
import { Lists } from '../tables/list-table.ts';
import { NamedLists } from '../tables/named-list-table.ts';
import { NamedListVersions } from '../tables/named-list-versions-table.ts';
import { Outcomes } from '../tables/outcome-table.ts';
import { Registry } from '../tables/registry-table.ts';
import { RevocationFile } from './revocations.ts';
import { type SaveReviews, ShadowReviews } from '../tables/review-table.ts';
import { OwnRules } from '../tables/own-rule-table.ts';
import { SightingQueue } from './sighting-queue.ts';
import { Sightings } from '../tables/sighting-table.ts';
import { RowCounters } from '../tables/row-counters.ts';
import { Turns } from '../tables/turns.ts';
import { OwnChanges } from './own-changes.ts';
import { Watches } from '../tables/watch-table.ts';
import { Webhooks } from '../tables/webhook-table.ts';

export interface StoreOptions {
  readonly dataDir: string;
  /** Read-only opens only `state`, which must exist: for score workers. */
  readonly readOnly: boolean;
  /** Makes the change feed; without it, the one of an installation that works alone. */
  readonly feed?: (parts: FeedParts) => StateFeed;
}

export interface Store extends Omit<StateTables, 'rowCounters'> {
  readonly tables: StateTables;
  /** The only way to write `tables`. */
  readonly changes: StateFeed;
  /** Reports what this node itself changed by `changes`. */
  readonly ownChanges: Pick<OwnChanges, 'onOwnCommitted'>;
  readonly revocations: RevocationFile;
  /** The position in the changes of a cluster; null when opened read-only. */
  readonly positions: FeedPositions | null;
  readonly sightingReports: SightingReports;
  readonly dataDir: string;
  readonly sightingQueue: SightingQueue;
  readonly feedback: Feedback;
  readonly deliveries: Deliveries;
  /** Extraction jobs and their data; null when opened read-only. */
  readonly extract: ExtractStore | null;
  /** Reported outcomes of decisions; null when opened read-only. */
  readonly outcomes: Outcomes | null;
  /** Feature rows that outlive their decisions; null when opened read-only. */
  readonly learningRows: LearningRows | null;
  /** Which erasures this node has carried out in its own tables; null when opened read-only. */
  readonly erased: Erased | null;
  readonly erasureFile: ErasureFile;
  /** Time slices shared by all long reads of management calls, whichever table they read. */
  readonly turns: Turns;
  /** The environments, for `backup.ts`; `hot` is null when opened read-only. */
  readonly state: RootDatabase<Buffer, Buffer>;
  readonly hot: RootDatabase<Buffer, Buffer> | null;
  /** Blocks of the decision log, which `src/history` reads and writes; null when opened read-only. */
  readonly decisionBlocks: Database<Buffer, Buffer> | null;
  /** Its index of links. */
  readonly decisionLinks: Database<Buffer, Buffer> | null;
  /** Statistics of decisions. */
  readonly decisionStats: Database<Buffer, Buffer> | null;
  /** Registers the decision log, once. It is closed before its environment. */
  attachDecisionLog(log: AttachedLog): void;
  /**
   * Makes the next reads see what others have committed since. A score worker calls it at the start of every batch, the server before it
   * polls `apiKeys.version()`. Otherwise a thread keeps reading the snapshot of its first read.
   */
  resetRead(): void;
  close(): Promise<void>;
}

/** What closing the store needs to know of the decision log. `broken`: reason for which it writes no more, or null. */
export interface AttachedLog {
  readonly broken: string | null;
  close(): Promise<void>;
}

export type StoreOpened = { readonly kind: 'ok'; readonly store: Store } | StoreFault;

/**
 * Opens the store. Every process must call `ensureUsable` first: touching a damaged file kills the process by a signal, and an empty file
 * silently opens as an empty database. Safe for use by many threads and processes.
 */
export function openStore(options: StoreOptions): StoreOpened {
  try {
    const state = openEnvironment(options.dataDir, 'state', options.readOnly);
    const tables = openTables(state, (customer, rows) =>
      changes.commit({ kind: 'reviews.queued', customer, rows }, { by: 'service', nowMs: Date.now() }),
    );
    const revocations = new RevocationFile(options.dataDir);
    const positions = options.readOnly ? null : new FeedPositions(table(state, 'feed'));
    const turns = new Turns();
    const makeFeed = options.feed ?? ((parts: FeedParts): StateFeed => new LmdbFeed(parts));
    const changes = new OwnChanges(makeFeed({ root: state, tables, revocations, positions, turns }));
    const sightingReports = new SightingReports(changes);
    const sightingQueue = new SightingQueue(sightingReports);
    const { shadowReviews } = tables;
    const feedback = new Feedback({ changes, shadowReviews, sightingQueue, sightingReports });
    const deliveryTables = { rows: table(state, 'deliveries'), pending: table(state, 'deliveries-pending') };
    const deliveries = new Deliveries(state, deliveryTables, tables.rowCounters, tables.counters, undefined, turns);
    const hot = options.readOnly ? null : openEnvironment(options.dataDir, 'hot', false);
    const extract = options.readOnly ? null : openExtractStore(options.dataDir);
    const hotTables = hot === null ? NO_HOT_TABLES : openHotTables(hot, options.dataDir);
    const { outcomes, learningRows } = hotTables;
    let decisionLog: AttachedLog | null = null;
    const store: Store = {
      dataDir: options.dataDir,
      ...tables,
      tables,
      changes,
      ownChanges: changes,
      revocations,
      erasureFile: new ErasureFile(options.dataDir),
      positions,
      sightingReports,
      sightingQueue,
      feedback,
      deliveries,
      extract,
      turns,
      state,
      hot,
      ...hotTables,
      attachDecisionLog(log) {
        if (decisionLog !== null) throw new Error('the decision log is opened once, by the server');
        decisionLog = log;
      },
      resetRead() {
        state.resetReadTxn();
      },
      async close() {
        await decisionLog?.close();
        await extract?.root.close();
        await state.close();
        // After a failed write, closing the environment would never return.
        const isBroken = outcomes?.broken === true || learningRows?.broken === true;
        if ((decisionLog?.broken ?? null) === null && !isBroken) await hot?.close();
      },
    };
    return { kind: 'ok', store };
  } catch (error) {
    return fault('store_unusable', `the store in ${options.dataDir} cannot be opened: ${messageOf(error)}`);
  }
}

function openTables(state: RootDatabase<Buffer, Buffer>, saveReviews: SaveReviews): StateTables {
  // Only an erasure writes it; every table is made here, so that a missing one stays a sign of damage.
  table(state, 'filler');
  const counters = new Counters(table(state, 'meta'));
  const rowCounters = new RowCounters(table(state, 'tallies'));
  return {
    audit: new Audit(table(state, 'audit'), rowCounters),
    counters,
    rowCounters,
    customers: new Customers(table(state, 'customers'), table(state, 'customer-ids')),
    apiKeys: new ApiKeys(table(state, 'api-keys'), counters),
    lists: new Lists(table(state, 'lists')),
    listKinds: new ListKinds(table(state, 'list-kinds')),
    registry: new Registry(table(state, 'registry')),
    sightings: new Sightings(table(state, 'sightings')),
    labels: new Labels(table(state, 'labels'), rowCounters),
    shadowReviews: new ShadowReviews(table(state, 'shadow-reviews'), rowCounters, saveReviews),
    webhooks: new Webhooks(table(state, 'webhooks')),
    rules: new OwnRules(table(state, 'rules')),
    namedLists: new NamedLists(table(state, 'named-lists'), table(state, 'named-list-items')),
    namedListVersions: new NamedListVersions(table(state, 'named-list-versions'), table(state, 'named-list-replaced')),
    erasures: new Erasures(table(state, 'erasures')),
    watches: new Watches(table(state, 'watches'), table(state, 'watch-seen'), table(state, 'watch-changes')),
  };
}

type HotTables = Pick<
  Store,
  'erased' | 'outcomes' | 'learningRows' | 'decisionBlocks' | 'decisionLinks' | 'decisionStats'
>;

const NO_HOT_TABLES: HotTables = {
  erased: null,
  outcomes: null,
  learningRows: null,
  decisionBlocks: null,
  decisionLinks: null,
  decisionStats: null,
};

function openHotTables(hot: RootDatabase<Buffer, Buffer>, dataDir: string): HotTables {
  table(hot, 'hot-meta');
  table(hot, 'hot-filler');
  const outcomes = new Outcomes(hot, table(hot, 'outcomes'));
  const learningRows = new LearningRows(hot, table(hot, 'learning-rows'));
  const decisionBlocks = table(hot, 'decisions');
  const decisionLinks = table(hot, 'decision-links');
  const decisionStats = table(hot, 'decision-stats');
  for (const written of [decisionBlocks, decisionLinks, decisionStats]) watchDisk(written, dataDir);
  const erased = new Erased(hot, table(hot, 'erased'));
  return { erased, outcomes, learningRows, decisionBlocks, decisionLinks, decisionStats };
}
