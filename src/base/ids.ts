import { randomFillSync } from 'node:crypto';

/** The prefixes of all ids on the wire. Source: open points, section 1. */
export type IdPrefix = 'req' | 'wh' | 'dlv' | 'ext' | 'ses' | 'cus';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const POOL_BYTES = 4096;
const RANDOM_BYTES = 10;

let pool = Buffer.alloc(0);
let poolAt = 0;
let stampMs = -1;
let stampText = '';

/**
 * A new id: the prefix, an underscore, 10 characters of time (48 bits of milliseconds) and 16 of randomness (80 bits), in
 * Crockford's base 32, so that ids made later sort later.
 * Measured: 0.2 µs with the random bytes drawn 4,096 at a time and the time's text kept for its millisecond (bench/micro).
 */
export function newId(prefix: IdPrefix, nowMs: number): string {
  if (nowMs !== stampMs) {
    stampMs = nowMs;
    stampText = timeText(nowMs);
  }
  if (poolAt + RANDOM_BYTES > pool.length) {
    pool = randomFillSync(Buffer.allocUnsafe(POOL_BYTES));
    poolAt = 0;
  }
  let random = '';
  for (let half = 0; half < 2; half++) {
    // Five bytes are eight characters of five bits: 32 bits, then 8, kept apart because bit operations end at 32.
    const high = pool.readUInt32BE(poolAt);
    const low = pool.readUInt8(poolAt + 4);
    poolAt += 5;
    random +=
      CROCKFORD.charAt(high >>> 27) +
      CROCKFORD.charAt((high >>> 22) & 31) +
      CROCKFORD.charAt((high >>> 17) & 31) +
      CROCKFORD.charAt((high >>> 12) & 31) +
      CROCKFORD.charAt((high >>> 7) & 31) +
      CROCKFORD.charAt((high >>> 2) & 31) +
      CROCKFORD.charAt(((high & 3) << 3) | (low >>> 5)) +
      CROCKFORD.charAt(low & 31);
  }
  return `${prefix}_${stampText}${random}`;
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
