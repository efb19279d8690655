import { DECIDE_BODY_BYTES_MAX, QUEUE_REQUESTS_MAX } from '../limits.ts';
import { type Frame, FrameWriter, AnswerReader } from '../pools/frame.ts';
import type { ScoreTask } from '../pools/messages.ts';

/**
 * Adaptive batches, without a timer. A batch leaves as soon as a worker has room; what arrives meanwhile makes the next one.
 * An idle server adds no wait, a busy one makes large batches, and what no worker gets to is bounded.
 *
 * `T` is what the caller keeps of a request until its answer.
 */
export class Batcher<T> {
  readonly #options: BatcherOptions<T>;
  readonly #slots: Slot<T>[];
  readonly #free: Slot<T>[];
  readonly #ready: Slot<T>[] = [];
  readonly #inFlight = new Set<Slot<T>>();
  #open: Slot<T> | null = null;
  #queued = 0;
  #pumpScheduled = false;

  constructor(options: BatcherOptions<T>) {
    this.#options = options;
    this.#slots = options.frames.map((frame, index) => ({
      index,
      writer: new FrameWriter(frame),
      answers: new AnswerReader(frame),
      pending: [],
      leftAtMs: 0,
    }));
    this.#free = [...this.#slots];
  }

  /** Requests that wait for a worker. */
  get queued(): number {
    return this.#queued;
  }

  /** True when the next request cannot be taken in, whatever its size. */
  isFull(): boolean {
    if (this.#queued >= QUEUE_REQUESTS_MAX) return true;
    return this.#free.length === 0 && !this.#open?.writer.hasRoom(DECIDE_BODY_BYTES_MAX);
  }

  /** Copies the body. The caller has asked `isFull` in the same turn. */
  add(body: Uint8Array, customerNumber: number, flags: number, nowMs: number, pending: T): void {
    if (this.#open !== null && !this.#open.writer.hasRoom(body.length)) {
      this.#ready.push(this.#open);
      this.#open = null;
    }
    const open = (this.#open ??= this.#free.pop() ?? null);
    if (open === null) throw new Error('a request was added to a full batcher');
    open.writer.add(body, customerNumber, flags, nowMs);
    open.pending.push(pending);
    this.#queued++;
    // Everything that this turn of the event loop brings goes into one batch; the turn ends before anything could wait.
    if (!this.#pumpScheduled) {
      this.#pumpScheduled = true;
      setImmediate(this.#pump);
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
    while (this.#queued > 0 || this.#inFlight.size > 0) await new Promise((done) => setImmediate(done));
  }

  readonly #pump = (): void => {
    this.#pumpScheduled = false;
    while (this.#inFlight.size < this.#options.inFlightMax) {
      let slot = this.#ready.shift();
      if (slot === undefined) {
        if (this.#open === null) return;
        slot = this.#open;
        this.#open = null;
      }
      this.#leave(slot);
    }
  };

  #leave(slot: Slot<T>): void {
    const count = slot.pending.length;
    this.#queued -= count;
    slot.leftAtMs = performance.now();
    this.#inFlight.add(slot);
    this.#options.onBatch(count);
    this.#options.run({ frame: slot.index, from: 0, count }).then(
      () => this.#arrive(slot),
      (error: unknown) => void this.#salvage(slot, error),
    );
  }

  #arrive(slot: Slot<T>): void {
    this.#inFlight.delete(slot);
    // The worker gets its next batch before the answers of this one are sent.
    this.#pump();
    this.#options.onAnswers(slot.pending, slot.answers);
    this.#release(slot);
  }

  /**
   * The worker failed with this batch, or died. Each request is scored again by itself, so that only the one that did it is
   * lost: that one gets a 500.
   */
  async #salvage(slot: Slot<T>, error: unknown): Promise<void> {
    this.#options.onBatchFailed(error);
    const failed = new Set<number>();
    for (let at = 0; at < slot.pending.length; at++) {
      slot.leftAtMs = performance.now();
      try {
        await this.#options.run({ frame: slot.index, from: at, count: 1 });
      } catch (cause) {
        this.#options.onBatchFailed(cause);
        failed.add(at);
      }
    }
    this.#inFlight.delete(slot);
    this.#pump();
    this.#options.onAnswers(slot.pending, slot.answers, failed);
    this.#release(slot);
  }

  #release(slot: Slot<T>): void {
    slot.writer.reset();
    slot.pending = [];
    this.#free.push(slot);
  }
}

export interface BatcherOptions<T> {
  readonly frames: readonly Frame[];
  /** Batches with workers at once. */
  readonly inFlightMax: number;
  /** Hands a part of a frame to a worker; resolves when its answers stand in the frame's output. */
  run(task: ScoreTask): Promise<void>;
  onBatch(count: number): void;
  /** A batch is answered; those in `failed` have no answer. */
  onAnswers(pending: readonly T[], answers: AnswerReader, failed?: ReadonlySet<number>): void;
  onBatchFailed(error: unknown): void;
}

interface Slot<T> {
  readonly index: number;
  readonly writer: FrameWriter;
  readonly answers: AnswerReader;
  pending: T[];
  leftAtMs: number;
}
