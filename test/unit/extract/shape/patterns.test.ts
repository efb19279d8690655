import { RE2JS } from 're2js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { compilePattern } from '../../../../src/extract/shape/patterns.ts';
import { repeatedSize } from '../../../../src/kernel/pattern-size.ts';
import { faultsOf } from './records.ts';

afterEach(() => vi.restoreAllMocks());

/** About 990 characters that became 110,000 parts of a program and took 0.2 s to compile. */
const LARGE = '(x{1000}|y{1000})'.repeat(55);

describe('repeatedSize', () => {
  test.each([
    ['abc', 3],
    ['ab{3}', 4],
    ['(ab){3}', 9],
    ['((ab){3}c){2}', 22],
    ['a{2,5}b', 6],
    ['a{2,}', 3],
    ['a{0}', 1],
    ['[a\\]b]{3}', 3],
    ['\\p{L}\\u{1f600}\\u0061\\x61\\{', 5],
    ['(?<name>a)(?:b)(?=c)', 6],
    ['a|b', 3],
    ['[{]{2}', 2],
    ['', 0],
  ])('the pattern %s has the expanded size %d', (source, size) => expect(repeatedSize(source)).toBe(size));
});

test.each([LARGE, '((((x{9}){9}){9}){9})', `${'(?:'.repeat(30)}x${'{2})'.repeat(30)}`])(
  'a pattern that repeats too much is rejected before it is compiled',
  (source) => {
    const compile = vi.spyOn(RE2JS, 'compile');
    expect(compilePattern(source)).toEqual({ kind: 'fault', message: 'This pattern repeats too much.' });
    expect(compile).not.toHaveBeenCalled();
  },
);

test('common hand-written patterns are compiled', () => {
  const written = ['^[a-z]{1,255}$', '^\\d{4}-\\d{2}-\\d{2}$', '(?:[0-9a-f]{2}:){5}[0-9a-f]{2}', '(?:a|b|c){300}'];
  for (const source of written) expect(compilePattern(source).kind).toBe('ok');
});

test('the first unsupported pattern ends the check of a schema', () => {
  const compile = vi.spyOn(RE2JS, 'compile');
  const parts = Array.from({ length: 50 }, (_, n) => [`p${n}`, { pattern: n === 1 ? '(?=a)' : '^a$' }]);
  expect(faultsOf({ schema: { properties: Object.fromEntries(parts) } })).toEqual([
    ['/output/schema/properties/p1/pattern', 'unsupported_pattern'],
  ]);
  expect(compile).toHaveBeenCalledTimes(1);
});
