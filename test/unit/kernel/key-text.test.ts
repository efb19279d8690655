import { createHash, randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkKeyText, KEY_RANDOM_BYTES, makeKeyText } from '../../../src/kernel/key-text.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('key text', () => {
  test('A key text is its prefix, 32 characters and a checksum that a second implementation confirms', () => {
    const text = makeKeyText('secret', new Uint8Array(KEY_RANDOM_BYTES)) ?? '';
    expect(text.slice(0, 40)).toBe(`sk_live_${'0'.repeat(32)}`);
    const digest = createHash('sha256').update(text.slice(0, 40)).digest();
    let rest = digest.readUIntBE(0, 6) % 62 ** 6;
    const sum = Array.from({ length: 6 }, () => {
      const character = BASE62.charAt(rest % 62);
      rest = Math.floor(rest / 62);
      return character;
    });
    expect(text.slice(40)).toBe(sum.reverse().join(''));
    expect(text).toHaveLength(46);
  });

  test.each(['secret', 'public'] as const)('A generated %s key passes its own check', (kind) => {
    for (let i = 0; i < 200; i++) {
      expect(checkKeyText(makeKeyText(kind, randomBytes(KEY_RANDOM_BYTES)) ?? '')).toBe(kind);
    }
  });

  test('A test key has a prefix of its own, and the live text with its characters is no key', () => {
    const text = makeKeyText('public', randomBytes(KEY_RANDOM_BYTES), true) ?? '';
    expect([text.slice(0, 8), checkKeyText(text)]).toEqual(['pk_test_', 'public']);
    expect(checkKeyText(text.replace('_test_', '_live_'))).toBeNull();
  });

  test('Every changed character of a key is detected', () => {
    const text = makeKeyText('public', randomBytes(KEY_RANDOM_BYTES)) ?? '';
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom(...BASE62.split('')), (at, character) => {
        fc.pre(text.charAt(at) !== character);
        expect(checkKeyText(text.slice(0, at) + character + text.slice(at + 1))).toBeNull();
      }),
    );
  });

  test('Texts that are not keys are rejected', () => {
    for (const text of ['', 'sk_live_', 'x'.repeat(46), 'sk_test_'.padEnd(46, '0')])
      expect(checkKeyText(text)).toBeNull();
  });

  test('All characters are equally likely in a key: bytes of 248 and above are skipped', () => {
    const counts = new Map<string, number>();
    for (let byte = 0; byte < 248; byte++) {
      const character = (makeKeyText('secret', new Uint8Array(64).fill(byte)) ?? '').charAt(8);
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect(counts.size).toBe(62);
    expect(new Set(counts.values())).toEqual(new Set([4]));
    expect(makeKeyText('secret', new Uint8Array(64).fill(248))).toBeNull();
    expect(makeKeyText('secret', new Uint8Array(31))).toBeNull();
  });
});
