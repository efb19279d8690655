import { unreachable, type CustomerNumber } from '../../kernel/brand.ts';
import type { Extraction, ExtractionId } from '../../work/extraction-job.ts';
import { hasEnded } from '../../work/extraction-state.ts';
import { PLANS } from '../../work/webhook-schedule.ts';
import type { Delivery, DeliveryId } from '../../work/webhook.ts';
import type { RecordReader } from './batches.ts';
import { finalFault, type ResultFault } from './sink-outcome.ts';
import { Places } from './sink-slots.ts';
import type { SentPart } from './s3.ts';
import { afterUpload, FIRST_UPLOAD, type UploadState } from './upload.ts';
import { type RowState, webhookTurn, type WebhookParts, type WebhookState } from './webhook-sink.ts';

export interface JobRef {
  readonly customer: CustomerNumber;
  readonly id: ExtractionId;
}

/** The stored state of an unfinished delivery; plain JSON. */
export type DeliveryState = WebhookState | UploadState;

/** Rejections of these functions are store failures and are retried. */
export interface ResultDeliveriesParts {
  /** null if the job no longer exists. */
  find(ref: JobRef): Extraction | null;
  /** Returns the last saved state; null before the first. */
  stateOf(ref: JobRef): DeliveryState | null;
  save(ref: JobRef, state: DeliveryState): Promise<void>;
  /** Records the end of the delivery. Its state is no longer needed. */
  finish(ref: JobRef, status: 'delivered' | 'failed'): Promise<void>;
  reader(ref: JobRef): RecordReader;
  /** The log of deliveries, and the sender that works from it. */
  readonly log: ResultDeliveryLog;
  /** Makes one attempt in a worker: `upload` of `upload.ts`. Ends with `shutdown` when the service stops. */
  upload(
    job: Extraction,
    uploadId: string | null,
    saveUpload: (uploadId: string | null) => Promise<void>,
  ): Promise<SentPart>;
  newDeliveryId(): DeliveryId;
  /** Real time, Unix ms. */
  nowMs(): number;
  /** Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Yields to the event loop. */
  pause(): Promise<void>;
  note(line: DeliveryLine): void;
}

export interface ResultDeliveryLog {
  /** Finds rows that were added before. */
  find(customer: CustomerNumber, id: DeliveryId): Promise<RowState | null>;
  /** Returns false if there is no room. */
  add(row: Delivery): boolean | Promise<boolean>;
  /** Resolves when the row has ended or the service stops. */
  ended(customer: CustomerNumber, id: DeliveryId): Promise<void>;
  /** The job's delivery is over. Sends nothing more to its endpoint. */
  forget(id: ExtractionId): void;
}

/** A log line for each failed attempt at a destination, and for the end of each delivery. */
export interface DeliveryLine {
  readonly event: 'extraction_delivered' | 'extraction_delivery_failed' | 'extraction_delivery_waits';
  readonly extraction: ExtractionId;
  readonly customer: CustomerNumber;
  readonly request_id: string;
  readonly kind: Extraction['delivery']['kind'];
  readonly error: string | null;
  readonly detail: string;
  /** Time since the end of the job. */
  readonly elapsed_ms: number;
}

/** Choice: maximum number of concurrent uploads to destinations. Each takes 16 to 64 MiB of a worker's memory. */
const UPLOADS_MAX = 2;
/**
 * Choice: maximum number of jobs whose batches are sent to webhooks concurrently. Each has one row in the log, usually of about 100 KB and
 * at most of 1 MiB. Further jobs are queued. Dead webhooks of a customer may occupy its slots for hours, but never those of others.
 */
const WEBHOOK_PLACES = { all: 4_096, perCustomer: 128 };
/** Choice: wait after a full log or a failed store operation. */
const RETRY_MS = 5_000;
/** Choice: interval at which a pending row is checked even without a notification. */
const LOOK_MS = 300_000;
/** The longest possible wait of a delivery. */
const WAIT_MS_MAX = Math.max(...PLANS.extraction.waitsMs);

