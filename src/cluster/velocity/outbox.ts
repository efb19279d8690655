import { NUMBERS_KNOWN } from './stream-functions.ts';

/** The items of one batch for one stream, packed and encrypted, until the store has them. */
export interface Outgoing {
  readonly sealed: Buffer;
  readonly items: number;
  /** Unix ms, as in the entry. */
  readonly writtenMs: number;
  /** Its number among this sender's entries of the stream; 0 until it is sent for the first time. */
  number: number;
  /** Sent, and not yet answered. */
  isFlying: boolean;
}

/** Choice: 40,000 usual events of one worker; 4 s of an outage at 10,000 a second. */
export const OUTBOX_BYTES_MAX = 8_388_608;

/** Waiting entries of a stream that one round trip takes along after an outage. */
const APPENDS_MAX = 16;

/**
 * Entries of one sender for one stream, in order. An entry that may have been appended keeps its number when it is sent again, so that the
 * store recognises it. The numbers of unconfirmed entries span no more than the store remembers.
 */
export class StreamOutbox {
  readonly #queue: Outgoing[] = [];
  #numbers = 0;
  /** While the store takes none, each round trip tries with one, however many wait. */
  #most = APPENDS_MAX;

  get size(): number {
    return this.#queue.length;
  }

  add(sealed: Buffer, items: number, writtenMs: number): void {
    this.#queue.push({ sealed, items, writtenMs, number: 0, isFlying: false });
  }

  /** Returns the entries to send now, in order. They fly until they are settled. */
  nextEntries(): readonly Outgoing[] {
    const taken: Outgoing[] = [];
    const oldest = this.#queue[0]?.number ?? 0;
    for (const one of this.#queue) {
      if (taken.length === this.#most) break;
      if (one.isFlying) continue;
      if (one.number === 0) {
        if (oldest !== 0 && this.#numbers + 1 - oldest >= NUMBERS_KNOWN) break;
        one.number = ++this.#numbers;
      }
      one.isFlying = true;
      taken.push(one);
    }
    return taken;
  }

  /** The store has it. */
  done(one: Outgoing): void {
    this.#most = APPENDS_MAX;
    const at = this.#queue.indexOf(one);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  /** The store may not have it. */
  back(one: Outgoing): void {
    this.#most = 1;
    one.isFlying = false;
  }

  /** Removes the oldest entry if it was written before this time and does not fly; null if there is none. */
  dropBefore(ms: number): Outgoing | null {
    const [oldest] = this.#queue;
    return oldest === undefined || oldest.isFlying || oldest.writtenMs >= ms ? null : (this.#queue.shift() ?? null);
  }

  /** Removes the oldest entry that does not fly; null if there is none. */
  dropOldest(): Outgoing | null {
    const at = this.#queue.findIndex(({ isFlying }) => !isFlying);
    return at < 0 ? null : (this.#queue.splice(at, 1)[0] ?? null);
  }
}
