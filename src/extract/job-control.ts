import type { CustomerNumber } from '../kernel/brand.ts';
import { newId } from '../kernel/ids.ts';
import type { BrowserSession, Extraction, ExtractionId, FailureDetail } from '../work/extraction-job.ts';
import { hasEnded } from '../work/extraction-state.ts';
import type { StoreFault } from '../state/durable.ts';
import type { ExtractStore } from '../state/extract-store.ts';
import { encrypt, decrypt } from '../state/encryption.ts';
import { extractionOf, type Job } from '../state/extractions/job-row.ts';
import type { JobCreated, StoredJob } from '../state/extraction-table.ts';
import type { Slices } from '../state/turns.ts';
import type {
  CancelOutcome,
  CreateOutcome,
  ExtractionControl,
  ExtractionQuery,
  IdempotentOutcome,
  IdempotentRequest,
  NewExtraction,
  NewSession,
  RecordChunk,
  RecordExtent,
  RecordPage,
  RecordQuery,
  SessionControl,
  SessionOutcome,
} from './jobs-port.ts';
import { packSteps } from './pack-steps.ts';
import type { Scheduler } from './scheduler.ts';
import { sliceRecords } from './shape/writers.ts';
import type { Waiters } from './waiters.ts';

export interface ControlParts {
  readonly store: ExtractStore;
  readonly scheduler: Scheduler;
  readonly waiters: Waiters;
  /** Key that encrypts what must be read back: sessions, delivery secrets, first responses. */
  readonly encryptionKey: Uint8Array;
  nowMs(): number;
  /** Called when a customer has ended a queued or running job. */
  onCancelled(stored: StoredJob): void;
}

/** Choice: in this time a full queue completes a few jobs. */
const RETRY_AFTER_SECONDS = 15;
/** Choice: logins seldom last longer. */
const SESSION_KEEP_MS_MAX = 90 * 86_400_000;

/** Implements the customers' operations on jobs and sessions. Outcomes are returned as data; only the store produces faults. */
export class Control implements ExtractionControl {
  readonly sessions: SessionControl;
  readonly #parts: ControlParts;
  /** Jobs being written that are not in the queue yet, by customer. */
  readonly #coming = new Map<CustomerNumber, number>();
  #comingCount = 0;

  constructor(parts: ControlParts) {
    this.#parts = parts;
    this.sessions = createSessions(parts);
  }

