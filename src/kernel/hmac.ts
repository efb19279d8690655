import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

/** A key of more than one use. */
export function toHmacKey(secret: Uint8Array): KeyObject {
  return createSecretKey(secret);
}

/** HMAC-SHA256, 32 bytes. */
export function hmacSha256(key: KeyObject | Uint8Array | string, message: Uint8Array | string): Buffer {
  return createHmac('sha256', key).update(message).digest();
}

/** Compares in constant time. Different lengths are different. */
export function isSameSecret(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
