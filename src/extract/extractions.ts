import { statfs } from 'node:fs/promises';
import { hasEnded } from '../core/extraction-state.ts';
import type { Log } from '../observe/log.ts';
import type { Reading } from '../observe/metrics.ts';
import type { ExtractOrder, ExtractWorkerData } from '../pools/extract-messages.ts';
import type { LayerStatus } from '../pools/layer-messages.ts';
import type { ExtractPool, ExtractPoolEvents } from '../pools/extract-pool.ts';
import { LatePool } from '../pools/late-pool.ts';
import type { StoreFault } from '../store/durable.ts';
import type { ExtractStore } from '../store/extract-store.ts';
import type { StoredJob } from '../store/extractions.ts';
import { carriesRest, type Connector } from './connector.ts';
import { Control } from './control.ts';
import type { DeliveryLog, ResultDeliveries } from './deliver/result-deliveries.ts';
import { Uploads } from './deliver/uploads.ts';
import { endFields } from './end-log.ts';
import { Janitor } from './janitor.ts';
import { addPending, createJobDeliveries, endpointOf, type JobEndpoint } from './job-deliveries.ts';
import type { ExtractionControl } from './jobs-port.ts';
import type { PoliteSettings } from './politeness.ts';
import { extractionReadings } from './readings.ts';
import { Scheduler, SCHEDULER_BOUNDS, type SchedulerBounds } from './scheduler.ts';
import { Waiters } from './waiters.ts';

export interface ExtractionsParts {
  readonly store: ExtractStore;
  /** The folder whose disk must have room. */
  readonly dataDir: string;
  /** One of `deriveKey`, for what extraction seals. */
  readonly sealing: Uint8Array;
  readonly workers: number;
  readonly worker: ExtractWorkerData;
  readonly connectors: readonly Connector[];
  readonly polite: PoliteSettings;
  readonly bounds?: Partial<SchedulerBounds>;
  readonly log: Log;
  openPool(workers: number, data: ExtractWorkerData, events: ExtractPoolEvents): Promise<ExtractPool>;
  /** The store failed; `store_stuck` must end the process. */
  onStoreFaults(faults: readonly StoreFault[]): void;
}

export interface Extractions {
  readonly control: ExtractionControl;
  readonly readings: readonly Reading[];
  status(): LayerStatus;
  /**
   * What the last run of the process left goes on at once, and what goes to webhooks by this log. Workers start now where a job is
   * open, else with the first.
   */
  start(deliveryLog: DeliveryLog): Promise<void>;
  /** Where the batches of a job go whose delivery is pending; null for any other id. */
  endpointOf(id: string): JobEndpoint | null;
  /** Where this service listens, which no job may reach. Nothing is fetched before it is told. */
  listens(addresses: readonly { readonly host: string; readonly port: number }[]): void;
  /** Nothing is begun any more, callers that wait get their jobs as they stand, what arrived is written, the workers end. */
  stop(): Promise<void>;
}

/** Choice: pauses are whole seconds. */
const TICK_MS = 500;
/** Choice: what is too old is gone within seconds. */
const JANITOR_MS = 2_000;
const DISK_MS = 5_000;
/** Choice: as for the log of decisions: with less room than this nothing is fetched. */
const DISK_FREE_BYTES_MIN = 512 * 1_048_576;

/** Jobs and their records go by real time, even where the service's own is simulated. */
const nowMs = (): number => Date.now();
const after = (ms: number, then: () => void): (() => void) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};
const breathe = (): Promise<void> => new Promise((done) => setImmediate(done));