  async create(given: NewExtraction): Promise<CreateOutcome> {
    const { store, scheduler, encryptionKey } = this.#parts;
    const nowMs = this.#parts.nowMs();
    const { customer, idempotency } = given;
    // Comes before the check for a full queue, because a repeated request gets the first response again.
    const found = idempotency === null ? NEW : this.findIdempotent(customer, idempotency);
    if (found.kind !== 'new') return found;
    if (given.session !== null && store.sessions.find(customer, given.session, nowMs) === null)
      return { kind: 'unknown_session' };
    if (!this.#hasRoom(customer)) return { kind: 'queue_full', retryAfterSeconds: RETRY_AFTER_SECONDS };
    const job = newJob(given, encryptionKey, nowMs);
    const request = idempotency === null ? null : { customer, ...idempotency };
    this.#count(customer, 1);
    const written = await store.extractions.create(
      {
        job,
        steps: packSteps(given.steps),
        idempotency: request === null ? null : { encryptionKey, request, answer: (made) => request.answer(made) },
      },
      nowMs,
    );
    this.#count(customer, -1);
    if (written.kind === 'fault') return written;
    const created: JobCreated = written.value;
    if (created.kind !== 'created') return created;
    const { stored } = created;
    scheduler.enqueue(stored.job);
    return { kind: 'created', job: extractionOf(stored.job, stored.state) };
  }

  find(customer: CustomerNumber, id: ExtractionId): Extraction | null {
    const stored = this.#parts.store.extractions.find(customer, id);
    return stored === null ? null : this.#withWait(extractionOf(stored.job, stored.state));
  }

  #withWait(job: Extraction): Extraction {
    return job.status === 'running' ? { ...job, waitingUntilMs: this.#parts.scheduler.waitingUntilMs(job.id) } : job;
  }

  async page(
    customer: CustomerNumber,
    query: ExtractionQuery,
    slices: Slices,
  ): Promise<{ readonly rows: readonly Extraction[]; readonly next: ExtractionId | null }> {
    const { rows, next } = await this.#parts.store.extractions.page(customer, query, slices);
    return { rows: rows.map((job) => this.#withWait(job)), next };
  }

  async cancel(customer: CustomerNumber, id: ExtractionId): Promise<CancelOutcome> {
    const { store, scheduler, waiters } = this.#parts;
    const stored = store.extractions.find(customer, id);
    if (stored === null) return { kind: 'not_found' };
    const { job } = stored;
    if (hasEnded(stored.state)) return { kind: 'ended', job: extractionOf(job, stored.state) };
    const nowMs = this.#parts.nowMs();
    const entry = { atMs: nowMs, reason: 'cancelled', step: '', detail: 'cancelled by the customer' } as const;
    const failure = { reason: 'cancelled', retryable: false } as const;
    const written = await store.extractions.end(job, failure, [entry], nowMs);
    if (written.kind === 'fault') return written;
    const { state, isEnd } = written.value;
    if (state === null) return { kind: 'not_found' };
    if (!isEnd) return { kind: 'ended', job: extractionOf(job, state) };
    scheduler.drop(job);
    this.#parts.onCancelled({ job, state });
    waiters.tell(job.id);
    return { kind: 'cancelled', job: extractionOf(job, state) };
  }

  async waitFor(customer: CustomerNumber, id: ExtractionId, timeoutMs: number): Promise<Extraction | null> {
    const found = this.find(customer, id);
    if (found === null || hasEnded(found) || timeoutMs <= 0) return found;
    await this.#parts.waiters.wait(id, timeoutMs);
    return this.find(customer, id);
  }

  records(customer: CustomerNumber, id: ExtractionId, query: RecordQuery): RecordPage {
    const reading = this.#readRecords(customer, id, query);
    const chunks: RecordChunk[] = [];
    for (;;) {
      const { done, value } = reading.next();
      if (done === true) return { chunks, nextSeq: value };
      chunks.push(value);
    }
  }

  async measureRecords(
    customer: CustomerNumber,
    id: ExtractionId,
    query: RecordQuery,
    slices: Slices,
  ): Promise<RecordExtent> {
    const reading = this.#readRecords(customer, id, query);
    let records = 0;
    let chunkBytesMax = 0;
    for (;;) {
      const { done, value } = reading.next();
      if (done === true) return { records, chunkBytesMax, nextSeq: value };
      records += value.records;
      chunkBytesMax = Math.max(chunkBytesMax, value.bytes.length);
      if (slices.isOver) await slices.begin();
    }
  }

  async *streamRecords(
    customer: CustomerNumber,
    id: ExtractionId,
    query: RecordQuery,
    slices: Slices,
  ): AsyncGenerator<RecordChunk> {
    for (const chunk of this.#readRecords(customer, id, query)) {
      yield chunk;
      if (slices.isOver) await slices.begin();
    }
  }

  /**
   * Yields chunk by chunk, and returns the position from which to continue. Opens the store's rows again for each chunk, so that no read
   * transaction stays open between them. Records never change.
   */
  *#readRecords(
    customer: CustomerNumber,
    id: ExtractionId,
    { fromSeq, recordsMax, bytesMax }: RecordQuery,
  ): Generator<RecordChunk, number | null, undefined> {
    const stored = this.#parts.store.extractions.find(customer, id);
    if (stored === null) return null;
    const end = stored.state.collected;
    let seq = fromSeq;
    let bytesLeft = bytesMax;
    while (seq < Math.min(end, fromSeq + recordsMax)) {
      const [chunk] = this.#parts.store.records.from(stored.job.number, seq);
      const skipped = seq - (chunk?.firstSeq ?? 0);
      if (chunk === undefined || skipped < 0 || skipped >= chunk.records) break;
      const wanted = Math.min(chunk.records - skipped, fromSeq + recordsMax - seq);
      const taken = cut(sliceRecords(chunk.bytes, skipped, wanted), seq === fromSeq ? 1 : 0, bytesLeft);
      const firstSeq = seq;
      seq += taken.records;
      bytesLeft -= taken.bytes.length;
      if (taken.records > 0) yield { firstSeq, ...taken };
      if (taken.records < wanted) break;
    }
    return seq < end ? seq : null;
  }

  findIdempotent(customer: CustomerNumber, request: IdempotentRequest): IdempotentOutcome {
    return this.#parts.store.idempotency.find(this.#parts.encryptionKey, { customer, ...request }, this.#parts.nowMs());
  }

  failureOf(requestId: string): FailureDetail | null {
    return this.#parts.store.failures.find(requestId);
  }

  /**
   * Returns the decrypted delivery credentials of a job, which must never be logged. Null if there are none, or if they were encrypted with
   * another key.
   */
  deliverySecretsOf(customer: CustomerNumber, id: ExtractionId): Readonly<Record<string, string>> | null {
    const sealed = this.#parts.store.extractions.find(customer, id)?.job.encryptedSecrets ?? null;
    const plain = sealed === null ? null : decrypt(this.#parts.encryptionKey, sealed, secretsContext(customer, id));
    return plain === null ? null : (JSON.parse(plain.toString('utf8')) as Record<string, string>);
  }

  #hasRoom(customer: CustomerNumber): boolean {
    const { scheduler } = this.#parts;
    const coming = { own: this.#coming.get(customer) ?? 0, all: this.#comingCount };
    return !scheduler.isPaused && scheduler.queue.hasRoom(customer, coming);
  }

  #count(customer: CustomerNumber, by: 1 | -1): void {
    const own = (this.#coming.get(customer) ?? 0) + by;
    if (own > 0) this.#coming.set(customer, own);
    else this.#coming.delete(customer);
    this.#comingCount += by;
  }
}

const NEW: IdempotentOutcome = { kind: 'new' };

function newJob(given: NewExtraction, encryptionKey: Uint8Array, nowMs: number): Omit<Job, 'number'> {
  const { steps: _steps, idempotency: _idempotency, deliverySecrets, ...job } = given;
  const id = newId('ext', nowMs) as ExtractionId;
  const encryptedSecrets =
    deliverySecrets === null
      ? null
      : encrypt(encryptionKey, Buffer.from(JSON.stringify(deliverySecrets)), secretsContext(given.customer, id));
  return { ...job, id, encryptedSecrets, createdAtMs: nowMs };
}

function secretsContext(customer: CustomerNumber, id: ExtractionId): string {
  return `extraction/${customer}/${id}`;
}

/** Returns as many whole lines as fit, and at least `recordsMin`. */
function cut(bytes: Uint8Array, recordsMin: number, bytesMax: number): { bytes: Uint8Array; records: number } {
  let end = 0;
  let records = 0;
  while (end < bytes.length) {
    const next = bytes.indexOf(0x0a, end) + 1;
    if (next === 0 || (next > bytesMax && records >= recordsMin)) break;
    end = next;
    records++;
  }
  return { bytes: bytes.subarray(0, end), records };
}

function createSessions(parts: ControlParts): SessionControl {
  const { encryptionKey } = parts;
  const { sessions } = parts.store;
  const nowMs = (): number => parts.nowMs();
  return {
    async create({ customer, session: content, expiresAtMs }: NewSession): Promise<SessionOutcome> {
      const createdAtMs = nowMs();
      const latestMs = createdAtMs + SESSION_KEEP_MS_MAX;
      const session: BrowserSession = {
        id: newId('ses', createdAtMs),
        customer,
        host: content.host,
        createdAtMs,
        expiresAtMs: Math.min(latestMs, expiresAtMs ?? latestMs),
      };
      const written = await sessions.create(encryptionKey, session, Buffer.from(JSON.stringify(content)));
      if (written.kind === 'fault') return written;
      return written.value === 'created' ? { kind: 'created', session } : { kind: 'limit_reached' };
    },
    find: (customer, id) => sessions.find(customer, id, nowMs()),
    page: (customer, query, slices) => sessions.page(customer, query, nowMs(), slices),
    async remove(customer, id): Promise<{ kind: 'removed' } | { kind: 'not_found' } | StoreFault> {
      const written = await sessions.remove(customer, id);
      if (written.kind === 'fault') return written;
      return written.value ? { kind: 'removed' } : { kind: 'not_found' };
    },
  };
}
