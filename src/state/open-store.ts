import type { Database, RootDatabase } from 'lmdb';
import { ApiKeys } from './key-table.ts';
import { Counters } from './counters.ts';
import { Customers } from './customer-table.ts';
import { Deliveries } from './delivery-table.ts';
import { watchDisk } from './disk-room.ts';
import { fault, messageOf, synced, type StoreFault } from './durable.ts';
import { openEnvironment, table } from './environment.ts';
import { createExtractStore, type ExtractStore } from './extract-store.ts';
import { Feedback } from './feedback.ts';
import { Labels } from './label-table.ts';
import { Lists } from './list-table.ts';
import { Outcomes } from './outcome-table.ts';
import { Registry } from './registry-table.ts';
import { RevocationFile } from './revocations.ts';
import { ShadowReviews } from './review-table.ts';
import { SightingQueue } from './sighting-queue.ts';
import { Sightings } from './sighting-table.ts';
import { RowCounters } from './row-counters.ts';
import { Turns } from './turns.ts';
import { Webhooks } from './webhook-table.ts';

export interface StoreOptions {
  readonly dataDir: string;
  /** Read-only opens only `state`, which must exist: for score workers. */
  readonly readOnly: boolean;
}

export interface Store {
  readonly dataDir: string;
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
  /** Opened with the first use when the store is read-only. */
  readonly deliveries: Deliveries;
  /** Extraction jobs and their data; null when opened read-only. */
  readonly extract: ExtractStore | null;
  /** Reported outcomes of decisions; null when opened read-only. */
  readonly outcomes: Outcomes | null;
  /** Time slices shared by all long reads of management calls, whichever table they read. */
  readonly turns: Turns;
  /** The environments, for `backup.ts`; `hot` is null when opened read-only. */
  readonly state: RootDatabase<Buffer, Buffer>;
  readonly hot: RootDatabase<Buffer, Buffer> | null;
  readonly deliveriesRoot: RootDatabase<Buffer, Buffer> | null;
  /** Blocks of the decision log, which `src/history` reads and writes; null when opened read-only. */
  readonly decisionBlocks: Database<Buffer, Buffer> | null;
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
    const counters = new Counters(table(state, 'meta'));
    const customers = new Customers(state, table(state, 'customers'), table(state, 'customer-ids'), counters);
    const apiKeys = new ApiKeys(state, table(state, 'api-keys'), counters, new RevocationFile(options.dataDir));
    const registry = new Registry(state, table(state, 'registry'));
    const rowCounters = new RowCounters(table(state, 'tallies'));
    const lists = new Lists(state, table(state, 'lists'), rowCounters);
    const sightings = new Sightings(state, table(state, 'sightings'), registry, rowCounters);
    const sightingQueue = new SightingQueue(sightings);
    const labels = new Labels(state, table(state, 'labels'), rowCounters);
    const shadowReviews = new ShadowReviews(state, table(state, 'shadow-reviews'), rowCounters);
    const feedback = new Feedback(state, { labels, shadowReviews, sightings, sightingQueue });
    const webhooks = new Webhooks(state, table(state, 'webhooks'));
    const turns = new Turns();
    let opened: OpenDeliveries | null = options.readOnly ? null : openDeliveries(options, turns);
    const hot = options.readOnly ? null : openEnvironment(options.dataDir, 'hot', false);
    if (hot !== null) table(hot, 'hot-meta');
    const extractRoot = options.readOnly ? null : openEnvironment(options.dataDir, 'extract', false);
    const extract = extractRoot === null ? null : createExtractStore(extractRoot, (name) => table(extractRoot, name));
    const outcomes = hot === null ? null : new Outcomes(hot, table(hot, 'outcomes'));
    const decisionBlocks = hot === null ? null : table(hot, 'decisions');
    if (decisionBlocks !== null) watchDisk(decisionBlocks, options.dataDir);
    let decisionLog: AttachedLog | null = null;
    const store: Store = {
      dataDir: options.dataDir,
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
      get deliveries() {
        opened ??= openDeliveries(options, turns);
        return opened.deliveries;
      },
      get deliveriesRoot() {
        return opened?.root ?? null;
      },
      extract,
      outcomes,
      turns,
      state,
      hot,
      decisionBlocks,
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
        if (opened !== null) await synced(opened.root);
        await opened?.root.close();
        await state.close();
        // After a failed write, closing the environment would never return.
        if ((decisionLog?.broken ?? null) === null && outcomes?.broken !== true) await hot?.close();
      },
    };
    return { kind: 'ok', store };
  } catch (error) {
    return fault('store_unusable', `the store in ${options.dataDir} cannot be opened: ${messageOf(error)}`);
  }
}

interface OpenDeliveries {
  readonly root: RootDatabase<Buffer, Buffer>;
  readonly deliveries: Deliveries;
}

function openDeliveries({ dataDir, readOnly }: StoreOptions, turns: Turns): OpenDeliveries {
  const root = openEnvironment(dataDir, 'deliveries', readOnly);
  const counters = new Counters(table(root, 'deliveries-meta'));
  const rowCounters = new RowCounters(table(root, 'deliveries-tallies'));
  const tables = { rows: table(root, 'deliveries'), pending: table(root, 'deliveries-pending') };
  return { root, deliveries: new Deliveries(root, tables, rowCounters, counters, undefined, turns) };
}

/** What the delivery thread opens: `state` to read, `deliveries` to write. */
export interface DeliveryStore {
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  /** Makes the next reads of `state` see what the main thread has committed since. */
  resetRead(): void;
  close(): Promise<void>;
}

/** Throws if one of them cannot be opened. Call in the delivery thread, after `ensureUsable` and `openStore` in the main thread. */
export function openDeliveryStore(dataDir: string): DeliveryStore {
  const state = openEnvironment(dataDir, 'state', true);
  const { root, deliveries } = openDeliveries({ dataDir, readOnly: false }, new Turns());
  return {
    webhooks: new Webhooks(state, table(state, 'webhooks')),
    deliveries,
    resetRead() {
      state.resetReadTxn();
    },
    async close() {
      await synced(root);
      await root.close();
      await state.close();
    },
  };
}
