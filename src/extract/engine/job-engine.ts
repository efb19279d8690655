import { unreachable } from '../../kernel/brand.ts';
import type { Job } from '../../state/tables/extractions/job-row.ts';
import type { JobNews, LiveNode, SharedJobs } from '../../state/tables/shared-jobs.ts';
import { hasEnded } from '../../work/extraction-state.ts';
import type { ExtractionId } from '../../work/extraction-job.ts';
import type { ExtractOrder, ExtractWorkerData } from '../base/extract-messages.ts';
import type { ExtractWorker, ExtractWorkerEvents } from './extract-worker.ts';
import { LatePool } from '../../kernel/late-pool.ts';
import type { StoreFault } from '../../state/tables/durable.ts';
import type { ListeningAddress } from '../../egress/public-address.ts';
import type { ExtractStore } from '../../state/tables/extract-store.ts';
import type { StoredJob } from '../../state/tables/extractions/job-rows.ts';
import { carriesRest, type Connector } from '../base/connector.ts';
import { DiskShare, diskRoomOf } from './disk-share.ts';
import { JobControl } from './job-control.ts';
import { JobReading } from './job-reading.ts';
import type { ResultDeliveryLog, ResultDeliveries } from '../sinks/result-deliveries.ts';
import { Uploads } from '../sinks/uploads.ts';
import { endFields, type JobLogLine } from './canonical-log-line.ts';
import { Janitor } from './maintenance-steps.ts';
import { addPending, createJobDeliveries } from './job-deliveries.ts';
import type { JobWrites } from '../base/jobs-port.ts';
import type { DomainLimits } from './domain-limits.ts';
import { type ExtractionFigures, figuresOf } from './job-metrics.ts';
import { Scheduler, SCHEDULER_BOUNDS, type SchedulerBounds } from './scheduler.ts';

export interface JobEngineParts {
  readonly store: ExtractStore;
  /** Directory whose disk must have free space. */
  readonly dataDir: string;
  /** Key made by `deriveKey`, for everything that extraction encrypts. */
  readonly encryptionKey: Uint8Array;
  readonly worker: ExtractWorkerData;
  readonly connectors: readonly Connector[];
  readonly polite: DomainLimits;
  readonly bounds?: Partial<SchedulerBounds>;
  /** False: jobs are stored and cancelled, and nothing is run, delivered or timed out. */
  readonly runsJobs?: boolean;
  /** The jobs of a cluster; null or absent on a single node. */
  readonly shared?: SharedJobs | null;
  readonly log: JobLogLine;
  /** Webhook batches of jobs go through it. */
  readonly deliveryLog: ResultDeliveryLog;
  openWorker(data: ExtractWorkerData, events: ExtractWorkerEvents): Promise<ExtractWorker>;
  /** Called after the end of each job, however it came. */
  onEnded(id: ExtractionId): void;
  /** Called on store failures; `store_stuck` must end the process. */
  onStoreFault(fault: StoreFault): void;
}

/** Stores jobs and runs them: everything of extraction but the endpoints and their reads. One in the process, in a thread of its own. */
export interface JobEngine {
  readonly writes: JobWrites;
  state(): JobEngineState;
  /** Resumes the open jobs and pending deliveries of the previous run. The worker starts now if a job is open, else with the first job. */
  start(): Promise<void>;
  /** Sets the addresses on which this service listens, which no job may reach. Nothing is fetched before the first call. */
  listens(addresses: readonly ListeningAddress[]): void;
  /** Resolves when reads see what other nodes had written before; at once on a single node. Returns whether this node has all jobs. */
  caughtUp(): Promise<boolean>;
  /** Sets the live nodes of a cluster. */
  setNodes(nodes: readonly LiveNode[]): void;
  /** Starts nothing more, writes what has arrived, and ends the worker. */
  stop(): Promise<void>;
}

/** What other threads show of the engine. */
export interface JobEngineState {
  /** Whether the extract worker cannot start. */
  readonly isBroken: boolean;
  /** Whether a newer node of the cluster writes what this one cannot read. */
  readonly isOutdated: boolean;
  readonly figures: ExtractionFigures;
  /** Jobs that are idle because their sources asked them to wait, with the time at which they continue, Unix ms. */
  readonly waiting: ReadonlyMap<ExtractionId, number>;
}

/** Choice: pauses are whole seconds. */
const TICK_MS = 500;
/** Choice: expired data is removed within seconds. */
const JANITOR_MS = 2_000;
const DISK_MS = 5_000;

/** Jobs and their records use real time, even if the service runs on the virtual clock. */
const nowMs = (): number => Date.now();
const after = (ms: number, then: () => void): (() => void) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};
const yieldToEventLoop = (): Promise<void> => new Promise((done) => setImmediate(done));

