import { monotonicMs } from '../kernel/clock.ts';

/**
 * Which threads of this node are applying entries of a stream at the moment. A thread moves the mark of a stream to an entry before it
 * applies it (`stream-marks.ts`), so a decision of another thread that finds the mark there would miss the entry.
 *
 *   int32   0          number of threads that have taken a slot
 *           1-64       slots: sequence << 7 | stream + 1 while the thread applies entries of the stream, sequence << 7 otherwise
 *           65-128     when the thread of each slot began, by the monotonic clock, the lowest 32 bits of the ms
 */

/** Choice: more threads than a node has. Further ones, after many restarts of workers, share a slot with an older one. */
const SLOTS = 64;
const AT_SINCE = 1 + SLOTS;
const BYTES = (AT_SINCE + SLOTS) * 4;
const STREAM_BITS = 7;
const STREAM_MASK = 2 ** STREAM_BITS - 1;
/** Choice: far more than the entries of one round trip take. A thread that takes longer has died, and its entry is lost. */
const APPLYING_MS_MAX = 1_000;

export function createAppliersMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(BYTES);
}

/** Entries that a thread had not applied when somebody looked. */
export interface Unapplied {
  readonly slot: number;
  readonly word: number;
}

/** One instance for each thread, over the same memory. */
export class Applier {
  readonly #words: Int32Array;
  readonly #slot: number;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
    this.#slot = 1 + (Atomics.add(this.#words, 0, 1) % SLOTS);
  }

  /** Call before the mark of the stream is moved; `end` must follow in the same turn. `stream`: 0 to 63. */
  begin(stream: number): void {
    Atomics.store(this.#words, AT_SINCE - 1 + this.#slot, monotonicMs() | 0);
    this.#set(stream + 1);
  }

  /** Call when all entries whose marks were moved have been applied. */
  end(): void {
    this.#set(0);
  }

  /** Returns what other threads have not yet applied of the streams of these trips; what they begin later is not part of it. */
  unapplied(of: readonly { readonly stream: number }[]): readonly Unapplied[] {
    const found: Unapplied[] = [];
    const last = Math.min(SLOTS, Atomics.load(this.#words, 0));
    for (let slot = 1; slot <= last; slot++) {
      const word = Atomics.load(this.#words, slot);
      const at = (word & STREAM_MASK) - 1;
      if (at < 0 || slot === this.#slot || !of.some(({ stream }) => stream === at)) continue;
      const one = { slot, word };
      if (this.isWaiting(one)) found.push(one);
    }
    return found;
  }

  /** Returns whether it is still not applied. */
  isWaiting({ slot, word }: Unapplied): boolean {
    if (Atomics.load(this.#words, slot) !== word) return false;
    return ((monotonicMs() | 0) - Atomics.load(this.#words, AT_SINCE - 1 + slot)) >>> 0 < APPLYING_MS_MAX;
  }

  #set(low: number): void {
    const sequence = (Atomics.load(this.#words, this.#slot) >> STREAM_BITS) + 1;
    Atomics.store(this.#words, this.#slot, (sequence << STREAM_BITS) | low);
  }
}
