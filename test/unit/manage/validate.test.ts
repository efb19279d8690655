import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { text, validate } from '../../../src/manage/validate.ts';

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
  test('gives the value, without the fields that are not known', () => {
    expect(validate(SCHEMA, { ...GOOD, other: 1, count: null })).toEqual({
      kind: 'ok',
      value: { ...GOOD, count: null },
    });
  });

  test.each([
    ['an absent field', { kind: 'a' }, '/name', 'required', 'This is required.'],
    ['null for a required field', { ...GOOD, name: null }, '/name', 'required', 'This is required.'],
    ['another type', { ...GOOD, name: 7 }, '/name', 'wrong_type', 'This must be a string.'],
    ['a number that is none', { ...GOOD, count: '7' }, '/count', 'wrong_type', 'This must be a number.'],
    ['a fraction', { ...GOOD, count: 1.5 }, '/count', 'wrong_type', 'This must be an integer.'],
    ['a value that is not listed', { ...GOOD, kind: 'd' }, '/kind', 'invalid_value', 'This must be a, b or c.'],
    ['a type for a listed value', { ...GOOD, kind: 1 }, '/kind', 'invalid_value', 'This must be a, b or c.'],
    ['a form that does not fit', { ...GOOD, hash: 'y' }, '/hash', 'invalid_value', 'This must be x.'],
    ['a long text', { ...GOOD, name: 'abcd' }, '/name', 'too_long', 'This must have at most 3 characters.'],
    ['a large number', { ...GOOD, count: 10 }, '/count', 'too_large', 'This must be at most 9.'],
    ['a small number', { ...GOOD, count: 0 }, '/count', 'too_small', 'This must be at least 1.'],
    ['many items', { ...GOOD, tags: ['a', 'b', 'c'] }, '/tags', 'too_many', 'This must have at most 2 items.'],
    ['few items', { ...GOOD, tags: [] }, '/tags', 'too_few', 'This must have at least 1 item.'],
    ['a wrong item', { ...GOOD, tags: ['a', 2] }, '/tags/1', 'wrong_type', 'This must be a string.'],
    [
      'a name to escape',
      { ...GOOD, inner: { 'a/b~c': 1 } },
      '/inner/a~1b~0c',
      'wrong_type',
      'This must be true or false.',
    ],
    ['no object', 'text', '', 'wrong_type', 'This must be an object.'],
    ['nothing', null, '', 'required', 'This is required.'],
  ])('%s', (_name, body, pointer, code, message) => {
    expect(errors(body)).toEqual([{ pointer, code, message }]);
  });

  test('names all wrong fields at once, and 32 at most', () => {
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
  test('is counted in characters, not in units', () => {
    expect(validate(text(3), '😀😀😀')).toEqual({ kind: 'ok', value: '😀😀😀' });
    expect(validate(text(3), '😀😀😀😀').kind).toBe('problem');
  });

  test('has no half of a pair left in it', () => {
    expect(validate(text(3), 'a\ud800b')).toEqual({ kind: 'ok', value: 'a\ufffdb' });
  });
});
