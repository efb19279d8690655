import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalText, prepareHmacKey, verifyHmac } from '../../../src/auth/signature.ts';

const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 300,
});

describe('the signature', () => {
  test("The signature equals the platform's HMAC-SHA256 for keys of any length", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), visible, (key, text) => {
        const hmac = createHmac('sha256', key).update(text).digest('hex');
        const prepared = prepareHmacKey(Buffer.from(key));
        expect(verifyHmac(prepared, text, hmac)).toBe(true);
        expect(verifyHmac(prepared, `${text}x`, hmac)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test('A signature with any one digit changed does not verify', () => {
    const key = prepareHmacKey(Buffer.from('a key'));
    const hmac = createHmac('sha256', 'a key').update('a text').digest('hex');
    for (let at = 0; at < 64; at++) {
      const other = hmac[at] === '0' ? '1' : '0';
      expect(verifyHmac(key, 'a text', hmac.slice(0, at) + other + hmac.slice(at + 1))).toBe(false);
    }
  });

  test('The signature of a long text verifies, and one of a text longer than any request is rejected', () => {
    const key = prepareHmacKey(Buffer.from('k'));
    for (const [length, verifies] of [
      [8_192, true],
      [12_288, true],
      [12_289, false],
    ] as const) {
      const text = 'x'.repeat(length);
      expect(verifyHmac(key, text, createHmac('sha256', 'k').update(text).digest('hex'))).toBe(verifies);
    }
  });

  test('The signature of a short text verifies after that of a long one', () => {
    const key = prepareHmacKey(Buffer.from('k'));
    for (const text of ['x'.repeat(5_000), 'y', '']) {
      expect(verifyHmac(key, text, createHmac('sha256', 'k').update(text).digest('hex'))).toBe(true);
    }
  });

  test('The canonical text has five lines without a newline at the end', () => {
    expect(canonicalText('POST', '/v1/decide?a=b', '5', 'ab', 'id')).toBe('POST\n/v1/decide?a=b\n5\nab\nid');
  });
});