/** The result of one turn of a job's delivery. */
type Turn =
  | { readonly kind: 'delivered'; readonly detail: string }
  | { readonly kind: 'row'; readonly id: DeliveryId }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'stopped' }
  | ResultFault;

/**
 * Delivers the results of finished jobs. Runs in the extraction thread: batches for webhooks are built here one at a time, with a turn of
 * the event loop between them, and whole results are sent by workers. Every state is stored before it is acted on, so after a restart of
 * the process `add` continues where the delivery stopped. A waiting job costs a promise and a timer.
 */
export class ResultDeliveries {
  readonly #parts: ResultDeliveriesParts;
  readonly #running = new Map<ExtractionId, Promise<void>>();
  readonly #places = new Places(WEBHOOK_PLACES);
  /** Wakes the deliveries that wait for something. */
  readonly #wakers = new Set<() => void>();
  #isStopping = false;
  #lane: Promise<unknown> = Promise.resolve();
  #uploads = 0;
  readonly #forUpload: (() => void)[] = [];

  constructor(parts: ResultDeliveriesParts) {
    this.#parts = parts;
  }

  /** Number of unfinished deliveries. */
  get size(): number {
    return this.#running.size;
  }

  /** Starts the delivery of an ended job. Has no effect if it is already known. */
  add(ref: JobRef): void {
    if (this.#isStopping || this.#running.has(ref.id)) return;
    const run = this.#run(ref).finally(() => void this.#running.delete(ref.id));
    this.#running.set(ref.id, run);
  }

  /** Resolves when all work has stopped. Uploads in flight are ended by the workers. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const wake of this.#wakers) wake();
    for (const resume of this.#forUpload.splice(0)) resume();
    this.#places.stop();
    await Promise.all(this.#running.values());
  }

  async #run(ref: JobRef): Promise<void> {
    if (this.#parts.find(ref)?.delivery.kind !== 'webhook') return this.#drive(ref);
    if (!(await this.#places.take(ref.customer))) return;
    try {
      await this.#drive(ref);
    } finally {
      this.#places.give(ref.customer);
      if (!this.#isStopping) this.#parts.log.forget(ref.id);
    }
  }

  async #drive(ref: JobRef): Promise<void> {
    while (!this.#isStopping) {
      try {
        if (await this.#step(ref)) return;
      } catch (error) {
        const job = this.#parts.find(ref);
        if (job === null) return;
        this.#note(job, 'extraction_delivery_waits', 'internal_error', String(error));
        await this.#wait(RETRY_MS);
      }
    }
  }

  /** Returns true if nothing is left to do. */
  async #step(ref: JobRef): Promise<boolean> {
    const job = this.#parts.find(ref);
    if (job === null || !hasEnded(job) || job.delivery.status !== 'pending') return true;
    const turn = await this.#turn(ref, job);
    switch (turn.kind) {
      case 'delivered':
      case 'failed':
        await this.#end(ref, job, turn);
        return true;
      case 'row':
        await this.#wait(LOOK_MS, this.#parts.log.ended(ref.customer, turn.id));
        return false;
      case 'wait':
        await this.#wait(turn.ms);
        return false;
      case 'stopped':
        return true;
      default:
        return unreachable(turn);
    }
  }

