/**
 * Batch queue: hands batch buffers to score workers and back through a few words of shared memory. Messages are only needed to wake a
 * sleeping thread. Under load no thread sleeps, and a batch then costs neither side a system call.
 *
 *   words  0 tail: buffers handed over so far (main writes)  1 head: buffers taken so far (workers, by compare-and-swap)
 *          2 1 while the main thread polls by itself, or has been woken          3 workers asleep      4 1 when workers must end
 *          16…271 the queue: buffer numbers at `count mod 256`
 *          272… four words per buffer: state, from, count, owner
 *
 * A batch buffer belongs to the main thread while FREE, to the queue while READY, to one worker while TAKEN, and to the main thread again
 * when DONE or FAILED. Each owner stores the state last, so that its other writes are visible to the next owner.
 */
const TAIL = 0;
const HEAD = 1;
const MAIN_AWAKE = 2;
const SLEEPERS = 3;
const STOP = 4;
const QUEUE_AT = 16;
const QUEUE_FRAMES = 256;
const FRAMES_AT = QUEUE_AT + QUEUE_FRAMES;
const FRAME_WORDS = 4;
const STATE = 0;
const FROM = 1;
const COUNT = 2;
const OWNER = 3;

const FREE = 0;
const READY = 1;
const TAKEN = 2;
const DONE = 3;
const FAILED = 4;

export interface BatchClaim {
  readonly frame: number;
  readonly from: number;
  readonly count: number;
}

export function createBatchQueueMemory(frames: number): SharedArrayBuffer {
  if (frames > QUEUE_FRAMES) throw new Error(`the queue holds at most ${QUEUE_FRAMES} batch buffers`);
  return new SharedArrayBuffer((FRAMES_AT + frames * FRAME_WORDS) * 4);
}

/** The main thread's side. */
export class BatchSender {
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  /** Hands part of a batch buffer to the first worker that takes it. */
  send({ frame, from, count }: BatchClaim): void {
    const words = this.#words;
    const at = FRAMES_AT + frame * FRAME_WORDS;
    words[at + FROM] = from;
    words[at + COUNT] = count;
    words[at + OWNER] = -1;
    Atomics.store(words, at + STATE, READY);
    const tail = Atomics.load(words, TAIL);
    words[QUEUE_AT + (tail & (QUEUE_FRAMES - 1))] = frame;
    Atomics.store(words, TAIL, (tail + 1) | 0);
    if (Atomics.load(words, SLEEPERS) > 0) Atomics.notify(words, TAIL, 1);
  }

  /** Returns whether the buffer came back, and with which result. Frees it. */
  take(frame: number): 'out' | 'done' | 'failed' {
    const at = FRAMES_AT + frame * FRAME_WORDS + STATE;
    const state = Atomics.load(this.#words, at);
    if (state !== DONE && state !== FAILED) return 'out';
    Atomics.store(this.#words, at, FREE);
    return state === DONE ? 'done' : 'failed';
  }

  /** Returns whether this worker held the buffer when it ended; if so, frees it. */
  takeFromDead(frame: number, owner: number): boolean {
    const at = FRAMES_AT + frame * FRAME_WORDS;
    if (Atomics.load(this.#words, at + STATE) !== TAKEN || Atomics.load(this.#words, at + OWNER) !== owner)
      return false;
    Atomics.store(this.#words, at + STATE, FREE);
    return true;
  }

  /** Sets whether the main thread polls for buffers by itself; while it does, no worker wakes it. */
  setAwake(awake: boolean): void {
    Atomics.store(this.#words, MAIN_AWAKE, awake ? 1 : 0);
  }

  stop(): void {
    Atomics.store(this.#words, STOP, 1);
    Atomics.notify(this.#words, TAIL);
  }
}

/** A worker's side. */
export class BatchReceiver {
  readonly #words: Int32Array;
  readonly #owner: number;

  constructor(memory: SharedArrayBuffer, owner: number) {
    this.#words = new Int32Array(memory);
    this.#owner = owner;
  }

  get stopped(): boolean {
    return Atomics.load(this.#words, STOP) === 1;
  }

  /** Claims the next buffer for this worker; null if none waits. */
  claim(): BatchClaim | null {
    const words = this.#words;
    for (;;) {
      const head = Atomics.load(words, HEAD);
      if (head === Atomics.load(words, TAIL)) return null;
      // Read before the exchange: afterwards the queue slot may be reused.
      const frame = Atomics.load(words, QUEUE_AT + (head & (QUEUE_FRAMES - 1)));
      if (Atomics.compareExchange(words, HEAD, head, (head + 1) | 0) !== head) continue;
      const at = FRAMES_AT + frame * FRAME_WORDS;
      Atomics.store(words, at + OWNER, this.#owner);
      Atomics.store(words, at + STATE, TAKEN);
      return { frame, from: words[at + FROM] ?? 0, count: words[at + COUNT] ?? 0 };
    }
  }

  /**
   * Returns the buffer. The result is true if the main thread sleeps and must be woken, by this worker: it then counts as awake, so that
   * buffers that come back before it runs wake it no second time.
   */
  giveBack(frame: number, failed: boolean): boolean {
    Atomics.store(this.#words, FRAMES_AT + frame * FRAME_WORDS + STATE, failed ? FAILED : DONE);
    return Atomics.compareExchange(this.#words, MAIN_AWAKE, 0, 1) === 0;
  }

  /** Resolves when there may be a buffer, or the queue was stopped. The thread's event loop continues meanwhile. */
  async sleep(): Promise<void> {
    const words = this.#words;
    Atomics.add(words, SLEEPERS, 1);
    const tail = Atomics.load(words, TAIL);
    if (Atomics.load(words, HEAD) === tail && !this.stopped) {
      const waiting = Atomics.waitAsync(words, TAIL, tail);
      // Checked again: a stop between the first check and the wait does not change the word that this waits for.
      if (waiting.async && !this.stopped) await waiting.value;
    }
    Atomics.sub(words, SLEEPERS, 1);
  }
}
