import { BATCH_EAGER_REQUESTS, QUEUE_REQUESTS_MAX } from '../kernel/limits.ts';
import { type BatchBuffer, BatchWriter, AnswerReader } from '../frames/batch-buffer.ts';
import type { ScoreTask } from '../frames/score-messages.ts';
import { FairQueue } from './request-queue.ts';

/**
 * Collects requests into batches of adaptive size, without a timer. A batch leaves as soon as a worker has room; requests that arrive
 * meanwhile form the next batch. An idle server adds no wait, a busy one builds large batches, and the number of queued requests is
 * bounded. Requests that do not fit the next batch wait in a queue per customer.
 *
 * `T` is what the caller keeps of a request until it is answered.
 */
export class Batcher<T> {
  readonly #options: BatcherOptions<T>;
  readonly #free: Slot<T>[];
  /** Queued behind the open batch. Filled only while no worker has room. */
  readonly #waiting = new FairQueue<T>();
  readonly #inFlight = new Set<Slot<T>>();
  /** Failed batches whose requests are to be scored one by one. They count as in flight until they are answered. */
  readonly #failed: Slot<T>[] = [];
  #salvaging = false;
  #open: Slot<T> | null = null;
  #pumpScheduled = false;

  constructor(options: BatcherOptions<T>) {
    this.#options = options;
    this.#free = options.frames.map((frame, index) => ({
      index,
      writer: new BatchWriter(frame),
      answers: new AnswerReader(frame),
      pending: [],
      leftAtMs: 0,
    }));
  }

  /** Number of requests waiting for a worker. */
  get queued(): number {
    return this.#waiting.count + (this.#open?.pending.length ?? 0);
  }

  /** Returns true when the next request cannot be accepted, whatever its sender and size. */
  isFull(): boolean {
    return this.#waiting.places + (this.#open?.pending.length ?? 0) >= QUEUE_REQUESTS_MAX;
  }

  /** Returns whether the customer may queue one more request, so that room is left for other customers. */
  hasShare(customerNumber: number, flags: number, bodyBytes: number): boolean {
    return this.#waiting.hasShare(customerNumber, flags, bodyBytes);
  }

  /** Copies the body. The caller must have checked `isFull` in the same turn of the event loop. */
  add(body: Uint8Array, customerNumber: number, flags: number, nowMs: number, pending: T): void {
    // Keeps the order: no request overtakes a queued one.
    const open = this.#waiting.count === 0 ? (this.#open ??= this.#free.pop() ?? null) : null;
    if (open?.writer.hasRoom(body.length)) {
      open.writer.add(body, customerNumber, flags, nowMs);
      open.pending.push(pending);
    } else this.#waiting.add(body, customerNumber, flags, nowMs, pending);
    this.#options.attend();
    // Requests that arrive in one turn of the event loop share a batch, and a turn is too short to add a noticeable wait. A batch that is
    // large enough to keep a worker busy leaves at once.
    if (this.queued >= BATCH_EAGER_REQUESTS) this.#pump();
    else if (!this.#pumpScheduled) {
      this.#pumpScheduled = true;
      setImmediate(this.#pumpAtEndOfTurn);
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

  readonly #pumpAtEndOfTurn = (): void => {
    this.#pumpScheduled = false;
    this.#pump();
  };

  #pump(): void {
    if (this.#failed.length > 0 || this.#salvaging) return;
    while (this.#inFlight.size < this.#options.inFlightMax) {
      const slot = this.#open ?? this.#free.pop();
      if (slot === undefined) return;
      while (this.#waiting.moveTo(slot.writer, slot.pending));
      this.#open = slot;
      if (slot.pending.length === 0) return;
      this.#open = null;
      this.#leave(slot);
    }
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
      this.#options.onAnswers(pending, slot.answers, from, failed);
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

export interface BatcherOptions<T> {
  readonly frames: readonly BatchBuffer[];
  /** Maximum number of batches in flight. */
  readonly inFlightMax: number;
  /** Hands part of a batch buffer to a worker. Resolves when the answers are in the buffer's output. */
  run(task: ScoreTask): Promise<void>;
  /** Requests have arrived: poll for answers at the end of this turn of the event loop. */
  attend(): void;
  onBatch(count: number): void;
  /**
   * Responds to these requests. The first one's answer is at index `from`, the others follow in order. With `failed` there are no answers.
   * The answers are valid only until this call returns.
   */
  onAnswers(pending: readonly T[], answers: AnswerReader, from: number, failed?: boolean): void;
  onBatchFailed(error: unknown): void;
}

interface Slot<T> {
  readonly index: number;
  readonly writer: BatchWriter;
  readonly answers: AnswerReader;
  pending: T[];
  leftAtMs: number;
}
