import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hmacSha256, isSameSecret } from '../../../src/kernel/hmac.ts';
import { COLLECTOR_TOKEN_BYTES_MAX } from '../../../src/kernel/limits.ts';

describe('HMAC-SHA256', () => {
  test('Every key of up to 64 bytes gives the HMAC that Node.js computes', () => {
    const anyMessage = fc.uint8Array({ maxLength: 300 });
    const isRight = (key: Uint8Array, message: Uint8Array): boolean =>
      hmacSha256(key, message).equals(createHmac('sha256', key).update(message).digest());
    expect(() => fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), anyMessage, isRight))).not.toThrow();
    expect(isRight(Buffer.alloc(64, 1), Buffer.alloc(COLLECTOR_TOKEN_BYTES_MAX, 2))).toBe(true);
  });

  test('A longer key or message is refused', () => {
    expect(() => hmacSha256(Buffer.alloc(65), Buffer.alloc(1))).toThrow(RangeError);
    expect(() => hmacSha256(Buffer.alloc(32), Buffer.alloc(COLLECTOR_TOKEN_BYTES_MAX + 1))).toThrow(RangeError);
  });

  test('Secrets of different lengths or bytes are different', () => {
    expect(isSameSecret(Buffer.from('ab'), Buffer.from('ab'))).toBe(true);
    expect(isSameSecret(Buffer.from('ab'), Buffer.from('ac'))).toBe(false);
    expect(isSameSecret(Buffer.from('ab'), Buffer.from('abc'))).toBe(false);
  });
});
