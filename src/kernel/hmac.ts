import { hash, timingSafeEqual } from 'node:crypto';
import { COLLECTOR_TOKEN_BYTES_MAX } from './limits.ts';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const inner = Buffer.alloc(BLOCK_BYTES + COLLECTOR_TOKEN_BYTES_MAX);
const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);

/**
 * HMAC-SHA256, 32 bytes, of a message of at most `COLLECTOR_TOKEN_BYTES_MAX` bytes under a key of at most 64 bytes; throws a RangeError for
 * longer ones. For keys that are used once, which are not worth preparing.
 * Measured: 1.2 µs of processor time for 44 bytes, 1.6 µs for 600; `createHmac` 1.9 and 2.6 µs.
 */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Buffer {
  if (key.length > BLOCK_BYTES || message.length > COLLECTOR_TOKEN_BYTES_MAX)
    throw new RangeError('too long for an HMAC');
  for (let i = 0; i < BLOCK_BYTES; i++) {
    const byte = key[i] ?? 0;
    inner[i] = byte ^ 0x36;
    outer[i] = byte ^ 0x5c;
  }
  inner.set(message, BLOCK_BYTES);
  outer.hexWrite(hash('sha256', inner.subarray(0, BLOCK_BYTES + message.length), 'hex'), BLOCK_BYTES);
  return Buffer.from(hash('sha256', outer, 'hex'), 'hex');
}

/** Compares in constant time. Different lengths are different. */
export function isSameSecret(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
