import type { AssetStatus } from '../../assets/asset-messages.ts';
import type { ListeningAddress } from '../../egress/public-address.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { unreachable } from '../../kernel/brand.ts';
import type { Log } from '../../observe/log.ts';
import type { Reading } from '../../observe/reading.ts';
import { messageOf, type StoreFault } from '../../state/tables/durable.ts';
import type { ExtractStore } from '../../state/tables/extract-store.ts';
import type { LiveNode } from '../../state/tables/shared-jobs.ts';
import type { Extraction } from '../../work/extraction-job.ts';
import { hasEnded } from '../../work/extraction-state.ts';
import type { Delivery, DeliveryId } from '../../work/webhook.ts';
import type { EngineThreadData, RowCall } from '../engine/engine-messages.ts';
import { type EngineNews, EngineThread } from './engine-thread.ts';
import { endpointOf, type JobEndpoint } from '../engine/job-deliveries.ts';
import type { JobEngineState } from '../engine/job-engine.ts';
import { extractionReadings, NO_FIGURES, sharedExtractionReadings } from '../engine/job-metrics.ts';
import { JobReading } from '../engine/job-reading.ts';
import type { ExtractionControl } from '../base/jobs-port.ts';
import type { ResultDeliveryLog, JobRef } from '../sinks/result-deliveries.ts';
import { Waiters } from './waiters.ts';

export interface ExtractionsParts {
  /** This thread's own opening of `extract/`, for reads. */
  readonly store: ExtractStore;
  readonly data: EngineThreadData;
  readonly log: Log;
  /** Called on store failures; `store_stuck` must end the process. */
  onStoreFaults(faults: readonly StoreFault[]): void;
}

export interface Extractions {
  readonly control: ExtractionControl;
  readonly readings: readonly Reading[];
  /** Entries of the log of all nodes that no node has written for their place. */
  refusedEntries(): number;
  status(): AssetStatus;
  /**
   * Starts the extraction thread now if there is stored work that it runs, else with the first job. Batches for webhooks go through `rows`.
   */
  start(rows: DeliveryRows): void;
  /**
   * Resolves when reads see what other nodes of the cluster had written before; at once on a single node. Returns whether this node has
   * all jobs.
   */
  caughtUp(): Promise<boolean>;
  /** Sets the live nodes of the cluster, this one among them. */
  setNodes(nodes: readonly LiveNode[]): void;
  /** Returns the destination of a job's batches while its delivery is pending; null for any other id. */
  endpointOf(id: string): JobEndpoint | null;
  /** Sets the addresses on which this service listens, which no job may reach. Nothing is fetched before the first call. */
  listens(addresses: readonly ListeningAddress[]): void;
  /** Returns the current state of their jobs to waiting callers, and stops the thread once it has written what has arrived. */
  stop(): Promise<void>;
}

/** The deliveries of this thread's dispatcher. */
export interface DeliveryRows extends Omit<ResultDeliveryLog, 'add' | 'ended'> {
  /** Returns false if there is no room. */
  add(row: Delivery): boolean;
  /** Resolves when the row, which is pending now, has ended or the service stops. */
  ended(id: DeliveryId): Promise<void>;
}

const AT_REST: JobEngineState = { isBroken: false, isOutdated: false, figures: NO_FIGURES, waiting: new Map() };

const OUTDATED = 'a newer node wrote to the log of extractions; extractions stop on this node until it is upgraded';

const after = (ms: number, then: () => void): (() => void) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};

/**
 * The main thread's side of extraction: reads come from the store, writes go to the extraction thread, which owns `extract/`. If that
 * thread dies, it is started again and continues from the store.
 */
