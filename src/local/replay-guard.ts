import { KeyedHash } from '../kernel/keyed-hash.ts';
import { hasShare } from '../kernel/capacity-share.ts';
import { REPLAY_KEEP_SECONDS } from '../kernel/limits.ts';
import { lazyMemory, lockWord, unlockWord } from '../kernel/shared-words.ts';
import type { AdmittedId } from '../ports/admission.ts';
import { KEY_COUNTS } from './rate-window.ts';
import type { SettledSeconds } from '../kernel/settled-seconds.ts';

export interface ReplayRestorer {
  /** Makes room for this many ids at once, also for more than the table may hold from now on. */
  reserve(ids: number): void;
  add(entry: AdmittedId): void;
  done(): void;
}

/** Choice: in the largest table a segment holds 16,384 ids; rebuilding it takes some 300 µs. */
const SEGMENTS = 1_024;
const SEGMENT_MASK = SEGMENTS - 1;
/** Choice: 1 MB for all segments, so that no segment grows for the first 30,000 ids. A power of two. */
const FIRST_SLOTS = 64;
/** 32-bit words of a slot: hash low, hash high, expiry (0: the slot is empty), key number. */
const WORDS = 4;
/** An expiry in the distant past; 0 marks an empty slot. */
const EXPIRED = 1;

/**
 * Words of the memory: 0 number of entries   1 sweep   16 lock, entries and slots of each segment (4 words)
 * then entries of each key, then the slots
 */
const AT_SIZE = 0;
const AT_SWEEP = 1;
const HEADS_AT = 16;
const HEAD_WORDS = 4;
const USED = 1;
const SLOTS = 2;
const KEYS_AT = HEADS_AT + SEGMENTS * HEAD_WORDS;
const SLOTS_AT = KEYS_AT + KEY_COUNTS;

/**
 * Remembers the request ids that each key has used until their timestamp + 301 s, and never forgets one early.
 *
 * Open addressing in shared memory, 16 bytes per slot, at most three quarters full. The table is split into segments that grow
 * independently, so that growing never stops the service; rebuilding a segment drops its expired entries. An id is represented by its keyed
 * 64-bit hash: at 16,777,216 ids, two different ids of one key are mistaken for one another in 1 of 10^12 cases.
 *
 * The threads of a process share the table: each has an instance over the same memory, and a lock per segment orders them. The memory has
 * addresses for the largest table, of which the system provides the pages that are used: the first slots of all segments lie together, then
 * those that all segments get when they first double, and so on. What a table used at its largest stays with the process.
 * Measured: 0.57 µs per id at 1,000,000 ids, most of it memory latency; 23 to 43 bytes per id (bench/micro).
 */
export class ReplayGuard {
  readonly #idsMax: number;
  readonly #idsPerKeyMax: number;
  readonly #settled: SettledSeconds | null;
  readonly #hash: KeyedHash;
  #words: Uint32Array<SharedArrayBuffer>;
  #locks: Int32Array;
  /** Entries of a segment while it is rebuilt. */
  #copied = new Uint32Array(0);

  /**
   * With `settled`, a wall clock that is wrong for a while does not make ids expire early. `memory` is that of the first instance, after
   * its restore.
   */
  constructor(idsMax: number, hashKey: Buffer, settled: SettledSeconds | null = null, memory = memoryFor(idsMax)) {
    this.#settled = settled;
    this.#idsMax = idsMax;
    this.#idsPerKeyMax = Math.max(1, Math.floor(idsMax / 2));
    this.#hash = new KeyedHash(hashKey);
    this.#words = new Uint32Array(memory);
    this.#locks = new Int32Array(memory, 0, KEYS_AT);
  }

  get memory(): SharedArrayBuffer {
    return this.#words.buffer;
  }

