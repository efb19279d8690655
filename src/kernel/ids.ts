import { randomFillSync } from 'node:crypto';
import { KeyedHash } from './keyed-hash.ts';

/** The prefixes of all ids on the wire. Source: contract, 2.2. */
export type IdPrefix = 'bt' | 'req' | 'wh' | 'dlv' | 'ext' | 'ses' | 'cus' | 'evt' | 'prv' | 'wat';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const POOL_BYTES = 4096;
const RANDOM_BYTES = 10;
const TIME_CHARACTERS = 10;
/** Offset of the time: after the longest prefix and its underscore. */
const TIME_AT = 4;
const ID_END = TIME_AT + TIME_CHARACTERS + 16;

const ALPHABET = Buffer.from(CROCKFORD);
/** Buffer for the id being built, which yields a flat string: a concatenated one would be copied again by its first reader. */
const scratch = Buffer.alloc(30);
let pool = Buffer.alloc(0);
let poolAt = 0;
let stampMs = -1;
let stampPrefix = '';

/**
 * Creates an id: the prefix, an underscore, 10 characters of time (48 bits of milliseconds) and 16 of randomness (80 bits), in Crockford's
 * base 32, so that later ids sort later.
 * Measured: 0.2 µs with the random bytes drawn 4,096 at a time and the text of the time cached for its millisecond (bench/micro).
 */
export function newId(prefix: IdPrefix, nowMs: number): string {
  return scratch.latin1Slice(writeId(prefix, nowMs), ID_END);
}

/** Writes an id to `scratch`, up to `ID_END`; returns where it begins. */
function writeId(prefix: IdPrefix, nowMs: number): number {
  if (nowMs !== stampMs) {
    stampMs = nowMs;
    scratch.latin1Write(timeText(nowMs), TIME_AT);
  }
  if (poolAt + RANDOM_BYTES > pool.length) {
    pool = randomFillSync(Buffer.allocUnsafe(POOL_BYTES));
    poolAt = 0;
  }
  let to = TIME_AT + TIME_CHARACTERS;
  for (let half = 0; half < 2; half++) {
    // Five bytes are eight characters of five bits: 32 bits, then 8, kept apart because bit operations are limited to 32 bits.
    const high = pool.readUInt32BE(poolAt);
    const low = pool[poolAt + 4] ?? 0;
    poolAt += 5;
    scratch[to++] = ALPHABET[high >>> 27] ?? 0;
    scratch[to++] = ALPHABET[(high >>> 22) & 31] ?? 0;
    scratch[to++] = ALPHABET[(high >>> 17) & 31] ?? 0;
    scratch[to++] = ALPHABET[(high >>> 12) & 31] ?? 0;
    scratch[to++] = ALPHABET[(high >>> 7) & 31] ?? 0;
    scratch[to++] = ALPHABET[(high >>> 2) & 31] ?? 0;
    scratch[to++] = ALPHABET[((high & 3) << 3) | (low >>> 5)] ?? 0;
    scratch[to++] = ALPHABET[low & 31] ?? 0;
  }
  const from = TIME_AT - 1 - prefix.length;
  if (prefix !== stampPrefix) {
    stampPrefix = prefix;
    scratch.latin1Write(`${prefix}_`, from);
  }
  return from;
}

/** Characters of the proof in a proven id, 30 bits. The 50 random bits before it are unique within their millisecond. */
const PROOF_CHARACTERS = 6;
const PROOF_AT = ID_END - PROOF_CHARACTERS;
const PROVEN = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;

/**
 * Ids of decisions, which prove themselves: the last six characters are a keyed hash of the customer, the kind of its key and the rest of
 * the id. So a decision that has left the log is still known to be the customer's own, without a byte stored for it.
 *
 * One guess in 2^30 is right, and only makes the customer's own id of a decision that never was. Choice: of the 80 bits 50 stay random: at
 * 40,000 decisions a second, two of one millisecond are equal once in some 40 years.
 * Measured: 0.4 µs, 0.2 µs for an id without a proof (bench/micro).
 */
export class ProvenIds {
  readonly #keys: Readonly<Record<KeyKind, KeyedHash>>;

  /** `secret` has at least 16 bytes and is used for request ids only. */
  constructor(secret: Uint8Array) {
    const bytes = Buffer.from(secret);
    this.#keys = { secret: new KeyedHash(bytes.subarray(0, 8)), public: new KeyedHash(bytes.subarray(8, 16)) };
  }

  create(customer: number, kind: KeyKind, nowMs: number): string {
    writeId('req', nowMs);
    const keyed = this.#keys[kind];
    keyed.update(customer, scratch.latin1Slice(TIME_AT, PROOF_AT));
    writeProof(keyed.low);
    return scratch.latin1Slice(0, ID_END);
  }

  /** Returns the kind of the key with which the customer made this decision; null if the id is not one of its decisions. */
  prove(customer: number, requestId: string): KeyKind | null {
    if (!PROVEN.test(requestId)) return null;
    for (const kind of ['secret', 'public'] as const) {
      const keyed = this.#keys[kind];
      keyed.update(customer, requestId.slice(TIME_AT, PROOF_AT));
      let proof = '';
      for (let i = 0; i < PROOF_CHARACTERS; i++) proof += CROCKFORD.charAt((keyed.low >>> (5 * i)) & 31);
      if (requestId.endsWith(proof)) return kind;
    }
    return null;
  }
}

export type KeyKind = 'secret' | 'public';

/** Gives decisions their ids. */
export interface RequestIds {
  /** `at` is the position of the request in its batch buffer. */
  create(customer: number, kind: KeyKind, nowMs: number, at: number): string;
}

function writeProof(low: number): void {
  for (let i = 0; i < PROOF_CHARACTERS; i++) scratch[PROOF_AT + i] = ALPHABET[(low >>> (5 * i)) & 31] ?? 0;
}

/** Returns when an id was created, from its first ten characters, Unix ms. */
export function timeOfId(id: string, prefix: IdPrefix): number {
  const from = prefix.length + 1;
  let ms = 0;
  for (let i = from; i < from + TIME_CHARACTERS; i++) ms = ms * 32 + CROCKFORD.indexOf(id.charAt(i));
  return ms;
}

function timeText(nowMs: number): string {
  let rest = Math.max(0, Math.floor(nowMs));
  let text = '';
  for (let i = 0; i < 10; i++) {
    text = CROCKFORD.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
