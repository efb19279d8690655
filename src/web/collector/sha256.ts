import { mapUpTo } from './page-proof.ts';

/**
 * SHA-256 and HMAC-SHA256 that return at once.
 *
 * Choice: own code, because WebCrypto only answers asynchronously: a token is written while a form is being submitted, and nothing may wait
 * there. It also exists on plain `http` pages. Signatures of requests use WebCrypto (`request-signature.ts`).
 * Source: FIPS 180-4, RFC 2104.
 */
const BLOCK_BYTES = 64;
const utf8 = new TextEncoder();

/** The first 32 bits of the fractional parts of the roots of the first primes: cube roots (64) and square roots (8). */
const ROUND = new Uint32Array(64);
const START = new Uint32Array(8);
for (let prime = 2, found = 0; found < 64; prime++) {
  let divisor = 2;
  while (divisor * divisor <= prime && prime % divisor !== 0) divisor++;
  if (divisor * divisor <= prime) continue;
  if (found < 8) START[found] = (prime ** 0.5 % 1) * 2 ** 32;
  ROUND[found++] = (prime ** (1 / 3) % 1) * 2 ** 32;
}

export function sha256(data: string | Uint8Array): Uint8Array {
  const bytes = typeof data === 'string' ? utf8.encode(data) : data;
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK_BYTES) * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  // A length in bits fits into 32 bits up to 512 MB.
  view.setUint32(padded.length - 4, bytes.length * 8);
  const state = START.slice();
  const words = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += BLOCK_BYTES) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) words[i] = view.getUint32(at + i * 4);
      else {
        const a = words[i - 15] as number;
        const b = words[i - 2] as number;
        const small = rotated(a, 7) ^ rotated(a, 18) ^ (a >>> 3);
        const large = rotated(b, 17) ^ rotated(b, 19) ^ (b >>> 10);
        words[i] = (words[i - 16] as number) + small + (words[i - 7] as number) + large;
      }
    }
    compress(state, words);
  }
  const digest = new DataView(new ArrayBuffer(32));
  for (let i = 0; i < 8; i++) digest.setUint32(i * 4, state[i] as number);
  return new Uint8Array(digest.buffer);
}

/** Choice: only secrets of at most 64 bytes, which need no hash of their own; a nonce has 32. */
export function hmacOfPage(secret: Uint8Array, text: string): Uint8Array {
  const pad = new Uint8Array(BLOCK_BYTES);
  pad.set(secret);
  const data = utf8.encode(text);
  const inner = new Uint8Array(BLOCK_BYTES + data.length);
  const outer = new Uint8Array(BLOCK_BYTES + 32);
  for (let i = 0; i < BLOCK_BYTES; i++) {
    inner[i] = (pad[i] as number) ^ 0x36;
    outer[i] = (pad[i] as number) ^ 0x5c;
  }
  inner.set(data, BLOCK_BYTES);
  outer.set(sha256(inner), BLOCK_BYTES);
  return sha256(outer);
}

export function toHex(bytes: Uint8Array): string {
  return mapUpTo(bytes, Infinity, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function toBase64url(data: string | Uint8Array): string {
  const bytes = typeof data === 'string' ? utf8.encode(data) : data;
  const binary = mapUpTo(bytes, Infinity, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export function fromBase64url(text: string): Uint8Array {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function compress(state: Uint32Array, words: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const large = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const first = (h + large + ((e & f) ^ (~e & g)) + (ROUND[i] as number) + (words[i] as number)) | 0;
    const small = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const second = (small + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  const words8 = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < 8; i++) state[i] = (state[i] as number) + (words8[i] as number);
}

function rotated(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
