import { describe, expect, test } from 'vitest';
import { SignInCodes } from '../../../src/auth/sign-in-codes.ts';
import { SIGN_IN_CODE_MS, SIGN_IN_CODES_MAX } from '../../../src/kernel/limits.ts';

const NOW = 1_790_000_000_000;
const KEY = 'ab'.repeat(32);

describe('sign-in codes', () => {
  test('A code gives its key once', () => {
    const codes = new SignInCodes();
    const { text, expiresAtMs } = codes.issue(KEY, NOW);
    expect(text).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(expiresAtMs).toBe(NOW + SIGN_IN_CODE_MS);
    for (const wrong of ['', text.slice(1), `${text}x`, 'a'.repeat(43)]) expect(codes.redeem(wrong, NOW)).toBeNull();
    expect(codes.redeem(text, NOW)).toBe(KEY);
    expect(codes.redeem(text, NOW)).toBeNull();
  });

  test('A code is valid for ten minutes, and not on a clock that was set back', () => {
    const codes = new SignInCodes();
    const texts = [0, 1, 2].map(() => codes.issue(KEY, NOW).text);
    expect(codes.redeem(texts[0] ?? '', NOW + SIGN_IN_CODE_MS - 1)).toBe(KEY);
    expect(codes.redeem(texts[1] ?? '', NOW + SIGN_IN_CODE_MS)).toBeNull();
    expect(codes.redeem(texts[2] ?? '', NOW)).toBeNull();
    const { text } = codes.issue(KEY, NOW);
    expect(codes.redeem(text, NOW - 1)).toBeNull();
  });

  test('At most 16 codes are valid: the oldest ends, and using one does not end others', () => {
    const codes = new SignInCodes();
    const texts = Array.from({ length: SIGN_IN_CODES_MAX + 2 }, (_, n) => codes.issue(`${n}`, NOW).text);
    const given = texts.toReversed().map((text) => codes.redeem(text, NOW));
    const valid = Array.from({ length: SIGN_IN_CODES_MAX }, (_, n) => `${n + 2}`).toReversed();
    expect(given).toEqual([...valid, null, null]);
  });

  test('No code is kept as text', () => {
    const codes = new SignInCodes();
    const { text } = codes.issue(KEY, NOW);
    expect(JSON.stringify(codes)).not.toContain(text);
  });
});
