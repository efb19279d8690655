import { hash, timingSafeEqual } from 'node:crypto';

/**
 * HMAC-SHA256 over the five lines of contract, 3.3, on the hot path of every request.
 * Measured: two one-shot hashes over prepared pads 1.1 µs, `createHmac` 1.6 µs (bench/micro).
 */

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Room for the inner pad and the longest canonical text: 8 KiB of header hold the target, 64 + 128 the rest. */
const SCRATCH_BYTES = BLOCK_BYTES + 12_288;

/** A prepared HMAC key: its two padded blocks. Key material; never logged or sent. */
export interface HmacKey {
  readonly inner: Buffer;
  /** The outer block, with room for the inner digest behind it. */
  readonly outer: Buffer;
}

export function prepareHmacKey(key: Buffer): HmacKey {
  const block = key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key;
  const inner = Buffer.alloc(BLOCK_BYTES, 0x36);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c);
  for (const [i, byte] of block.entries()) {
    inner[i] = byte ^ 0x36;
    outer[i] = byte ^ 0x5c;
  }
  return { inner, outer };
}

const scratch = Buffer.alloc(SCRATCH_BYTES);
const given = Buffer.alloc(DIGEST_BYTES * 2);
const expected = Buffer.alloc(DIGEST_BYTES * 2);

/** Returns true when `signatureHex` (64 hex digits in lower case) is the HMAC of `text` (ASCII). Takes the same time either way. */
export function verifyHmac(key: HmacKey, text: string, signatureHex: string): boolean {
  if (text.length > SCRATCH_BYTES - BLOCK_BYTES) return false;
  scratch.set(key.inner, 0);
  const end = BLOCK_BYTES + scratch.latin1Write(text, BLOCK_BYTES);
  key.outer.hexWrite(hash('sha256', scratch.subarray(0, end), 'hex'), BLOCK_BYTES);
  expected.latin1Write(hash('sha256', key.outer, 'hex'));
  given.latin1Write(signatureHex);
  return timingSafeEqual(expected, given);
}

/** Returns the text to be signed. Source: contract, 3.3. */
export function canonicalText(
  method: string,
  target: string,
  timestamp: string,
  bodyHashHex: string,
  requestId: string,
): string {
  return `${method}\n${target}\n${timestamp}\n${bodyHashHex}\n${requestId}`;
}
