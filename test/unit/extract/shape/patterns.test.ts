import { RE2JS } from 're2js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { compilePattern, repeatedSize } from '../../../../src/extract/shape/patterns.ts';
import { faultsOf } from './records.ts';

afterEach(() => vi.restoreAllMocks());

/** Some 990 characters that were 110,000 parts of a program, and 0.2 s of compiling. */
const LARGE = '(x{1000}|y{1000})'.repeat(55);

describe('the size of a pattern with its repeats written out', () => {
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
  ])('%s has %d parts', (source, size) => expect(repeatedSize(source)).toBe(size));
});

test.each([LARGE, '((((x{9}){9}){9}){9})', `${'(?:'.repeat(30)}x${'{2})'.repeat(30)}`])(
  'a pattern that repeats too much is refused before it is compiled',
  (source) => {
    const compile = vi.spyOn(RE2JS, 'compile');
    expect(compilePattern(source)).toEqual({ kind: 'fault', message: 'This pattern repeats too much.' });
    expect(compile).not.toHaveBeenCalled();
  },
);

test('patterns that people write are compiled', () => {
  const written = ['^[a-z]{1,255}$', '^\\d{4}-\\d{2}-\\d{2}$', '(?:[0-9a-f]{2}:){5}[0-9a-f]{2}', '(?:a|b|c){300}'];
  for (const source of written) expect(compilePattern(source).kind).toBe('ok');
});

test('the first pattern that is not taken ends the check of a schema', () => {
  const compile = vi.spyOn(RE2JS, 'compile');
  const parts = Array.from({ length: 50 }, (_, n) => [`p${n}`, { pattern: n === 1 ? '(?=a)' : '^a$' }]);
  expect(faultsOf({ schema: { properties: Object.fromEntries(parts) } })).toEqual([
    ['/output/schema/properties/p1/pattern', 'unsupported_pattern'],
  ]);
  expect(compile).toHaveBeenCalledTimes(1);
});
