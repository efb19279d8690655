import { randomFillSync } from 'node:crypto';

/** The prefixes of all ids on the wire. Source: contract, 2.2. */
export type IdPrefix = 'req' | 'wh' | 'dlv' | 'ext' | 'ses' | 'cus';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const POOL_BYTES = 4096;
const RANDOM_BYTES = 10;
const TIME_CHARACTERS = 10;
/** Offset of the time: after the longest prefix and its underscore. */
const TIME_AT = 4;

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
  return scratch.latin1Slice(from, to);
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
