import { describe, expect, test } from 'vitest';
import { ColdHeaders, isColdHeader, NO_COLD_HEADERS } from '../../../src/kernel/cold-headers.ts';

describe('header fields by name', () => {
  test('A field is read by its name, and is empty if it is absent', () => {
    const headers = new ColdHeaders();
    headers.add('origin', 'https://a.example');
    expect([headers.get('origin'), headers.get('if-none-match')]).toEqual(['https://a.example', '']);
    expect(NO_COLD_HEADERS.get('origin')).toBe('');
  });

  test('Repeated lists are joined, and other fields are accepted once', () => {
    const headers = new ColdHeaders();
    const given = [
      ['if-none-match', '"a"'],
      ['origin', 'x'],
      ['if-none-match', '"b", "c"'],
      ['origin', 'x'],
    ] as const;
    expect(given.map(([name, value]) => headers.add(name, value))).toEqual([true, true, true, false]);
    expect([headers.get('if-none-match'), headers.get('origin')]).toEqual(['"a","b", "c"', 'x']);
  });

  test('Only fields that a handler reads are kept', () => {
    expect(['origin', 'idempotency-key', 'x-forwarded-for'].map(isColdHeader)).toEqual([true, true, true]);
    expect(['date', 'from', 'constructor', ''].map(isColdHeader)).toEqual([false, false, false, false]);
  });
});
