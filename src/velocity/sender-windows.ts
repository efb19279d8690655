import { monotonicMs } from '../kernel/clock.ts';
import { AT_SENDERS, SENDER_WORDS, SENDERS_PER_STREAM } from './stream-marks.ts';

/** Numbers that are known one by one, as in the function that appends. */
const NUMBERS_KNOWN = 32;
const ALL_SEEN = 0xffff_ffffn;
const SHIFT = 32n;

/**
 * Which entries of each sender this node has applied, in the memory of the marks, so that all threads know it: an entry that is written
 * again is refused. Three words for each sender of a stream: its name, the greatest number in the upper half with a bit for each of the
 * 32 up to it in the lower half, and when it came last, by the monotonic clock. Not saved in snapshots: after a start,
 * what precedes the first entry of a sender counts as applied.
 */
export class SenderWindows {
  readonly #words: BigUint64Array;

  /** `memory`: that of the marks. */
  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigUint64Array(memory);
  }

  /** Notes the entry; false if it was noted before, or is older than what is known one by one. `sender`: not 0n. `serial`: from 1 on. */
  take(stream: number, sender: bigint, serial: number): boolean {
    const place = this.#find(stream, sender);
    const at = place + 1;
    for (;;) {
      const seen = Atomics.load(this.#words, at);
      const next = added(seen, serial);
      if (next === null) return false;
      if (Atomics.compareExchange(this.#words, at, seen, next) !== seen) continue;
      Atomics.store(this.#words, place + 2, BigInt(Math.floor(monotonicMs())));
      return true;
    }
  }

  /** When all places are taken, a new sender gets that of the one that has been quiet for longest. */
  #find(stream: number, sender: bigint): number {
    const start = Number(sender % BigInt(SENDERS_PER_STREAM));
    const placeOf = (n: number): number =>
      AT_SENDERS + SENDER_WORDS * (stream * SENDERS_PER_STREAM + ((start + n) % SENDERS_PER_STREAM));
    let oldest = placeOf(0);
    for (let n = 0; n < SENDERS_PER_STREAM; n++) {
      const at = placeOf(n);
      const known = Atomics.compareExchange(this.#words, at, 0n, sender);
      if (known === 0n || known === sender) return at;
      if (this.#lastMs(at) < this.#lastMs(oldest)) oldest = at;
    }
    Atomics.store(this.#words, oldest + 1, 0n);
    Atomics.store(this.#words, oldest, sender);
    return oldest;
  }

  #lastMs(place: number): bigint {
    return Atomics.load(this.#words, place + 2);
  }
}

/** Returns the word with this number; null if it is in it. */
function added(seen: bigint, serial: number): bigint | null {
  const last = Number(seen >> SHIFT);
  // The first numbers of a sender may come in any order; later ones follow what this node does not know.
  if (seen === 0n) return (BigInt(serial) << SHIFT) | (serial > NUMBERS_KNOWN ? ALL_SEEN : 1n);
  const back = last - serial;
  if (back >= NUMBERS_KNOWN) return null;
  if (back >= 0) {
    const bit = 1n << BigInt(back);
    return (seen & bit) === 0n ? seen | bit : null;
  }
  const mask = back <= -NUMBERS_KNOWN ? 0n : ((seen & ALL_SEEN) << BigInt(-back)) & ALL_SEEN;
  return (BigInt(serial) << SHIFT) | mask | 1n;
}
