import { BATCH_EAGER_REQUESTS, QUEUE_REQUESTS_MAX } from '../limits.ts';
import { type Frame, FrameWriter, AnswerReader } from '../pools/frame.ts';
import type { ScoreTask } from '../pools/messages.ts';
import { FairQueue } from './fair-queue.ts';

/**
 * Adaptive batches, without a timer. A batch leaves as soon as a worker has room; what arrives meanwhile makes the next one.
 * An idle server adds no wait, a busy one makes large batches, and what no worker gets to is bounded. What the next batch has no
 * room for waits in a queue of its customer.
 *
 * `T` is what the caller keeps of a request until its answer.
 */
export class Batcher<T> {
  readonly #options: BatcherOptions<T>;
  readonly #free: Slot<T>[];
  /** Behind the open batch. Filled only while no worker has room. */
  readonly #waiting = new FairQueue<T>();
  readonly #inFlight = new Set<Slot<T>>();
  /** Batches that failed and wait to be scored one by one. They count as in flight until they are answered. */
  readonly #failed: Slot<T>[] = [];
  #salvaging = false;
  #open: Slot<T> | null = null;
  #pumpScheduled = false;

  constructor(options: BatcherOptions<T>) {
    this.#options = options;
    this.#free = options.frames.map((frame, index) => ({
      index,
      writer: new FrameWriter(frame),
      answers: new AnswerReader(frame),
      pending: [],
      leftAtMs: 0,
    }));
  }

  /** Requests that wait for a worker. */
  get queued(): number {
    return this.#waiting.count + (this.#open?.pending.length ?? 0);
  }

  /** True when the next request cannot be taken in, whoever sends it and whatever its size. */
  isFull(): boolean {
    return this.#waiting.places + (this.#open?.pending.length ?? 0) >= QUEUE_REQUESTS_MAX;
  }

  /** Whether the customer may have one more request waiting, so that it leaves room for the others. */
  hasShare(customerNumber: number, flags: number, bodyBytes: number): boolean {
    return this.#waiting.hasShare(customerNumber, flags, bodyBytes);
  }

  /** Copies the body. The caller has asked `isFull` in the same turn. */
  add(body: Uint8Array, customerNumber: number, flags: number, nowMs: number, pending: T): void {
    // Nothing overtakes what waits.
    const open = this.#waiting.count === 0 ? (this.#open ??= this.#free.pop() ?? null) : null;
    if (open?.writer.hasRoom(body.length)) {
      open.writer.add(body, customerNumber, flags, nowMs);
      open.pending.push(pending);
    } else this.#waiting.add(body, customerNumber, flags, nowMs, pending);
    this.#options.attend();
    // What this turn of the event loop brings goes into one batch, and the turn ends before anything could wait; but a batch
    // that is worth a worker's while leaves at once.
    if (this.queued >= BATCH_EAGER_REQUESTS) this.#pump();
    else if (!this.#pumpScheduled) {
      this.#pumpScheduled = true;
      setImmediate(this.#pumpAtEndOfTurn);
    }
  }

  /** How long the batch that is longest with a worker has been there; 0 when none is. */
  oldestInFlightMs(nowMs: number): number {
    let oldest = 0;
    for (const slot of this.#inFlight) oldest = Math.max(oldest, nowMs - slot.leftAtMs);
    return oldest;
  }

  /** Resolves when nothing waits and nothing is with a worker. */
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
    // The worker gets its next batch before the answers of this one are sent.
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
   * A worker that dies takes every batch with it that it holds. So when a batch failed no other leaves, and once all that are
   * with workers have come back the requests of the failed ones are scored again, one at a time: whatever fails then has failed
   * by itself, and it alone gets a 500.
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
        // At once: the worker writes every task's answers to the beginning of the frame, over those of the one before.
        this.#answer([pending], slot, at, !alive);
      }
      this.#inFlight.delete(slot);
      this.#release(slot);
    }
    this.#salvaging = false;
    this.#pump();
  }

  /** Whatever goes wrong with answers, the frame comes back and the next batch leaves. */
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
    // Where there are fewer batch buffers than batches that may be in flight.
    if (this.#waiting.count > 0) this.#pump();
  }
}

export interface BatcherOptions<T> {
  readonly frames: readonly Frame[];
  /** Batches with workers at once. */
  readonly inFlightMax: number;
  /** Hands a part of a frame to a worker; resolves when its answers stand in the frame's output. */
  run(task: ScoreTask): Promise<void>;
  /** Requests arrive, so answers will be looked for at the end of this turn. */
  attend(): void;
  onBatch(count: number): void;
  /**
   * These are answered; the first stands at `from` of the answers, the others behind it. With `failed` there is none. What is
   * read of the answers must be read before it returns.
   */
  onAnswers(pending: readonly T[], answers: AnswerReader, from: number, failed?: boolean): void;
  onBatchFailed(error: unknown): void;
}

interface Slot<T> {
  readonly index: number;
  readonly writer: FrameWriter;
  readonly answers: AnswerReader;
  pending: T[];
  leftAtMs: number;
}
