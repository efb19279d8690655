import { KeyedHash } from '../base/keyed-hash.ts';
import { REPLAY_KEEP_SECONDS } from '../limits.ts';

/**
 * Remembers the request ids that each key has used, until their timestamp + 301 s, and never forgets one early.
 * A port: this is the one for a single node.
 */
export interface ReplayGuard {
  /** Exactly one of several copies is `accepted`. `full` means that the table has no room and nothing was remembered. */
  admit(keyNumber: number, requestId: string, timestampSeconds: number, nowSeconds: number): Admitted;
  /** What the last `accepted` remembered, for the journal. */
  readonly last: ReplayEntry;
  /** Puts back an entry from the journal. */
  restore(entry: ReplayEntry): void;
  /** Frees what has run out, a part of the table a call. */
  sweep(nowSeconds: number): void;
  /** Entries held, those that have run out and are not yet swept included. */
  readonly size: number;
}

export type Admitted = 'accepted' | 'replayed' | 'full';

export interface ReplayEntry {
  readonly hashLow: number;
  readonly hashHigh: number;
  /** Unix seconds from which on the id may be used again. */
  readonly expiresAtSeconds: number;
  readonly keyNumber: number;
}

interface MutableEntry {
  hashLow: number;
  hashHigh: number;
  expiresAtSeconds: number;
  keyNumber: number;
}

/** Choice: of the largest table one segment holds 16,384 ids, and rebuilding it takes some 200 µs. */
const SEGMENTS = 1_024;
/** Choice: 1 MB for all segments, so that the first 30,000 ids grow nothing. */
const FIRST_SLOTS = 64;
/** Words of a slot: hash low, hash high, expiry (0: the slot is empty), key number. */
const WORDS = 4;
/** Choice: at four sweeps a second the whole table is swept in 32 s, and one sweep of a full table takes about 1 ms. */
const SWEEP_SEGMENTS = 8;

/**
 * Open addressing over typed arrays, 16 bytes a slot, at most three quarters full. The table is cut into segments that grow
 * each by itself, so that growing never stops the service; a segment that is rebuilt leaves out what has run out.
 * An id is its keyed 64-bit hash: two different ids of one key are taken for one in 1 of 10^12 cases at 16,777,216 ids.
 * Measured: 120 ns an id at 1,000,000 ids, 21 to 32 bytes an id (bench/micro).
 */
export class LocalReplayGuard implements ReplayGuard {
  readonly last: MutableEntry = { hashLow: 0, hashHigh: 0, expiresAtSeconds: 0, keyNumber: 0 };
  readonly #idsMax: number;
  readonly #idsPerKeyMax: number;
  readonly #hash: KeyedHash;
  readonly #segments: Uint32Array[] = Array.from({ length: SEGMENTS }, () => new Uint32Array(0));
  readonly #used = new Uint32Array(SEGMENTS);
  #perKey = new Uint32Array(64);
  #size = 0;
  #sweepAt = 0;

  constructor(idsMax: number, hashKey: Buffer) {
    this.#idsMax = idsMax;
    this.#idsPerKeyMax = Math.max(1, Math.floor(idsMax / 2));
    this.#hash = new KeyedHash(hashKey);
  }

  get size(): number {
    return this.#size;
  }

  admit(keyNumber: number, requestId: string, timestampSeconds: number, nowSeconds: number): Admitted {
    this.#hash.update(keyNumber, requestId);
    const { low, high } = this.#hash;
    const found = this.#find(low, high, nowSeconds);
    if (found === 'live') return 'replayed';
    if (this.#size >= this.#idsMax || this.#countOf(keyNumber) >= this.#idsPerKeyMax) return 'full';
    const last = this.last;
    last.hashLow = low;
    last.hashHigh = high;
    last.expiresAtSeconds = timestampSeconds + REPLAY_KEEP_SECONDS;
    last.keyNumber = keyNumber;
    this.#insert(last, nowSeconds);
    return 'accepted';
  }

  restore(entry: ReplayEntry): void {
    if (this.#find(entry.hashLow, entry.hashHigh, 0) !== 'live') this.#insert(entry, 0);
  }

  sweep(nowSeconds: number): void {
    for (let n = 0; n < SWEEP_SEGMENTS; n++) {
      const at = this.#sweepAt;
      this.#sweepAt = (at + 1) % SEGMENTS;
      if ((this.#used[at] ?? 0) > 0) this.#rebuild(at, nowSeconds, false);
    }
  }

  #countOf(keyNumber: number): number {
    return this.#perKey[keyNumber] ?? 0;
  }

  #find(low: number, high: number, nowSeconds: number): 'live' | 'absent' {
    const table = this.#segments[high % SEGMENTS];
    if (table === undefined || table.length === 0) return 'absent';
    const mask = table.length - 1;
    for (let i = (low * WORDS) & mask; ; i = (i + WORDS) & mask) {
      const expiry = table[i + 2] ?? 0;
      if (expiry === 0) return 'absent';
      if (table[i] === low && table[i + 1] === high && expiry > nowSeconds) return 'live';
    }
  }

  #insert(entry: ReplayEntry, nowSeconds: number): void {
    const at = entry.hashHigh % SEGMENTS;
    let table = this.#segments[at];
    if (table === undefined) return;
    if (((this.#used[at] ?? 0) + 1) * WORDS * 4 > table.length * 3) {
      this.#rebuild(at, nowSeconds, true);
      table = this.#segments[at] ?? table;
    }
    place(table, entry.hashLow, entry.hashHigh, entry.expiresAtSeconds, entry.keyNumber);
    this.#used[at] = (this.#used[at] ?? 0) + 1;
    this.#size++;
    this.#count(entry.keyNumber, 1);
  }

  /** Copies what has not run out into a table of the right size; `grow` leaves room for as much again. */
  #rebuild(at: number, nowSeconds: number, grow: boolean): void {
    const old = this.#segments[at];
    if (old === undefined) return;
    let live = 0;
    let expired = 0;
    for (let i = 2; i < old.length; i += WORDS) {
      const expiry = old[i] ?? 0;
      if (expiry > nowSeconds) live++;
      else if (expiry > 0) expired++;
    }
    if (expired === 0 && !grow) return;
    let slots = FIRST_SLOTS;
    while (slots < (live + 1) * 2) slots *= 2;
    const next = live === 0 && !grow ? new Uint32Array(0) : new Uint32Array(slots * WORDS);
    for (let i = 0; i < old.length; i += WORDS) {
      const expiry = old[i + 2] ?? 0;
      if (expiry === 0) continue;
      const keyNumber = old[i + 3] ?? 0;
      if (expiry > nowSeconds) place(next, old[i] ?? 0, old[i + 1] ?? 0, expiry, keyNumber);
      else this.#count(keyNumber, -1);
    }
    this.#segments[at] = next;
    this.#used[at] = live;
    this.#size -= expired;
  }

  #count(keyNumber: number, by: number): void {
    if (keyNumber >= this.#perKey.length) {
      const next = new Uint32Array(2 ** Math.ceil(Math.log2(keyNumber + 2)));
      next.set(this.#perKey);
      this.#perKey = next;
    }
    this.#perKey[keyNumber] = (this.#perKey[keyNumber] ?? 0) + by;
  }
}

function place(table: Uint32Array, low: number, high: number, expiry: number, keyNumber: number): void {
  const mask = table.length - 1;
  let i = (low * WORDS) & mask;
  while ((table[i + 2] ?? 0) !== 0) i = (i + WORDS) & mask;
  table[i] = low;
  table[i + 1] = high;
  table[i + 2] = expiry;
  table[i + 3] = keyNumber;
}
