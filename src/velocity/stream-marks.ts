import { monotonicMs } from '../kernel/clock.ts';

/**
 * How far this node has read the events that the nodes of a cluster exchange, in shared memory beside the table: what has been read is
 * in the table, so both are saved and restored together (`snapshot-writer.ts`). On a node that works alone everything stays 0.
 *
 * Events travel in 64 streams. An entry's id, `ms-seq`, is kept in one word: ms << 22 | seq, until the year 2109. A word can be changed by
 * compare-and-swap, so workers need no lock: the one that moves the mark of a stream to an entry applies that entry, and no other does.
 *
 *   words  0-63    the last entry that was applied or skipped, by stream; 0: none
 *          64…     four lives of 65 words, this one first: the life's number, then by stream its own last entry that the table contains
 *          324…    16 counters, and by stream the time of its newest event in the table, ms
 *          404…    the senders of each stream (`sender-windows.ts`)
 *
 * A life is a run of the process: it finds its own entries again by a random number. Entries of earlier lives are events like those of
 * other nodes, except those that the restored table contains already.
 */
export const STREAMS = 64;
const LIVES = 4;
const LIFE_WORDS = 1 + STREAMS;
const AT_LIVES = STREAMS;
const AT_COUNTERS = AT_LIVES + LIVES * LIFE_WORDS;
const COUNTERS = 16;
const WORD_BYTES = 8;

/** Bytes of marks and lives in a snapshot. */
export const MARKS_BYTES = AT_COUNTERS * WORD_BYTES;
const AT_NEWEST = AT_COUNTERS + COUNTERS;
/** Choice: threads of 60 nodes, or of the last starts of fewer. */
export const SENDERS_PER_STREAM = 256;
export const AT_SENDERS = AT_NEWEST + STREAMS;
export const SENDER_WORDS = 3;
const MEMORY_BYTES = (AT_SENDERS + SENDER_WORDS * STREAMS * SENDERS_PER_STREAM) * WORD_BYTES;

/** Counters of all workers of this node. Totals since the start, except levels and times. */
export const MARK_COUNTERS = {
  /** Events of decisions that were counted without all events of the other nodes. */
  alone: 0,
  /** Events and outcomes of other nodes that were applied. */
  applied: 1,
  /** Entries that could not be read: of another format version, or not encrypted by this cluster. */
  unreadable: 2,
  /** Streams found without entries that this node had not read. */
  gaps: 3,
  /** Events and outcomes that other nodes will never get: the queue was full. */
  dropped: 4,
  /** Level: events and outcomes that wait for the store. */
  waiting: 5,
  /** Level: streams of which the background reader has not reached the end. */
  unread: 6,
  /** Entries and bytes sent. */
  entriesSent: 7,
  bytesSent: 8,
  /** Entries that were written again: applied before, or of this life. */
  repeated: 13,
  /** Entries that were too old when they came: they waited for the store for too long, or somebody wrote them again. */
  tooOld: 14,
} as const;
export type MarkCounter = keyof typeof MARK_COUNTERS;

/** Counters that hold when something happened last, by the monotonic clock: a step of the system's clock would make it recent, or old. */
const MARK_TIMES = {
  /** A decision was counted without all events of other nodes. */
  countedAlone: 9,
  /** A gap was found. */
  foundGap: 10,
  /** A node began to read streams without any history. */
  beganThin: 11,
  /** An entry could not be read. */
  foundUnreadable: 12,
} as const;
export type MarkTime = keyof typeof MARK_TIMES;

const SEQUENCE_BITS = 22n;
export const SEQUENCE_MAX = 2 ** 22 - 1;

/** Returns the word of an id `ms-seq`. A sequence above 4,194,303 does not occur: the function that appends prevents it. */
export function wordOfId(id: string): bigint {
  const dash = id.indexOf('-');
  const sequence = Math.min(SEQUENCE_MAX, Number(id.slice(dash + 1)));
  return (BigInt(id.slice(0, dash)) << SEQUENCE_BITS) | BigInt(sequence);
}

export function idOfWord(word: bigint): string {
  return `${word >> SEQUENCE_BITS}-${word & BigInt(SEQUENCE_MAX)}`;
}

export function createMarksMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(MEMORY_BYTES);
}

