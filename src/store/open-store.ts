import type { RootDatabase } from 'lmdb';
import { ApiKeys } from './api-keys.ts';
import { Counters } from './counters.ts';
import { Customers } from './customers.ts';
import { DecisionLog, type DecisionLogOptions } from './decision-log.ts';
import { readDecisionRows, type RowQuery, type RowVisitor } from './decision-log/read-rows.ts';
import { Deliveries } from './deliveries.ts';
import { watchDisk } from './disk-room.ts';
import { fault, messageOf, type StoreFault } from './durable.ts';
import { openEnvironment, table } from './environment.ts';
import { createExtractStore, type ExtractStore } from './extract-store.ts';
import { Feedback } from './feedback.ts';
import { Labels } from './labels.ts';
import { Lists } from './lists.ts';
import { Outcomes } from './outcomes.ts';
import { Registry } from './registry.ts';
import { RevocationFile } from './revocations.ts';
import { ShadowReviews } from './shadow-reviews.ts';
import { SightingQueue } from './sighting-queue.ts';
import { Sightings } from './sightings.ts';
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
  /** Reported outcomes of decisions; null when opened read-only. */
  readonly outcomes: Outcomes | null;
  /** Shared by all long reads of management calls, whichever table they read. */
  readonly turns: Turns;
  /** The environments, for `backup.ts`; `hot` is null when opened read-only. */
  readonly state: RootDatabase<Buffer, Buffer>;
  readonly hot: RootDatabase<Buffer, Buffer> | null;
  /** Opens the log of decisions, once; only for the server, which alone writes it. */
  openDecisionLog(options?: DecisionLogOptions): DecisionLog;
  /** Shows what the log of decisions has on the disk, for commands; see `readDecisionRows`. Nothing when opened read-only. */
  readDecisions(query: RowQuery, visit: RowVisitor): number;
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
    const outcomes = hot === null ? null : new Outcomes(hot, table(hot, 'outcomes'));
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
      outcomes,
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
      readDecisions(query, visit) {
        return decisions === null ? 0 : readDecisionRows(decisions, query, visit);
      },
      resetRead() {
        state.resetReadTxn();
      },
      async close() {
        await decisionLog?.close();
        await extract?.root.close();
        await state.close();
        // After a failed write this would never return.
        if ((decisionLog?.broken ?? null) === null && outcomes?.broken !== true) await hot?.close();
      },
    };
    return { kind: 'ok', store };
  } catch (error) {
    return fault('store_unusable', `the store in ${options.dataDir} cannot be opened: ${messageOf(error)}`);
  }
}
