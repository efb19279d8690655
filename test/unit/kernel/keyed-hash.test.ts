import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KeyedHash } from '../../../src/kernel/keyed-hash.ts';
import { ANY_CHARACTER } from '../../support/any-text.ts';

const KEY = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');

function hashOf(hash: KeyedHash, scope: number, text: string): bigint {
  hash.update(scope, text);
  return (BigInt(hash.high) << 32n) | BigInt(hash.low);
}

function ones(value: bigint): number {
  let count = 0;
  for (let rest = value; rest > 0n; rest &= rest - 1n) count++;
  return count;
}

describe('the keyed hash', () => {
  test('The hash has two unsigned 32-bit halves, equal for equal key, scope and text', () => {
    const one = new KeyedHash(KEY);
    const other = new KeyedHash(KEY);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        fc.string({ unit: ANY_CHARACTER }),
        fc.string(),
        (scope, text, between) => {
          const first = hashOf(one, scope, text);
          hashOf(other, 7, between);
          expect(hashOf(other, scope, text)).toBe(first);
          for (const half of [one.low, one.high]) expect(half).toBe(half >>> 0);
        },
      ),
    );
  });

  test('The hash changes with the key, with the scope and with the text', () => {
    const hash = new KeyedHash(KEY);
    const rekeyed = new KeyedHash(randomBytes(16));
    fc.assert(
      fc.property(fc.nat(), fc.string(), fc.string(), (scope, a, b) => {
        const value = hashOf(hash, scope, a);
        expect(hashOf(rekeyed, scope, a)).not.toBe(value);
        expect(hashOf(hash, scope + 1, a)).not.toBe(value);
        expect(a === b || hashOf(hash, scope, b) !== value).toBe(true);
      }),
    );
  });

  test('The hash depends on both bytes of every character and on the length', () => {
    const hash = new KeyedHash(KEY);
    const texts = ['', '\0', '\0\0', '\0\0\0', 'a', 'a\0', '\0a', 'aa', '\u0161', '\u6100', 'ab', 'ba', 'aba', 'aab'];
    expect(new Set(texts.map((text) => hashOf(hash, 1, text))).size).toBe(texts.length);
  });

  test('500,000 similar texts have 500,000 different hashes, and few share a half', () => {
    const hash = new KeyedHash(KEY);
    const whole = new Set<bigint>();
    const lows = new Set<number>();
    const highs = new Set<number>();
    for (let i = 0; i < 500_000; i++) {
      hash.update(1, `request-${i}`);
      lows.add(hash.low);
      highs.add(hash.high);
      whole.add((BigInt(hash.high) << 32n) | BigInt(hash.low));
    }
    expect(whole.size).toBe(500_000);
    // By chance, 29 of them share 32 bits with another.
    expect(500_000 - lows.size).toBeLessThan(80);
    expect(500_000 - highs.size).toBeLessThan(80);
  });

  test('Each of the 64 bits is set for half of all texts', () => {
    const hash = new KeyedHash(KEY);
    const counts = new Uint32Array(64);
    const texts = 40_000;
    for (let i = 0; i < texts; i++) {
      hash.update(3, `id-${i}`);
      for (let bit = 0; bit < 32; bit++) {
        counts[bit] = (counts[bit] ?? 0) + ((hash.low >>> bit) & 1);
        counts[bit + 32] = (counts[bit + 32] ?? 0) + ((hash.high >>> bit) & 1);
      }
    }
    // Six standard deviations of a fair coin.
    for (const count of counts) expect(Math.abs(count - texts / 2)).toBeLessThan(600);
  });

  test('One changed bit of the text changes half of the bits of the hash', () => {
    const hash = new KeyedHash(KEY);
    let changed = 0;
    const tries = 4_000;
    for (let i = 0; i < tries; i++) {
      const text = `0${String(i).padStart(19, '0')}`;
      const at = i % 20;
      const flipped = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
      changed += ones(hashOf(hash, 1, text) ^ hashOf(hash, 1, flipped));
    }
    expect(changed / tries).toBeGreaterThan(31);
    expect(changed / tries).toBeLessThan(33);
  });
});
