import type { CustomerNumber } from '../../kernel/brand.ts';
import { newId } from '../../kernel/ids.ts';
import type { BrowserSession, ExtractionId, IdempotentOutcome } from '../../work/extraction-job.ts';
import { hasEnded } from '../../work/extraction-state.ts';
import type { ExtractStore } from '../../state/tables/extract-store.ts';
import { encrypt } from '../../kernel/encryption.ts';
import { extractionOf, type Job } from '../../state/tables/extractions/job-row.ts';
import type { JobCreated } from '../../state/tables/extraction-table.ts';
import type { StoredJob } from '../../state/tables/extractions/job-rows.ts';
import { encodeFirst } from '../base/first-answer.ts';
import { secretsContext } from './job-reading.ts';
import type {
  CancelOutcome,
  CreateOutcome,
  JobWrites,
  NewExtraction,
  NewSession,
  RemoveOutcome,
  SessionOutcome,
  SessionWrites,
} from '../base/jobs-port.ts';
import { packSteps } from '../base/pack-steps.ts';
import type { Scheduler } from './scheduler.ts';

export interface JobControlParts {
  readonly store: ExtractStore;
  readonly scheduler: Scheduler;
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

/** Creates and cancels jobs and sessions, in the extraction thread. Outcomes are returned as data; only the store produces faults. */
export class JobControl implements JobWrites {
  readonly sessions: SessionWrites;
  readonly #parts: JobControlParts;
  /** Jobs being written that are not in the queue yet, by customer. */
  readonly #coming = new Map<CustomerNumber, number>();
  #comingCount = 0;

  constructor(parts: JobControlParts) {
    this.#parts = parts;
    this.sessions = createSessions(parts);
  }

  async create(given: NewExtraction): Promise<CreateOutcome> {
    const { store, scheduler, encryptionKey } = this.#parts;
    const nowMs = this.#parts.nowMs();
    const { customer, idempotency } = given;
    // Comes before the check for a full queue, because a repeated request gets the first response again.
    const found =
      idempotency === null ? NEW : store.idempotency.find(encryptionKey, { customer, ...idempotency }, nowMs);
    if (found.kind !== 'new') return found;
    if (given.session !== null && store.sessions.find(customer, given.session, nowMs) === null)
      return { kind: 'unknown_session' };
    if (!this.#hasRoom(customer)) return { kind: 'queue_full', retryAfterSeconds: RETRY_AFTER_SECONDS };
    const job = newJob(given, encryptionKey, nowMs);
    this.#count(customer, 1);
    const written = await store.extractions.create(
      {
        job,
        steps: packSteps(given.steps),
        idempotency: idempotency && {
          encryptionKey,
          request: { customer, key: idempotency.key, bodySha256: idempotency.bodySha256 },
          newSecret: idempotency.newSecret,
          answer: encodeFirst,
        },
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

  async cancel(customer: CustomerNumber, id: ExtractionId): Promise<CancelOutcome> {
    const { store, scheduler } = this.#parts;
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
    return { kind: 'cancelled', job: extractionOf(job, state) };
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

function createSessions(parts: JobControlParts): SessionWrites {
  const { encryptionKey } = parts;
  const { sessions } = parts.store;
  return {
    async create({ customer, session: content, expiresAtMs }: NewSession): Promise<SessionOutcome> {
      const createdAtMs = parts.nowMs();
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
    async remove(customer, id): Promise<RemoveOutcome> {
      const written = await sessions.remove(customer, id);
      if (written.kind === 'fault') return written;
      return written.value ? { kind: 'removed' } : { kind: 'not_found' };
    },
  };
}
