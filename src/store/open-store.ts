import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { ApiKeys } from './api-keys.ts';
import { Counters } from './counters.ts';
import { Customers } from './customers.ts';
import { DecisionLog, type DecisionLogOptions } from './decision-log.ts';
import { Deliveries } from './deliveries.ts';
import { watchDisk } from './disk-room.ts';
import { fault, messageOf, type StoreFault } from './durable.ts';
import { createExtractStore, type ExtractStore } from './extract-store.ts';
import { Feedback } from './feedback.ts';
import { Labels } from './labels.ts';
import { Lists } from './lists.ts';
import { Registry } from './registry.ts';
import { RevocationFile } from './revocations.ts';
import { ShadowReviews } from './shadow-reviews.ts';
import { SightingQueue } from './sighting-queue.ts';
import { Sightings } from './sightings.ts';
import { type EnvironmentName, type TableName, TABLES_MAX } from './tables.ts';
import { Tallies } from './tallies.ts';
import { Turns } from './turns.ts';
import { Webhooks } from './webhooks.ts';

export interface StoreOptions {
  readonly dataDir: string;
  /** Read-only opens `state` alone, which must be there already: for score workers. */
  readonly readOnly: boolean;
}

export interface Store {
  readonly counters: Counters;
  readonly customers: Customers;
  readonly apiKeys: ApiKeys;
  readonly lists: Lists;
  readonly registry: Registry;
  readonly sightings: Sightings;
  readonly sightingQueue: SightingQueue;
  readonly labels: Labels;
  readonly shadowReviews: ShadowReviews;
  readonly feedback: Feedback;
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  /** Jobs of extraction and what belongs to them; null when opened read-only. */
  readonly extract: ExtractStore | null;
  /** Shared by all long reads of management calls, whichever table they read. */
  readonly turns: Turns;
  /** The environments, for `backup.ts`; `hot` is null when opened read-only. */
  readonly state: RootDatabase<Buffer, Buffer>;
  readonly hot: RootDatabase<Buffer, Buffer> | null;
  /** Opens the log of decisions, once; only for the server, which alone writes it. */
  openDecisionLog(options?: DecisionLogOptions): DecisionLog;
  /**
   * Lets the next reads see what others have committed since: a score worker calls it first in every batch, the server before it
   * polls `apiKeys.version()`. Without it a thread goes on reading the snapshot of its first read.
   */
  resetRead(): void;
  close(): Promise<void>;
}

export type StoreOpened = { readonly kind: 'ok'; readonly store: Store } | StoreFault;

/**
 * Opens the store. `ensureUsable` comes first wherever a process starts: a damaged file ends the process that touches it by
 * signal, and an empty one opens silently as an empty database. Safe in many threads of a process and in many processes.
 */
export function openStore(options: StoreOptions): StoreOpened {
  try {
    const state = openEnvironment(options.dataDir, 'state', options.readOnly);
    const counters = new Counters(table(state, 'meta'));
    const customers = new Customers(state, table(state, 'customers'), table(state, 'customer-ids'), counters);
    const apiKeys = new ApiKeys(state, table(state, 'api-keys'), counters, new RevocationFile(options.dataDir));
    const registry = new Registry(state, table(state, 'registry'));
    const tallies = new Tallies(table(state, 'tallies'));
    const lists = new Lists(state, table(state, 'lists'), tallies);
    const sightings = new Sightings(state, table(state, 'sightings'), registry, tallies);
    const sightingQueue = new SightingQueue(sightings);
    const labels = new Labels(state, table(state, 'labels'), tallies);
    const shadowReviews = new ShadowReviews(state, table(state, 'shadow-reviews'), tallies);
    const feedback = new Feedback(state, { labels, shadowReviews, sightings, sightingQueue });
    const webhooks = new Webhooks(state, table(state, 'webhooks'));
    const deliveryTables = { rows: table(state, 'deliveries'), pending: table(state, 'deliveries-pending') };
    const turns = new Turns();
    const deliveries = new Deliveries(state, deliveryTables, tallies, counters, undefined, turns);
    const hot = options.readOnly ? null : openEnvironment(options.dataDir, 'hot', false);
    if (hot !== null) table(hot, 'hot-meta');
    const extractRoot = options.readOnly ? null : openEnvironment(options.dataDir, 'extract', false);
    const extract = extractRoot === null ? null : createExtractStore(extractRoot, (name) => table(extractRoot, name));
    const decisions = hot === null ? null : table(hot, 'decisions');
    let decisionLog: DecisionLog | null = null;
    const store: Store = {
      counters,
      customers,
      apiKeys,
      lists,
      registry,
      sightings,
      sightingQueue,
      labels,
      shadowReviews,
      feedback,
      webhooks,
      deliveries,
      extract,
      turns,
      state,
      hot,
      openDecisionLog(given) {
        if (decisions === null || decisionLog !== null)
          throw new Error('the decision log is opened once, by the server');
        watchDisk(decisions, options.dataDir);
        decisionLog = new DecisionLog(decisions, options.dataDir, { turns, ...given });
        return decisionLog;
      },
      resetRead() {
        state.resetReadTxn();
      },
      async close() {
        await decisionLog?.close();
        await extract?.root.close();
        await state.close();
        // After a failed write this would never return.
        if ((decisionLog?.broken ?? null) === null) await hot?.close();
      },
    };
    return { kind: 'ok', store };
  } catch (error) {
    return fault('store_unusable', `the store in ${options.dataDir} cannot be opened: ${messageOf(error)}`);
  }
}

/**
 * Address space that is mapped at once, no limit: LMDB maps more when the file outgrows it.
 * Measured: growing in small steps keeps the old maps; an import of 1,000,000 rows peaks at 464 MB with them, at 279 MB so.
 */
const MAP_BYTES = 2 ** 32;

export function openEnvironment(
  dataDir: string,
  environment: EnvironmentName,
  readOnly: boolean,
): RootDatabase<Buffer, Buffer> {
  const path = join(dataDir, environment);
  if (readOnly && !existsSync(join(path, 'data.mdb'))) throw new Error(`${path} has no data file`);
  const root = open<Buffer, Buffer>({
    path,
    readOnly,
    maxDbs: TABLES_MAX,
    mapSize: MAP_BYTES,
    // With it the library makes promises of its own; when a commit fails they reject where nobody can hear, which ends the process.
    eventTurnBatching: false,
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  watchDisk(root, path);
  return root;
}

/** A sub-database, made at the first read-write opening. */
export function table(root: RootDatabase<Buffer, Buffer>, name: TableName): Database<Buffer, Buffer> {
  // The library answers undefined, which its types leave out, when a read-only environment lacks the sub-database.
  const opened: Database<Buffer, Buffer> | undefined = root.openDB<Buffer, Buffer>({
    name,
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  if (opened === undefined) throw new Error(`the sub-database ${name} is missing`);
  return opened;
}
