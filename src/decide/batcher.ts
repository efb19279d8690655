import { BATCH_EAGER_REQUESTS, QUEUE_REQUESTS_MAX } from '../kernel/limits.ts';
import { type BatchBuffer, BatchReader, BatchWriter, AnswerReader } from '../frames/batch-buffer.ts';
import type { ScoreTask } from '../frames/score-messages.ts';
import { RequestQueue, type WaitingRequest } from './request-queue.ts';

/**
 * Collects requests into batches of adaptive size, without a timer. Requests that arrive in one turn of the event loop are admitted
 * together at its end. A batch leaves as soon as a worker has room; requests that arrive meanwhile form the next batch. An idle server adds
 * no wait, a busy one builds large batches, and the number of queued requests is bounded. Waiting requests have a queue per customer.
 *
 * Requests are admitted before they wait, not when their batch leaves: what is refused takes up neither the queue of others nor a batch.
 *
 * `R` is a request before its admission, `T` what the caller keeps of it until it is answered.
 */
export class Batcher<R, T> {
  readonly #options: BatcherOptions<R, T>;
  readonly #free: Slot<T>[];
  readonly #waiting = new RequestQueue<T>();
  /** Requests of this turn of the event loop, and their reservations. */
  #arrived: R[] = [];
  #reserved: WaitingRequest<T>[] = [];
  readonly #inFlight = new Set<Slot<T>>();
  /** Failed batches whose requests are to be scored one by one. They count as in flight until they are answered. */
  readonly #failed: Slot<T>[] = [];
  #salvaging = false;
  #isScheduled = false;

  constructor(options: BatcherOptions<R, T>) {
    this.#options = options;
    this.#free = options.frames.map((frame, index) => ({
      index,
      writer: new BatchWriter(frame),
      requests: new BatchReader(frame),
      answers: new AnswerReader(frame),
      pending: [],
      leftAtMs: 0,
    }));
  }

  /** Number of requests waiting for their admission or for a worker. */
  get queued(): number {
    return this.#waiting.count;
  }

  /** Returns true when the next request cannot be accepted, whatever its sender and size. */
  isFull(): boolean {
    return this.#waiting.places >= QUEUE_REQUESTS_MAX;
  }

  /** Returns whether the customer may queue one more request, so that room is left for other customers. */
  hasShare(customerNumber: number, flags: number, bodyBytes: number): boolean {
    return this.#waiting.hasShare(customerNumber, flags, bodyBytes);
  }

  /**
   * Copies the body. The caller must have checked `isFull` in the same turn of the event loop. `originHash`: see `RequestMeta`.
   */
  add(body: Uint8Array, customerNumber: number, flags: number, nowMs: number, request: R, originHash = 0): void {
    this.#reserved.push(this.#waiting.reserve(body, customerNumber, flags, nowMs, originHash));
    this.#arrived.push(request);
    this.#options.attend();
    // Requests that arrive in one turn of the event loop share a batch, and a turn is too short to add a noticeable wait. Those that are
    // enough to keep a worker busy do not wait for its end.
    if (this.#arrived.length >= BATCH_EAGER_REQUESTS) this.#admit();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(this.#atEndOfTurn);
    }
  }

  /** Returns how long the oldest batch in flight has been with a worker, ms; 0 when none is in flight. */
  oldestInFlightMs(nowMs: number): number {
    let oldest = 0;
    for (const slot of this.#inFlight) oldest = Math.max(oldest, nowMs - slot.leftAtMs);
    return oldest;
  }

  /** Resolves when no request is queued or in flight. */
  async drain(): Promise<void> {
    while (this.queued > 0 || this.#inFlight.size > 0) await new Promise((done) => setImmediate(done));
  }

  readonly #atEndOfTurn = (): void => {
    this.#isScheduled = false;
    this.#admit();
  };

  #admit(): void {
    const arrived = this.#arrived;
    if (arrived.length === 0) return;
    const reserved = this.#reserved;
    this.#arrived = [];
    this.#reserved = [];
    const admitted = this.#options.admit(arrived);
    // Awaited only where an adapter over a network answers later: a promise would cost a batch of this process one turn.
    if (admitted instanceof Promise) void admitted.then((later) => this.#enter(reserved, later));
    else this.#enter(reserved, admitted);
  }

  #enter(reserved: readonly WaitingRequest<T>[], admitted: readonly (T | null)[]): void {
    for (const [i, request] of reserved.entries()) {
      const pending = admitted[i] ?? null;
      if (pending === null) this.#waiting.cancel(request);
      else this.#waiting.enter(request, pending, this.#options.flagsOf?.(pending));
    }
    this.#pump();
  }

  #pump(): void {
    if (this.#failed.length > 0 || this.#salvaging) return;
    while (this.#mayLeave()) {
      const slot = this.#free.at(-1);
      if (slot === undefined) return;
      while (this.#waiting.moveTo(slot.writer, slot.pending));
      if (slot.pending.length === 0) return;
      this.#free.pop();
      this.#leave(slot);
    }
  }

  /** Returns whether another batch, even a small one, may be in flight. */
  #mayLeave(): boolean {
    if (this.#inFlight.size >= this.#options.inFlightMax) return false;
    let requests = BATCH_EAGER_REQUESTS;
    for (const { writer } of this.#inFlight) requests += writer.fill;
    return requests <= this.#options.inFlightRequestsMax;
  }

  #leave(slot: Slot<T>): void {
    const count = slot.pending.length;
    slot.leftAtMs = performance.now();
    this.#inFlight.add(slot);
    this.#options.onBatch(count);
    this.#options.run({ frame: slot.index, from: 0, count }).then(
      () => this.#arrive(slot),
      (error: unknown) => this.#fail(slot, error),
    );
  }

  #arrive(slot: Slot<T>): void {
    this.#inFlight.delete(slot);
    // Sends the worker its next batch before the responses of this one.
    this.#pump();
    this.#answer(slot.pending, slot, 0);
    this.#release(slot);
    this.#salvageWhenAlone();
  }

  #fail(slot: Slot<T>, error: unknown): void {
    slot.leftAtMs = Number.POSITIVE_INFINITY;
    this.#failed.push(slot);
    this.#options.onBatchFailed(error);
    this.#salvageWhenAlone();
  }

  /**
   * A worker that dies fails all of its batches. After a failure no further batch is sent until every batch in flight has returned; then
   * the requests of the failed batches are scored again, one at a time. A request that fails alone is itself the cause, and only that
   * request gets a 500.
   */
  #salvageWhenAlone(): void {
    if (this.#salvaging || this.#failed.length === 0 || this.#inFlight.size > this.#failed.length) return;
    this.#salvaging = true;
    void this.#salvage();
  }

  async #salvage(): Promise<void> {
    for (let slot = this.#failed.shift(); slot !== undefined; slot = this.#failed.shift()) {
      for (const [at, pending] of slot.pending.entries()) {
        const alive = await this.#scoreAlone(slot, at);
        // Responds at once: the worker writes every task's answers to the start of the batch buffer and overwrites the previous ones.
        this.#answer([pending], slot, at, !alive);
      }
      this.#inFlight.delete(slot);
      this.#release(slot);
    }
    this.#salvaging = false;
    this.#pump();
  }

  /** Catches errors of the response path, so that the batch buffer is always released and the next batch leaves. */
  #answer(pending: readonly T[], slot: Slot<T>, from: number, failed?: boolean): void {
    try {
      this.#options.onAnswers(pending, slot, from, failed);
    } catch (error) {
      this.#options.onBatchFailed(error);
    }
  }

  async #scoreAlone(slot: Slot<T>, at: number): Promise<boolean> {
    slot.leftAtMs = performance.now();
    try {
      await this.#options.run({ frame: slot.index, from: at, count: 1 });
      return true;
    } catch (error) {
      this.#options.onBatchFailed(error);
      return false;
    }
  }

  #release(slot: Slot<T>): void {
    slot.writer.reset();
    slot.pending = [];
    this.#free.push(slot);
    // Applies when there are fewer batch buffers than batches that may be in flight.
    if (this.#waiting.count > 0) this.#pump();
  }
}