/** One instance for each thread, over the same memory. */
export class StreamMarks {
  readonly #words: BigUint64Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigUint64Array(memory);
  }

  read(stream: number): bigint {
    return Atomics.load(this.#words, stream);
  }

  /** Moves the mark of the stream to this entry; false if it is there already, or further on. */
  claim(stream: number, id: bigint): boolean {
    return this.#raise(stream, id);
  }

  /** Moves the mark from this entry to the begin of the stream. */
  giveUp(stream: number, id: bigint): void {
    Atomics.compareExchange(this.#words, stream, id, 0n);
  }

  /** Notes an entry of this life that the table contains. */
  own(stream: number, id: bigint): void {
    this.#raise(AT_LIVES + 1 + stream, id);
  }

  /** The number of this life; 0n on a node that works alone. */
  get life(): bigint {
    return Atomics.load(this.#words, AT_LIVES);
  }

  /** Called once at a start, before any worker uses the table. `life` is random, and not 0n. */
  begin(life: bigint): void {
    this.#words[AT_LIVES] = life;
  }

  /** Returns whether an earlier life sent this entry, and the restored table contains it. */
  contains(stream: number, life: bigint, id: bigint): boolean {
    for (let n = 1; n < LIVES; n++) {
      const at = AT_LIVES + n * LIFE_WORDS;
      if (this.#words[at] === life && life !== 0n) return id <= (this.#words[at + 1 + stream] ?? 0n);
    }
    return false;
  }

  /** Returns whether any stream was ever read. */
  get isEmpty(): boolean {
    return this.#words.subarray(0, STREAMS).every((word) => word === 0n);
  }

  add(counter: MarkCounter, by: number): void {
    if (by >= 0) Atomics.add(this.#words, AT_COUNTERS + MARK_COUNTERS[counter], BigInt(by));
    else Atomics.sub(this.#words, AT_COUNTERS + MARK_COUNTERS[counter], BigInt(-by));
  }

  /** Notes that this happens now. */
  happens(what: MarkTime): void {
    this.#raise(AT_COUNTERS + MARK_TIMES[what], BigInt(monotonicMs()));
  }

  /** Returns how long ago this happened last, in any thread, ms; Infinity if it never did. */
  sinceMs(what: MarkTime): number {
    const atMs = Number(Atomics.load(this.#words, AT_COUNTERS + MARK_TIMES[what]));
    return atMs === 0 ? Number.POSITIVE_INFINITY : monotonicMs() - atMs;
  }

  set(counter: MarkCounter, value: number): void {
    Atomics.store(this.#words, AT_COUNTERS + MARK_COUNTERS[counter], BigInt(value));
  }

  count(counter: MarkCounter): number {
    return Number(Atomics.load(this.#words, AT_COUNTERS + MARK_COUNTERS[counter]));
  }

  /** Notes the time of an event of this stream that the table contains, ms. */
  sawAt(stream: number, ms: number): void {
    this.#raise(AT_NEWEST + stream, BigInt(Math.floor(ms)));
  }

  newestMs(stream: number): number {
    return Number(Atomics.load(this.#words, AT_NEWEST + stream));
  }

  /** Copies marks and lives for a snapshot. */
  save(): Buffer {
    const bytes = Buffer.alloc(MARKS_BYTES);
    for (let at = 0; at < AT_COUNTERS; at++) bytes.writeBigUInt64LE(Atomics.load(this.#words, at), at * WORD_BYTES);
    return bytes;
  }

  /**
   * Takes over the marks of a snapshot before `begin`. Its life becomes an earlier one. A life is forgotten when all of its entries have
   * been read, or when three later ones follow.
   */
  restore(bytes: Uint8Array): void {
    const saved = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const word = (at: number): bigint => saved.readBigUInt64LE(at * WORD_BYTES);
    for (let at = 0; at < STREAMS; at++) this.#words[at] = word(at);
    let to = 1;
    for (let n = 0; n < LIVES && to < LIVES; n++) {
      const from = AT_LIVES + n * LIFE_WORDS;
      let isAhead = false;
      for (let stream = 0; stream < STREAMS; stream++) isAhead ||= word(from + 1 + stream) > word(stream);
      if (!isAhead || word(from) === 0n) continue;
      for (let i = 0; i < LIFE_WORDS; i++) this.#words[AT_LIVES + to * LIFE_WORDS + i] = word(from + i);
      to++;
    }
  }

  /** Removes what `restore` took over. */
  clear(): void {
    this.#words.fill(0n, 0, AT_COUNTERS);
  }

  #raise(at: number, to: bigint): boolean {
    const words = this.#words;
    let seen = Atomics.load(words, at);
    while (seen < to) {
      const was = Atomics.compareExchange(words, at, seen, to);
      if (was === seen) return true;
      seen = was;
    }
    return false;
  }
}
