import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { newId } from '../../kernel/ids.ts';
import type { StoreFault } from '../../state/tables/durable.ts';
import { type ExtractStore, openExtractStore } from '../../state/tables/extract-store.ts';
import { Slices, Turns } from '../../state/tables/turns.ts';
import type { ExtractionId, FailureEntry } from '../../work/extraction-job.ts';
import { type ExtractionState, hasEnded } from '../../work/extraction-state.ts';
import type { Connector } from '../base/connector.ts';
import type { ExtractWorkerData } from '../base/extract-messages.ts';
import type { ResultDeliveryLog } from '../sinks/result-deliveries.ts';
import type { CheckedRequest } from '../request/read-request.ts';
import { decidingEntry } from './canonical-log-line.ts';
import type { DomainLimits } from './domain-limits.ts';
import { openExtractWorker } from './extract-worker.ts';
import { createJobEngine, type JobEngine } from './job-engine.ts';
import { JobReading } from './job-reading.ts';

export interface OneJobParts {
  readonly connectors: readonly Connector[];
  readonly worker: ExtractWorkerData;
  readonly polite: DomainLimits;
  /** Ends the job as `cancelled`. */
  readonly signal: AbortSignal;
  /**
   * Writes NDJSON without `_meta.seq`; `firstSeq` is the number of its first record, from 1. More records are read when the promise
   * resolves. If it rejects, the job ends and `runOneJob` rejects with that error.
   */
  write(ndjson: Uint8Array, firstSeq: number): Promise<void>;
  onProgress(state: ExtractionState): void;
  /** Called for what the operator should know while the job runs, for example that it is paused because the disk is nearly full. */
  onWarning(message: string): void;
}

export interface OneJobEnd {
  /** Succeeded or failed. */
  readonly state: ExtractionState;
  /** Why the job failed; null if it succeeded or was cancelled. */
  readonly detail: string | null;
  /** Failures on the way: the first ones, and of many the last ones. */
  readonly entries: readonly FailureEntry[];
}

/** The temporary store has one customer. */
const CUSTOMER = 1 as CustomerNumber;
/** Choice: records appear soon after they were found, and an idle job costs nothing noticeable. */
const LOOK_MS = 100;
/** Choice: bytes of records read at once. */
const READ_BYTES_MAX = 1_048_576;

/** A job without a webhook uses none of it. */
const NO_DELIVERIES: ResultDeliveryLog = {
  find: () => Promise.resolve(null),
  add: () => Promise.resolve(false),
  ended: () => Promise.resolve(),
  forget: () => {},
};

/**
 * Runs one job to its end with the service's own engine, on a store in a temporary directory that is removed afterwards. So the job has the
 * limits of the service. Its records are on disk, at most 2 GiB, until they have been written. Rejects if `write` does or the store fails.
 */
export async function runOneJob(request: CheckedRequest, parts: OneJobParts): Promise<OneJobEnd> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-job-'));
  try {
    const store = openExtractStore(dataDir);
    try {
      return await runInStore(store, dataDir, request, parts);
    } finally {
      await store.root.close();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function runInStore(
  store: ExtractStore,
  dataDir: string,
  request: CheckedRequest,
  parts: OneJobParts,
): Promise<OneJobEnd> {
  const encryptionKey = randomBytes(32);
  const watch: JobWatch = { fault: null, wake: () => {} };
  const warn = (_fields: object, message: string): void => parts.onWarning(`${message} (${dataDir})`);
  const engine = createJobEngine({
    store,
    dataDir,
    encryptionKey,
    worker: parts.worker,
    connectors: parts.connectors,
    polite: parts.polite,
    log: { info: () => {}, warn, error: warn },
    deliveryLog: NO_DELIVERIES,
    openWorker: openExtractWorker,
    onEnded: () => watch.wake(),
    onStoreFault: (fault) => (watch.fault = fault),
  });
  await engine.start();
  // This process listens on no address.
  engine.listens([]);
  try {
    const requestId = newId('req', Date.now());
    const id = await createJob(engine, requestId, request);
    const cancel = (): void => void engine.writes.cancel(CUSTOMER, id);
    parts.signal.addEventListener('abort', cancel, { once: true });
    if (parts.signal.aborted) cancel();
    const state = await follow(store, encryptionKey, id, watch, parts);
    return endOf(state, store.failures.find(requestId)?.entries ?? []);
  } finally {
    await engine.stop();
  }
}

/** What the engine reports between two looks at the store. */
interface JobWatch {
  fault: StoreFault | null;
  /** Ends the wait for the next look. */
  wake: () => void;
}

async function createJob(
  engine: JobEngine,
  requestId: string,
  { connector, operation, input, collect, output, delivery, steps }: CheckedRequest,
): Promise<ExtractionId> {
  const created = await engine.writes.create({
    customer: CUSTOMER,
    requestId,
    connector: connector.id,
    operation: operation.name,
    input,
    collect,
    output,
    session: null,
    delivery,
    deliverySecrets: null,
    steps,
    idempotency: null,
  });
  if (created.kind === 'created') return created.job.id;
  throw new Error(created.kind === 'fault' ? faultText(created) : `the job was not created: ${created.kind}`);
}

/** Writes the records as they are stored, until the job has ended and all are written. */
async function follow(
  store: ExtractStore,
  encryptionKey: Uint8Array,
  id: ExtractionId,
  watch: JobWatch,
  parts: OneJobParts,
): Promise<ExtractionState> {
  const reads = new JobReading({
    store,
    encryptionKey,
    nowMs: () => Date.now(),
    waitingUntilMs: () => null,
    refresh: () => {},
  });
  const slices = new Slices(new Turns());
  let written = 0;
  for (;;) {
    if (watch.fault !== null) throw new Error(faultText(watch.fault));
    // Read before the records, so that a job that has ended has no more of them.
    const stored = store.extractions.find(CUSTOMER, id);
    if (stored === null) throw new Error('the job is not in the temporary store');
    const query = { fromSeq: written, recordsMax: Infinity, bytesMax: READ_BYTES_MAX };
    for await (const { firstSeq, records, bytes } of reads.streamRecords(CUSTOMER, id, query, slices)) {
      await parts.write(Buffer.from(bytes), firstSeq + 1);
      written = firstSeq + records;
    }
    parts.onProgress(stored.state);
    if (written < stored.state.collected) continue;
    if (hasEnded(stored.state)) return stored.state;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LOOK_MS);
      watch.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function endOf(state: ExtractionState, entries: readonly FailureEntry[]): OneJobEnd {
  const isCancelled = state.failure?.reason === 'cancelled';
  return { state, detail: isCancelled ? null : (decidingEntry(state, entries)?.detail ?? null), entries };
}

function faultText({ code, detail }: StoreFault): string {
  return `the temporary store failed: ${code}: ${detail}`;
}