/** Wires extraction on the main thread: the store's tables, the workers, the scheduler between them, and what customers ask. */
export function createExtractions(parts: ExtractionsParts): Extractions {
  const { store, sealing, log } = parts;
  let deliveries: ResultDeliveries | null = null;
  const send = (worker: number, order: ExtractOrder): boolean => pool.current?.send(worker, order) ?? false;
  const wakeWorkers = (): void => pool.wake();
  const uploads = new Uploads({ send, wakeWorkers });
  let listening: readonly { readonly host: string; readonly port: number }[] | null = null;
  const waiters = new Waiters(after);
  const onStoreFault = (fault: StoreFault): void => parts.onStoreFaults([fault]);
  const ended = (stored: StoredJob): void => {
    logEnd(log, stored, store.failures);
    waiters.tell(stored.job.id);
    if (stored.state.delivery === 'pending') deliveries?.add(stored.job);
  };
  const scheduler = new Scheduler({
    store,
    sealing,
    polite: parts.polite,
    bounds: { ...SCHEDULER_BOUNDS, ...parts.bounds },
    carriesRest: ({ connector, operation }, stateJson) =>
      carriesRest(
        parts.connectors.find(({ id }) => id === connector)?.operations.find(({ name }) => name === operation),
        stateJson,
      ),
    nowMs,
    monotonicMs: () => performance.now(),
    after,
    send,
    wakeWorkers,
    restartWorker(worker) {
      log.error({ worker }, 'an extract worker is stuck; it is ended and another takes its place');
      pool.current?.restart(worker);
    },
    onEnded: (job, state) => ended({ job, state }),
    onStoreFault,
  });
  const control = new Control({ store, scheduler, waiters, sealing, nowMs, onCancelled: ended });
  const janitor = new Janitor({ store, nowMs, breathe, onStoreFault });

  /** A worker that is up is used when it knows what it may not reach. */
  const ready = (worker: number): void => {
    if (listening === null || pool.current === null) return;
    send(worker, { kind: 'listening', addresses: listening });
    scheduler.workerReady(worker);
    uploads.workerReady(worker);
  };
  const events: ExtractPoolEvents = {
    onReady: ready,
    onEvents: (worker, heard) => scheduler.hear(worker, heard),
    onUpload: (worker, signal) => uploads.hear(worker, signal),
    onAlive: (worker) => scheduler.workerAlive(worker),
    onEnded(worker, error) {
      log.error({ err: error, worker }, 'an extract worker died; its steps are done again');
      scheduler.workerEnded(worker);
      uploads.workerEnded(worker);
    },
  };
  const readyAll = ({ workers }: ExtractPool): void => {
    for (let worker = 0; worker < workers; worker++) ready(worker);
  };
  const pool = new LatePool<ExtractPool>({
    start: () => parts.openPool(parts.workers, parts.worker, events),
    onOpened: readyAll,
    onFailed: (error) => log.error({ err: error }, 'an extract worker cannot start; it is tried again'),
  });
  const timers: NodeJS.Timeout[] = [];
  return {
    control,
    status() {
      if (!pool.isBroken) return { state: 'ok', version: null, detail: '' };
      return { state: 'broken', version: null, detail: 'the extract worker cannot start, and is tried again' };
    },
    readings: extractionReadings(scheduler, store.extractions, () => deliveries?.size ?? 0),
    endpointOf: (id) => (deliveries === null ? null : endpointOf(deliveries, control, id)),
    async start(deliveryLog) {
      deliveries = createJobDeliveries({
        store,
        control,
        uploads,
        connectors: parts.connectors,
        deliveryLog,
        log,
        nowMs,
        after,
        breathe,
        onStoreFault,
      });
      addPending(deliveries, store);
      await lookAtDisk(parts, scheduler);
      scheduler.resume();
      timers.push(
        setInterval(() => scheduler.tick(), TICK_MS),
        setInterval(() => void janitor.run(), JANITOR_MS),
        setInterval(() => void lookAtDisk(parts, scheduler), DISK_MS),
      );
    },
    listens(addresses) {
      const isFirst = listening === null;
      listening = addresses;
      if (pool.current === null) return;
      if (isFirst) readyAll(pool.current);
      else for (let worker = 0; worker < pool.current.workers; worker++) send(worker, { kind: 'listening', addresses });
    },
    async stop() {
      for (const timer of timers) clearInterval(timer);
      waiters.tellAll();
      const stopped = Promise.all([scheduler.stop(), janitor.stop(), deliveries?.stop() ?? Promise.resolve()]);
      // What workers are sending ends with them.
      await (await pool.closed())?.close();
      uploads.stop();
      await stopped;
    },
  };
}

async function lookAtDisk({ dataDir, log }: ExtractionsParts, scheduler: Scheduler): Promise<void> {
  const isFull = await statfs(dataDir).then(
    ({ bavail, bsize }) => bavail * bsize < DISK_FREE_BYTES_MIN,
    () => false,
  );
  if (isFull === scheduler.isPaused) return;
  scheduler.isPaused = isFull;
  if (isFull) log.error({ bytes_min: DISK_FREE_BYTES_MIN }, 'the disk is nearly full; extraction waits');
  else log.info('the disk has room again; extraction goes on');
  scheduler.pump();
}

/** One line for each job that ended. */
function logEnd(log: Log, stored: StoredJob, failures: ExtractStore['failures']): void {
  if (!hasEnded(stored.state)) return;
  const entries = stored.state.status === 'failed' ? (failures.find(stored.job.requestId)?.entries ?? []) : [];
  log.info(endFields(stored, entries), 'extraction');
}