/** Wires up the engine: the store's tables, the worker, the scheduler between them, and the customers' writes. */
export function createJobEngine(parts: JobEngineParts): JobEngine {
  const { encryptionKey, log, runsJobs = true, shared = null } = parts;
  const store = shared?.store ?? parts.store;
  const owns = (job: Pick<Job, 'number'>): boolean => shared?.owns(job.number) ?? true;
  const onStoreFault = (fault: StoreFault): void => parts.onStoreFault(fault);
  let deliveries: ResultDeliveries | null = null;
  const send = (order: ExtractOrder): boolean => worker.current?.send(order) ?? false;
  const wakeWorker = (): void => {
    if (runsJobs) worker.wake();
  };
  const uploads = new Uploads({ send, wakeWorker });
  let listening: readonly ListeningAddress[] | null = null;
  const ended = (stored: StoredJob): void => {
    if (owns(stored.job)) logEnd(log, stored, store.failures);
    parts.onEnded(stored.job.id);
    if (stored.state.delivery === 'pending' && owns(stored.job)) deliveries?.add(stored.job);
  };
  const scheduler = new Scheduler({
    store,
    encryptionKey,
    polite: parts.polite,
    sharedPoliteness: shared?.politeness ?? null,
    owns,
    bounds: { ...SCHEDULER_BOUNDS, ...parts.bounds },
    runsJobs,
    carriesRest: ({ connector, operation }, stateJson) =>
      carriesRest(
        parts.connectors.find(({ id }) => id === connector)?.operations.find(({ name }) => name === operation),
        stateJson,
      ),
    nowMs,
    monotonicMs: () => performance.now(),
    after,
    send,
    wakeWorker,
    restartWorker() {
      log.error({}, 'an extract worker is stuck; replacing it');
      worker.current?.restart();
    },
    onEnded: (job, state) => ended({ job, state }),
    onStoreFault,
  });
  const writes = new JobControl({ store, scheduler, encryptionKey, nowMs, onCancelled: ended });
  const waitingUntilMs = (id: ExtractionId): number | null => scheduler.waitingUntilMs(id);
  // This thread's own commits are visible to its next read.
  const reads = new JobReading({ store, encryptionKey, nowMs, waitingUntilMs, refresh: () => {} });
  const janitor = new Janitor({ store, nowMs, yieldToEventLoop, onStoreFault });
  const disk = new DiskShare({ store, scheduler, log, measure: () => diskRoomOf(parts.dataDir) });

  /** Follows what other nodes do with the jobs of this one, and takes over theirs. */
  const hear = (news: JobNews): void => {
    switch (news.kind) {
      case 'adopted':
        if (news.from !== '') {
          scheduler.counts.takenOver++;
          log.warn(
            { extraction: news.stored.job.id, node: news.from },
            'an extraction of another node is continued here',
          );
        }
        if (!hasEnded(news.stored.state)) scheduler.adopt(news.stored);
        else deliveries?.add(news.stored.job);
        break;
      case 'lost':
        scheduler.release(news.job);
        break;
      case 'ended':
        if (owns(news.stored.job)) scheduler.drop(news.stored.job);
        ended(news.stored);
        break;
      default:
        unreachable(news);
    }
  };

  /** Uses the running worker once it knows which addresses it must not reach. */
  const onReady = (): void => {
    if (listening === null || worker.current === null) return;
    send({ kind: 'listening', addresses: listening });
    scheduler.workerReady();
    uploads.workerReady();
  };
  const events: ExtractWorkerEvents = {
    onReady,
    onEvents: (heard) => scheduler.hear(heard),
    onUpload: (signal) => uploads.hear(signal),
    onAlive: () => scheduler.workerAlive(),
    onEnded(error) {
      log.error({ err: error }, 'an extract worker died; its steps are retried');
      scheduler.workerEnded();
      uploads.workerEnded();
    },
  };
  const worker = new LatePool<ExtractWorker>({
    start: () => parts.openWorker(parts.worker, events),
    onOpened: onReady,
    onFailed: (error) => log.error({ err: error }, 'an extract worker cannot start; retrying'),
  });
  const timers: NodeJS.Timeout[] = [];
  return {
    writes,
    state: () => ({
      isBroken: worker.isBroken,
      isOutdated: shared?.isStopped ?? false,
      figures: figuresOf(scheduler, store.extractions, deliveries?.size ?? 0, shared?.state() ?? null),
      waiting: scheduler.waitingJobs(),
    }),
    caughtUp: () => shared?.caughtUp() ?? Promise.resolve(true),
    setNodes: (nodes) => shared?.setNodes(nodes),
    async start() {
      await shared?.follow();
      if (runsJobs) {
        deliveries = createJobDeliveries({
          store,
          owns,
          control: reads,
          uploads,
          connectors: parts.connectors,
          deliveryLog: parts.deliveryLog,
          log,
          nowMs,
          after,
          yieldToEventLoop,
          onStoreFault,
        });
      }
      await disk.look();
      if (deliveries !== null) addPending(deliveries, store);
      scheduler.resume();
      shared?.onNews(hear);
      timers.push(
        setInterval(() => scheduler.tick(), TICK_MS),
        setInterval(() => void janitor.run(), JANITOR_MS),
        setInterval(() => void disk.look(), DISK_MS),
      );
    },
    listens(addresses) {
      const isFirst = listening === null;
      listening = addresses;
      if (isFirst) onReady();
      else send({ kind: 'listening', addresses });
    },
    async stop() {
      for (const timer of timers) clearInterval(timer);
      const stopped = Promise.all([scheduler.stop(), janitor.stop(), deliveries?.stop() ?? Promise.resolve()]);
      // Transfers that the worker is still sending end with it.
      await (await worker.closed())?.close();
      uploads.stop();
      await stopped;
      await shared?.close();
    },
  };
}

/** Logs one line for each ended job. */
function logEnd(log: JobLogLine, stored: StoredJob, failures: ExtractStore['failures']): void {
  if (!hasEnded(stored.state)) return;
  const entries = stored.state.status === 'failed' ? (failures.find(stored.job.requestId)?.entries ?? []) : [];
  log.info(endFields(stored, entries), 'extraction');
}