export interface BatcherOptions<R, T> {
  readonly frames: readonly BatchBuffer[];
  /** Maximum number of batches in flight. */
  readonly inFlightMax: number;
  /** No further batch leaves if a small one would bring more requests in flight. Large bodies count as several: see `BatchWriter.fill`. */
  readonly inFlightRequestsMax: number;
  /** Hands part of a batch buffer to a worker. Resolves when the answers are in the buffer's output. */
  run(task: ScoreTask): Promise<void>;
  /** Requests have arrived: poll for answers at the end of this turn of the event loop. */
  attend(): void;
  /**
   * Admits the requests of one turn. Returns one value for each, in the same order; null for a request that was refused and answered.
   * Neither throws nor rejects.
   */
  admit(arrived: readonly R[]): readonly (T | null)[] | Promise<readonly (T | null)[]>;
  /** Flags that a request gets by its admission. */
  flagsOf?(pending: T): number;
  onBatch(count: number): void;
  /**
   * Responds to these requests. The first one's answer is at index `from`, the others follow in order. With `failed` there are no answers.
   * Requests and answers are valid only until this call returns.
   */
  onAnswers(pending: readonly T[], batch: AnsweredBatch, from: number, failed?: boolean): void;
  onBatchFailed(error: unknown): void;
}

/** A batch buffer that came back from its worker. */
export interface AnsweredBatch {
  readonly requests: BatchReader;
  readonly answers: AnswerReader;
}

interface Slot<T> extends AnsweredBatch {
  readonly index: number;
  readonly writer: BatchWriter;
  pending: T[];
  leftAtMs: number;
}
