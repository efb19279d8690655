/**
 * How frames go to score workers and come back: a few words of shared memory, and a message only to wake somebody who sleeps.
 * Under load nobody does, and then a batch costs both sides no system call.
 *
 *   words  0 tail: frames handed over, ever (main writes)     1 head: frames taken, ever (workers, by compare-and-exchange)
 *          2 1 while the main thread will look by itself      3 workers asleep      4 1 when workers shall end
 *          16…271 the queue: frame numbers at `count mod 256`
 *          272… four words a frame: state, from, count, owner
 *
 * A frame belongs to the main thread while FREE, to the queue while READY, to one worker while TAKEN, and to the main thread
 * again when DONE or FAILED. Whoever hands it on stores the state last, so that what it wrote before is seen.
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

export interface Claim {
  readonly frame: number;
  readonly from: number;
  readonly count: number;
}

export function createFrameQueueMemory(frames: number): SharedArrayBuffer {
  if (frames > QUEUE_FRAMES) throw new Error(`the queue holds ${QUEUE_FRAMES} frames at most`);
  return new SharedArrayBuffer((FRAMES_AT + frames * FRAME_WORDS) * 4);
}

/** The main thread's side. */
export class FrameSender {
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  /** Hands a part of a frame to whichever worker is first. */
  send({ frame, from, count }: Claim): void {
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

  /** Whether the frame came back, and how. Frees it. */
  take(frame: number): 'out' | 'done' | 'failed' {
    const at = FRAMES_AT + frame * FRAME_WORDS + STATE;
    const state = Atomics.load(this.#words, at);
    if (state !== DONE && state !== FAILED) return 'out';
    Atomics.store(this.#words, at, FREE);
    return state === DONE ? 'done' : 'failed';
  }

  /** Whether this worker had the frame when it ended; then the frame is free again. */
  takeFromDead(frame: number, owner: number): boolean {
    const at = FRAMES_AT + frame * FRAME_WORDS;
    if (Atomics.load(this.#words, at + STATE) !== TAKEN || Atomics.load(this.#words, at + OWNER) !== owner)
      return false;
    Atomics.store(this.#words, at + STATE, FREE);
    return true;
  }

  /** Says whether the main thread will look for frames by itself; while it does, nobody wakes it. */
  setAwake(awake: boolean): void {
    Atomics.store(this.#words, MAIN_AWAKE, awake ? 1 : 0);
  }

  stop(): void {
    Atomics.store(this.#words, STOP, 1);
    Atomics.notify(this.#words, TAIL);
  }
}

/** A worker's side. */
export class FrameReceiver {
  readonly #words: Int32Array;
  readonly #owner: number;

  constructor(memory: SharedArrayBuffer, owner: number) {
    this.#words = new Int32Array(memory);
    this.#owner = owner;
  }

  get stopped(): boolean {
    return Atomics.load(this.#words, STOP) === 1;
  }

  /** The next frame, now this worker's; null when none waits. */
  claim(): Claim | null {
    const words = this.#words;
    for (;;) {
      const head = Atomics.load(words, HEAD);
      if (head === Atomics.load(words, TAIL)) return null;
      // Read before the exchange: after it the place may be used again.
      const frame = Atomics.load(words, QUEUE_AT + (head & (QUEUE_FRAMES - 1)));
      if (Atomics.compareExchange(words, HEAD, head, (head + 1) | 0) !== head) continue;
      const at = FRAMES_AT + frame * FRAME_WORDS;
      Atomics.store(words, at + OWNER, this.#owner);
      Atomics.store(words, at + STATE, TAKEN);
      return { frame, from: words[at + FROM] ?? 0, count: words[at + COUNT] ?? 0 };
    }
  }

  /** Gives the frame back. True when the main thread sleeps and has to be woken. */
  giveBack(frame: number, failed: boolean): boolean {
    Atomics.store(this.#words, FRAMES_AT + frame * FRAME_WORDS + STATE, failed ? FAILED : DONE);
    return Atomics.load(this.#words, MAIN_AWAKE) === 0;
  }

  /** Resolves when there may be a frame, or the end. The thread's event loop goes on meanwhile. */
  async sleep(): Promise<void> {
    const words = this.#words;
    Atomics.add(words, SLEEPERS, 1);
    const tail = Atomics.load(words, TAIL);
    if (Atomics.load(words, HEAD) === tail && !this.stopped) {
      const waiting = Atomics.waitAsync(words, TAIL, tail);
      // Once more: a stop between the first look and the waiting changes nothing that this waits for.
      if (waiting.async && !this.stopped) await waiting.value;
    }
    Atomics.sub(words, SLEEPERS, 1);
  }
}
