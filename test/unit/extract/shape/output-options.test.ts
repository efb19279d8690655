import { describe, expect, test } from 'vitest';
import { parseOutput } from '../../../../src/extract/shape/output-options.ts';
import { faultsOf, outputOf } from './records.ts';

const DEFAULTS = {
  format: 'json',
  fields: null,
  rename: {},
  flatten: false,
  schema: null,
  onInvalid: 'drop',
  csv: { delimiter: ',', bom: false, header: true },
};

describe('parseOutput', () => {
  test('missing and null options have defaults', () => {
    expect(parseOutput(undefined)).toEqual({ kind: 'ok', output: DEFAULTS });
    expect(parseOutput(null)).toEqual({ kind: 'ok', output: DEFAULTS });
    expect(outputOf({ fields: null, rename: null, schema: null, csv: { bom: null } })).toEqual(DEFAULTS);
  });

  test('all options are read, and unknown ones are ignored', () => {
    expect(
      outputOf({
        format: 'csv',
        fields: ['id', 'author.name'],
        rename: { 'author.name': 'author' },
        flatten: true,
        schema: { type: 'object' },
        on_invalid: 'fail',
        csv: { delimiter: '\t', bom: true, header: false, quote: 'x' },
        unknown: 1,
      }),
    ).toEqual({
      format: 'csv',
      fields: ['id', 'author.name'],
      rename: { 'author.name': 'author' },
      flatten: true,
      schema: { type: 'object' },
      onInvalid: 'fail',
      csv: { delimiter: '\t', bom: true, header: false },
    });
  });

  const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) });

  test.each([
    ['a value that is not an object', 'json', '/output', 'wrong_type'],
    ['an unknown format', { format: 'xml' }, '/output/format', 'invalid_value'],
    ['an empty list of fields', { fields: [] }, '/output/fields', 'too_few'],
    ['too many fields', { fields: Array.from({ length: 201 }, () => 'id') }, '/output/fields', 'too_many'],
    ['a field that is too long', { fields: ['a'.repeat(201)] }, '/output/fields/0', 'too_long'],
    ['a path with an empty name', { fields: ['id', 'author..name'] }, '/output/fields/1', 'invalid_value'],
    ['a new name with a dot', { rename: { id: 'a.b' } }, '/output/rename/id', 'invalid_value'],
    ['_meta as a new name', { rename: { id: '_meta' } }, '/output/rename/id', 'invalid_value'],
    ['__proto__ as a new name', { rename: { id: '__proto__' } }, '/output/rename/id', 'invalid_value'],
    ['a line break in a new name', { rename: { id: 'a\nb' } }, '/output/rename/id', 'invalid_value'],
    ['an invalid path in rename', { rename: { 'a.': 'b' } }, '/output/rename/a.', 'invalid_value'],
    ['an unknown on_invalid', { on_invalid: 'skip' }, '/output/on_invalid', 'invalid_value'],
    ['an unsupported delimiter', { csv: { delimiter: '"' } }, '/output/csv/delimiter', 'invalid_value'],
    ['a schema that is too large', { schema: { $comment: 'x'.repeat(65_536) } }, '/output/schema', 'too_large'],
    ['a schema that is too deep', { schema: nested(32) }, '/output/schema', 'too_large'],
  ])('an output with %s is rejected', (_name, json, pointer, code) => {
    const parsed = parseOutput(json);
    expect(parsed.kind === 'faults' && parsed.errors.map((error) => [error.pointer, error.code])).toEqual([
      [pointer, code],
    ]);
  });

  test('a schema of the maximum depth is accepted', () => {
    expect(parseOutput({ schema: nested(31) }).kind).toBe('ok');
  });

  test('fields that records of the operation cannot have are rejected, each with its pointer', () => {
    expect(
      faultsOf({
        fields: ['id', 'nothing', 'author.age', 'title.x', 'tags.name', 'data.any.thing', '_meta.id'],
        rename: { score: 'points', 'author.name': 'points' },
      }),
    ).toEqual([
      ['/output/fields/1', 'unknown_path'],
      ['/output/fields/2', 'unknown_path'],
      ['/output/fields/3', 'unknown_path'],
      ['/output/rename/author.name', 'unknown_path'],
      ['/output/rename/score', 'unknown_path'],
    ]);
  });
});