  #turn(ref: JobRef, job: Extraction): Promise<Turn> {
    const { kind } = job.delivery;
    switch (kind) {
      case 'store':
      case 'sync':
        return Promise.resolve({ kind: 'delivered', detail: 'records are in the store' });
      case 'webhook':
        return this.#inLane(() => this.#webhook(ref, job));
      case 's3':
      case 'http_put':
        return job.status === 'failed'
          ? Promise.resolve(finalFault('job_failed', `the job failed: ${job.failure?.reason ?? ''}`))
          : this.#upload(ref, job);
      default:
        return unreachable(kind);
    }
  }

  async #webhook(ref: JobRef, job: Extraction): Promise<Turn> {
    const { log } = this.#parts;
    const parts: WebhookParts = {
      reader: this.#parts.reader(ref),
      findRow: (id) => log.find(ref.customer, id),
      save: (state) => this.#parts.save(ref, state),
      enqueue: async (row) => log.add(row),
      newDeliveryId: () => this.#parts.newDeliveryId(),
      nowMs: () => this.#parts.nowMs(),
    };
    const state = this.#parts.stateOf(ref);
    const turn = await webhookTurn(job, state?.kind === 'webhook' ? state : null, parts);
    switch (turn.kind) {
      case 'delivered':
        return { kind: 'delivered', detail: `${job.counts.collected} records` };
      case 'sending':
        return { kind: 'row', id: turn.state.deliveryId };
      case 'no_room':
        return { kind: 'wait', ms: RETRY_MS };
      case 'failed':
        return turn;
      default:
        return unreachable(turn);
    }
  }

  /** Builds one payload after the other, so that many pending ones do not block the thread. */
  async #inLane<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#lane;
    const run = (async () => {
      await before;
      await this.#parts.pause();
      return work();
    })();
    this.#lane = run.catch(() => {});
    return run;
  }

  async #upload(ref: JobRef, job: Extraction): Promise<Turn> {
    const stored = this.#parts.stateOf(ref);
    let state = stored?.kind === 'upload' ? stored : FIRST_UPLOAD;
    const earlyMs = state.nextAttemptAtMs - this.#parts.nowMs();
    // If the clock was set back, a wait must not become longer than the plan's.
    if (earlyMs > 0) return { kind: 'wait', ms: Math.min(earlyMs, WAIT_MS_MAX) };
    if (!(await this.#takeSlot())) return { kind: 'stopped' };
    try {
      const sent = await this.#parts.upload(job, state.uploadId, async (uploadId) => {
        state = { ...state, uploadId };
        await this.#parts.save(ref, state);
      });
      return await this.#afterUpload(ref, job, state, sent);
    } finally {
      this.#uploads--;
      this.#forUpload.shift()?.();
    }
  }

  async #afterUpload(ref: JobRef, job: Extraction, state: UploadState, sent: SentPart): Promise<Turn> {
    const turn = afterUpload(state, sent, this.#parts.nowMs());
    switch (turn.kind) {
      case 'delivered':
        return { kind: 'delivered', detail: `${turn.bytes} bytes at attempt ${turn.attempts}` };
      case 'waiting':
        await this.#parts.save(ref, turn.state);
        this.#note(job, 'extraction_delivery_waits', turn.fault.error, turn.fault.detail);
        return { kind: 'wait', ms: turn.state.nextAttemptAtMs - this.#parts.nowMs() };
      case 'stopped':
        return { kind: 'stopped' };
      case 'failed':
        return turn;
      default:
        return unreachable(turn);
    }
  }

  /** Resolves to false if the service stops before a slot is free. */
  async #takeSlot(): Promise<boolean> {
    while (this.#uploads >= UPLOADS_MAX && !this.#isStopping)
      await new Promise<void>((resolve) => this.#forUpload.push(resolve));
    if (this.#isStopping) return false;
    this.#uploads++;
    return true;
  }

  async #end(ref: JobRef, job: Extraction, turn: Extract<Turn, { kind: 'delivered' | 'failed' }>): Promise<void> {
    await this.#parts.finish(ref, turn.kind);
    if (turn.kind === 'delivered') this.#note(job, 'extraction_delivered', null, turn.detail);
    else this.#note(job, 'extraction_delivery_failed', turn.error, turn.detail);
  }

  /** Waits until the time has passed, the event has occurred, or the service stops. */
  async #wait(ms: number, event?: Promise<void>): Promise<void> {
    if (this.#isStopping) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        cancel();
        this.#wakers.delete(wake);
        resolve();
      };
      const cancel = this.#parts.after(Math.max(0, ms), wake);
      this.#wakers.add(wake);
      void event?.then(wake);
    });
  }

  #note(job: Extraction, event: DeliveryLine['event'], error: string | null, detail: string): void {
    const { id, customer, requestId, delivery, finishedAtMs } = job;
    const elapsed_ms = this.#parts.nowMs() - (finishedAtMs ?? job.createdAtMs);
    this.#parts.note({
      event,
      extraction: id,
      customer,
      request_id: requestId,
      kind: delivery.kind,
      error,
      detail,
      elapsed_ms,
    });
  }
}
