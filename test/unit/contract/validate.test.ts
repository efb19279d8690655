import { describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { text } from '../../../src/contract/requests/request-text.ts';
import { validate } from '../../../src/contract/validate.ts';

const SCHEMA = z.object({
  name: text(3),
  kind: z.enum(['a', 'b', 'c']),
  hash: z.string().regex(/^x$/, 'This must be x.').optional(),
  count: z.int().min(1).max(9).nullish(),
  tags: z.array(z.string()).min(1).max(2).optional(),
  inner: z.object({ 'a/b~c': z.boolean() }).optional(),
});

const GOOD = { name: 'abc', kind: 'a' };

function errors(body: unknown): unknown {
  const result = validate(SCHEMA, body);
  if (result.kind === 'ok') return [];
  expect(result.problem).toMatchObject({ status: 422, code: 'validation_failed' });
  return result.problem.errors;
}

describe('validation of a body', () => {
  test('Validation returns the value without unknown fields', () => {
    expect(validate(SCHEMA, { ...GOOD, other: 1, count: null })).toEqual({
      kind: 'ok',
      value: { ...GOOD, count: null },
    });
  });

  test.each([
    ['an absent field', { kind: 'a' }, '/name', 'required', 'This is required.'],
    ['null for a required field', { ...GOOD, name: null }, '/name', 'required', 'This is required.'],
    ['another type', { ...GOOD, name: 7 }, '/name', 'wrong_type', 'This must be a string.'],
    ['a number as a string', { ...GOOD, count: '7' }, '/count', 'wrong_type', 'This must be a number.'],
    ['a fraction', { ...GOOD, count: 1.5 }, '/count', 'wrong_type', 'This must be an integer.'],
    ['an unlisted value', { ...GOOD, kind: 'd' }, '/kind', 'invalid_value', 'This must be a, b or c.'],
    ['another type for a listed value', { ...GOOD, kind: 1 }, '/kind', 'invalid_value', 'This must be a, b or c.'],
    ['a text that does not match its pattern', { ...GOOD, hash: 'y' }, '/hash', 'invalid_value', 'This must be x.'],
    ['a text that is too long', { ...GOOD, name: 'abcd' }, '/name', 'too_long', 'This must have at most 3 characters.'],
    ['a number that is too large', { ...GOOD, count: 10 }, '/count', 'too_large', 'This must be at most 9.'],
    ['a number that is too small', { ...GOOD, count: 0 }, '/count', 'too_small', 'This must be at least 1.'],
    ['too many items', { ...GOOD, tags: ['a', 'b', 'c'] }, '/tags', 'too_many', 'This must have at most 2 items.'],
    ['too few items', { ...GOOD, tags: [] }, '/tags', 'too_few', 'This must have at least 1 item.'],
    ['an item of a wrong type', { ...GOOD, tags: ['a', 2] }, '/tags/1', 'wrong_type', 'This must be a string.'],
    [
      'a field whose name must be escaped',
      { ...GOOD, inner: { 'a/b~c': 1 } },
      '/inner/a~1b~0c',
      'wrong_type',
      'This must be true or false.',
    ],
    ['a body that is not an object', 'text', '', 'wrong_type', 'This must be an object.'],
    ['null as the body', null, '', 'required', 'This is required.'],
  ])('Validation reports %s with its pointer and its code', (_name, body, pointer, code, message) => {
    expect(errors(body)).toEqual([{ pointer, code, message }]);
  });

  test('Validation names all wrong fields at once, at most 32', () => {
    expect(errors({ name: 1, kind: 2 })).toHaveLength(2);
    const many = z.array(z.string());
    const result = validate(
      many,
      Array.from({ length: 100 }, (_, n) => n),
    );
    expect(result.kind === 'problem' && result.problem.errors?.length).toBe(32);
  });
});

describe('a text', () => {
  test('The length of a text is counted in characters, not in UTF-16 units', () => {
    expect(validate(text(3), '😀😀😀')).toEqual({ kind: 'ok', value: '😀😀😀' });
    expect(validate(text(3), '😀😀😀😀').kind).toBe('problem');
  });

  test('A text that is more than twice too long in UTF-16 units is refused without counting its characters', () => {
    const counting = vi.spyOn(Array, 'from');
    try {
      expect(validate(text(3), '😀'.repeat(1_000)).kind).toBe('problem');
      expect(counting.mock.calls.filter(([what]) => typeof what === 'string')).toEqual([]);
      expect(validate(text(3), '😀😀ab').kind).toBe('problem');
      expect(counting.mock.calls.filter(([what]) => typeof what === 'string')).toHaveLength(1);
    } finally {
      counting.mockRestore();
    }
  });

  test('A text contains no lone surrogate after validation', () => {
    expect(validate(text(3), 'a\ud800b')).toEqual({ kind: 'ok', value: 'a\ufffdb' });
  });
});