  /** Number of entries, including expired ones that have not been swept. */
  get size(): number {
    return Atomics.load(this.#words, AT_SIZE);
  }

  /**
   * Returns an entry for exactly one of several copies. `full` means that there is no room for this key and nothing was remembered: the
   * fuller the table, the fewer ids a key may hold, so that a few keys cannot shut out the others.
   */
  admit(
    keyNumber: number,
    requestId: string,
    timestampSeconds: number,
    nowSeconds: number,
  ): AdmittedId | 'replayed' | 'full' {
    const expiredSeconds = this.#settled?.at(nowSeconds) ?? nowSeconds;
    this.#hash.update(keyNumber, requestId);
    const { low: hashLow, high: hashHigh } = this.#hash;
    const entry = { hashLow, hashHigh, expiresAtSeconds: timestampSeconds + REPLAY_KEEP_SECONDS, keyNumber };
    const at = hashHigh & SEGMENT_MASK;
    lockWord(this.#locks, headOf(at));
    const outcome = this.#admit(at, entry, expiredSeconds);
    unlockWord(this.#locks, headOf(at));
    return outcome;
  }

  /** Makes an id available again, because its request was not answered as accepted. */
  forget({ hashLow, hashHigh, expiresAtSeconds }: AdmittedId): void {
    const at = hashHigh & SEGMENT_MASK;
    lockWord(this.#locks, headOf(at));
    const i = this.#find(at, hashLow, hashHigh, expiresAtSeconds - 1);
    // The entry keeps its slot, because others follow it in the probe sequence, until a sweep finds it expired.
    if (this.#words[i + 2] === expiresAtSeconds) this.#words[i + 2] = EXPIRED;
    unlockWord(this.#locks, headOf(at));
  }

  /** Restores one entry from the journal. For the first instance, before there are others. */
  restore(entry: AdmittedId): void {
    const at = entry.hashHigh & SEGMENT_MASK;
    if (this.#isFull(at)) this.#rebuild(at, 0, true);
    const i = this.#find(at, entry.hashLow, entry.hashHigh, 0);
    if (this.#words[i + 2] === 0) this.#write(at, i, entry);
  }

  /**
   * Restores many entries: call `add` for each, then `done`. They are restored segment by segment, so that each segment stays in the
   * processor's cache while it fills.
   * Measured: 5,000,000 ids in half the time that they take in the order of the journal.
   */
  restorer(): ReplayRestorer {
    const waiting: Uint32Array[] = Array.from({ length: SEGMENTS }, () => new Uint32Array(RESTORED_AT_ONCE * WORDS));
    const counts = new Uint32Array(SEGMENTS);
    const flush = (at: number): void => {
      const words = waiting[at] ?? this.#copied;
      for (let i = 0; i < (counts[at] ?? 0) * WORDS; i += WORDS) this.restore(readEntry(words, i));
      counts[at] = 0;
    };
    return {
      reserve: (ids) => this.#reserve(ids),
      add(entry) {
        const at = entry.hashHigh & SEGMENT_MASK;
        const count = counts[at] ?? 0;
        write(waiting[at] ?? counts, count * WORDS, entry);
        counts[at] = count + 1;
        if (count + 1 === RESTORED_AT_ONCE) flush(at);
      },
      done: () => counts.forEach((_count, at) => flush(at)),
    };
  }

  #reserve(ids: number): void {
    if (ids > this.#idsMax) {
      this.#words = new Uint32Array(memoryFor(ids));
      this.#locks = new Int32Array(this.#words.buffer, 0, KEYS_AT);
    }
    for (let at = 0; at < SEGMENTS; at++) {
      if (this.#words[headOf(at) + USED] === 0) this.#words[headOf(at) + SLOTS] = slotsFor(ids / SEGMENTS);
    }
  }

  /**
   * Frees expired entries in one of 1,024 segments of the table, the next segment at each call. Takes under 1 ms. Returns the time up to
   * which ids have expired, Unix seconds.
   */
  sweep(nowSeconds: number): number {
    const expiredSeconds = this.#settled?.at(nowSeconds) ?? nowSeconds;
    const at = Atomics.add(this.#words, AT_SWEEP, 1) & SEGMENT_MASK;
    lockWord(this.#locks, headOf(at));
    if (this.#words[headOf(at) + USED] !== 0) this.#rebuild(at, expiredSeconds, false);
    unlockWord(this.#locks, headOf(at));
    return expiredSeconds;
  }

  #admit(at: number, entry: AdmittedId, expiredSeconds: number): AdmittedId | 'replayed' | 'full' {
    const words = this.#words;
    const { hashLow, hashHigh, keyNumber } = entry;
    let i = this.#find(at, hashLow, hashHigh, expiredSeconds);
    if (words[i + 2] !== 0) return 'replayed';
    const held = words[countAt(keyNumber)] ?? 0;
    if (held >= this.#idsPerKeyMax || !hasShare(held, this.size, this.#idsMax)) return 'full';
    if (this.#isFull(at)) {
      this.#rebuild(at, expiredSeconds, true);
      i = this.#find(at, hashLow, hashHigh, expiredSeconds);
    }
    this.#write(at, i, entry);
    return entry;
  }

  /** Returns the first word of the unexpired entry; without one, of the empty slot where it belongs. */
  #find(at: number, low: number, high: number, expiredSeconds: number): number {
    const words = this.#words;
    const mask = this.#slots(at) - 1;
    for (let n = low & mask; ; n = (n + 1) & mask) {
      const i = slotAt(at, n);
      const expiry = words[i + 2] ?? 0;
      if (expiry === 0 || (words[i] === low && words[i + 1] === high && expiry > expiredSeconds)) return i;
    }
  }

  #slots(at: number): number {
    return this.#words[headOf(at) + SLOTS] || FIRST_SLOTS;
  }

  #isFull(at: number): boolean {
    return ((this.#words[headOf(at) + USED] ?? 0) + 1) * 4 > this.#slots(at) * 3;
  }

  #write(at: number, i: number, entry: AdmittedId): void {
    const words = this.#words;
    write(words, i, entry);
    words[headOf(at) + USED] = (words[headOf(at) + USED] ?? 0) + 1;
    Atomics.add(words, AT_SIZE, 1);
    Atomics.add(words, countAt(entry.keyNumber), 1);
  }

  /** Puts the unexpired entries into a table of at most half load. With `grow`, rebuilds even if nothing has expired. */
  #rebuild(at: number, nowSeconds: number, grow: boolean): void {
    const words = this.#words;
    const slots = this.#slots(at);
    let live = 0;
    let expired = 0;
    for (let n = 0; n < slots; n++) {
      const expiry = words[slotAt(at, n) + 2] ?? 0;
      if (expiry > nowSeconds) live++;
      else if (expiry > 0) expired++;
    }
    if (expired === 0 && !grow) return;
    if (this.#copied.length < slots * WORDS) this.#copied = new Uint32Array(slots * WORDS);
    const copied = this.#copied;
    let end = 0;
    for (let n = 0; n < slots; n++) {
      const i = slotAt(at, n);
      const expiry = words[i + 2] ?? 0;
      if (expiry > nowSeconds) {
        write(copied, end, readEntry(words, i));
        end += WORDS;
      } else if (expiry > 0) Atomics.sub(words, countAt(words[i + 3] ?? 0), 1);
      words[i + 2] = 0;
    }
    words[headOf(at) + SLOTS] = slotsFor(live + 1);
    words[headOf(at) + USED] = live;
    Atomics.sub(words, AT_SIZE, expired);
    for (let from = 0; from < end; from += WORDS) {
      const entry = readEntry(copied, from);
      write(words, this.#find(at, entry.hashLow, entry.hashHigh, Number.POSITIVE_INFINITY), entry);
    }
  }
}

/** Choice: 16 MB for all segments while the journal is read. */
const RESTORED_AT_ONCE = 1_024;

/** Choice: the ids of a small table may be spread unevenly: a segment of 256 ids on average gets over 384 in 1 of 10^13 cases. */
const SEGMENT_IDS_MIN = 256;

/** Returns memory for a table of this many ids. */
function memoryFor(ids: number): SharedArrayBuffer {
  const slots = slotsFor(Math.max(ids / SEGMENTS, SEGMENT_IDS_MIN));
  return lazyMemory((SLOTS_AT + SEGMENTS * slots * WORDS) * 4);
}

/** Returns the number of slots for this many ids at half load, a power of two. */
function slotsFor(ids: number): number {
  let slots = FIRST_SLOTS;
  while (slots < ids * 2) slots *= 2;
  return slots;
}

/** Returns the first of a segment's words. */
function headOf(segment: number): number {
  return HEADS_AT + segment * HEAD_WORDS;
}

/** Returns the first word of a segment's slot: all segments' first slots lie before the second half of those that have twice as many. */
function slotAt(segment: number, slot: number): number {
  const half = slot < FIRST_SLOTS ? 0 : 1 << (31 - Math.clz32(slot));
  return SLOTS_AT + (SEGMENTS * half + segment * (half === 0 ? FIRST_SLOTS : half) + slot - half) * WORDS;
}

/** Returns the word of a key's count. */
function countAt(keyNumber: number): number {
  return KEYS_AT + (keyNumber % KEY_COUNTS);
}

function readEntry(words: Uint32Array, i: number): AdmittedId {
  return {
    hashLow: words[i] ?? 0,
    hashHigh: words[i + 1] ?? 0,
    expiresAtSeconds: words[i + 2] ?? 0,
    keyNumber: words[i + 3] ?? 0,
  };
}

function write(words: Uint32Array, i: number, { hashLow, hashHigh, expiresAtSeconds, keyNumber }: AdmittedId): void {
  words[i] = hashLow;
  words[i + 1] = hashHigh;
  words[i + 2] = expiresAtSeconds;
  words[i + 3] = keyNumber;
}