export function openExtractions(parts: ExtractionsParts): Extractions {
  const { store, log, data } = parts;
  const waiters = new Waiters(after);
  /** Jobs with a delivery to a webhook that is pending or was pending during this run. */
  const refs = new Map<string, JobRef>();
  let rows: DeliveryRows | null = null;
  let state = AT_REST;

  const thread = new EngineThread({
    data,
    onNews: hear,
    onDied: (error) => log.error({ err: error }, 'the extraction thread died; starting it again'),
  });
  const reads = new JobReading({
    store,
    encryptionKey: data.encryptionKey,
    nowMs: () => Date.now(),
    waitingUntilMs: (id) => state.waiting.get(id) ?? null,
    refresh: () => store.root.resetReadTxn(),
  });

  function hear(news: EngineNews): void {
    switch (news.kind) {
      case 'state':
        state = news.state;
        break;
      case 'ended':
        waiters.tell(news.id);
        break;
      case 'row':
        void answerRow(news.row).then(
          (value) => thread.send({ kind: 'returned', call: news.call, value }),
          // The extraction thread logs it and tries again.
          (error: unknown) => thread.send({ kind: 'failed', call: news.call, detail: messageOf(error) }),
        );
        break;
      case 'forget':
        rows?.forget(news.id);
        refs.delete(news.id);
        break;
      case 'log':
        log[news.level](news.fields, news.message);
        break;
      case 'fault':
        parts.onStoreFaults([news.fault]);
        break;
      default:
        unreachable(news);
    }
  }

  async function answerRow(asked: RowCall): Promise<unknown> {
    if (rows === null) throw new Error('the extraction thread runs before the dispatcher');
    switch (asked.kind) {
      case 'find':
        return shown(await rows.find(asked.customer, asked.id));
      case 'add': {
        const { customer, endpointId } = asked.row;
        refs.set(endpointId, { customer, id: endpointId as JobRef['id'] });
        return rows.add(asked.row);
      }
      case 'ended':
        return endOf(rows, asked.customer, asked.id);
      default:
        return unreachable(asked);
    }
  }

  const control: ExtractionControl = {
    find: (customer, id) => reads.find(customer, id),
    page: (customer, query, slices) => reads.page(customer, query, slices),
    records: (customer, id, query) => reads.records(customer, id, query),
    measureRecords: (customer, id, query, slices) => reads.measureRecords(customer, id, query, slices),
    streamRecords: (customer, id, query, slices) => reads.streamRecords(customer, id, query, slices),
    findIdempotent: (customer, request) => reads.findIdempotent(customer, request),
    failureOf: (requestId) => reads.failureOf(requestId),
    create: (job) => thread.write({ kind: 'create', job }),
    cancel: (customer, id) => thread.write({ kind: 'cancel', customer, id }),
    async waitFor(customer, id, timeoutMs): Promise<Extraction | null> {
      const found = reads.find(customer, id);
      if (found === null || hasEnded(found) || timeoutMs <= 0) return found;
      await waiters.wait(id, timeoutMs);
      return reads.find(customer, id);
    },
    sessions: {
      ...reads.sessions,
      create: (session) => thread.write({ kind: 'create_session', session }),
      remove: (customer, id) => thread.write({ kind: 'remove_session', customer, id }),
    },
  };

  return {
    control,
    readings: [
      ...extractionReadings(() => state.figures),
      ...(data.cluster ? sharedExtractionReadings(() => state.figures) : []),
    ],
    refusedEntries: () => state.figures.shared?.refused ?? 0,
    status() {
      if (thread.isFailing)
        return { state: 'broken', version: null, detail: 'the extraction thread cannot start; retrying' };
      if (state.isOutdated) return { state: 'broken', version: null, detail: OUTDATED };
      if (state.isBroken)
        return { state: 'broken', version: null, detail: 'the extract worker cannot start; retrying' };
      if (state.figures.shared?.isIncomplete === true)
        return { state: 'broken', version: null, detail: 'extractions are missing that no other node could give' };
      return { state: 'ok', version: null, detail: '' };
    },
    endpointOf(id) {
      const ref = refs.get(id);
      return ref === undefined ? null : endpointOf(reads, ref);
    },
    start(given) {
      rows = given;
      for (const { customer, id } of store.extractions.deliveries.pending()) refs.set(id, { customer, id });
      // A node of a cluster follows what the others do, whether it has work or not.
      if (data.cluster || (data.runsJobs && !store.isEmpty())) thread.wake();
    },
    async caughtUp() {
      // While the thread starts again, reads are as old as its last write.
      return data.cluster ? thread.write<boolean>({ kind: 'catch_up' }).catch(() => false) : true;
    },
    setNodes: (nodes) => thread.setNodes(nodes),
    listens: (addresses) => thread.listens(addresses),
    async stop() {
      waiters.tellAll();
      await thread.stop();
    },
  };
}

/** Resolves when the row has ended, also if that was before the call. */
async function endOf(rows: DeliveryRows, customer: CustomerNumber, id: DeliveryId): Promise<void> {
  const ended = rows.ended(id);
  const row = await rows.find(customer, id);
  if (row?.status === 'pending') await ended;
}

/** Returns the part of a row that a job's delivery needs, without its body. */
function shown(row: Awaited<ReturnType<ResultDeliveryLog['find']>>): Awaited<ReturnType<ResultDeliveryLog['find']>> {
  return row === null ? null : { status: row.status, error: row.error, attempts: row.attempts };
}
