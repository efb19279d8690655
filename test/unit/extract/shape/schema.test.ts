import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/extract/base/connector.ts';
import { leastCpuMs } from '../../../support/cpu-time.ts';
import { faultsOf, RECORD, shaperOf } from './records.ts';

/** Returns whether a record with this title and score matches the schema. */
function holds(schema: JsonObject, record: { readonly [name: string]: JsonValue } = {}): boolean {
  const result = shaperOf({ schema, on_invalid: 'drop' }).shape({ ...RECORD, ...record });
  return result.kind === 'record';
}

const title = (schema: JsonObject): JsonObject => ({ properties: { title: schema } });

describe('a customer’s schema', () => {
  test('the schema is checked against the shaped record without `_meta`', () => {
    const schema = { properties: { key: { const: 'a1' } }, required: ['key'], additionalProperties: false };
    expect(shaperOf({ schema, on_invalid: 'fail', fields: ['id'], rename: { id: 'key' } }).shape(RECORD).kind).toBe(
      'record',
    );
    expect(shaperOf({ schema, on_invalid: 'fail', fields: ['id'] }).shape(RECORD).kind).toBe('failed');
  });

  test.each([
    ['drop', 'dropped'],
    ['keep', 'record'],
    ['fail', 'failed'],
  ])('on_invalid %s turns a record that violates the schema into: %s', (onInvalid, kind) => {
    const result = shaperOf({ schema: title({ type: 'number' }), on_invalid: onInvalid }).shape(RECORD);
    expect(result.kind).toBe(kind);
    if ('detail' in result) expect(result.detail).toContain('#/title');
  });

  test('references are expanded, even into definitions and with escapes', () => {
    const schema = { ...title({ $ref: '#/$defs/a~1%62', minLength: 3 }), $defs: { 'a/b': { type: 'string' } } };
    expect(holds(schema)).toBe(true);
    expect(holds(schema, { title: 'Te' })).toBe(false);
    expect(holds(schema, { title: 5 })).toBe(false);
  });

  test('a schema of draft 7 ignores keywords next to a reference', () => {
    const draft = { $schema: 'http://json-schema.org/draft-07/schema#', definitions: { t: { type: 'string' } } };
    expect(holds({ ...draft, ...title({ $ref: '#/definitions/t', minLength: 99 }) })).toBe(true);
  });

  test('a schema of draft 4 has its own exclusive limits', () => {
    const draft = { $schema: 'http://json-schema.org/draft-04/schema#' };
    const schema = { ...draft, properties: { score: { minimum: -5, exclusiveMinimum: true } } };
    expect(holds(schema)).toBe(false);
    expect(holds(schema, { score: -4 })).toBe(true);
  });

  test('formats are checked, and unknown ones are annotations', () => {
    const date = title({ format: 'date-time' });
    expect(holds(date, { title: '2026-11-21T06:00:00Z' })).toBe(true);
    expect(holds(date, { title: 'yesterday' })).toBe(false);
    expect(holds(title({ format: 'url' }), { title: `http://${'a'.repeat(40)}!` })).toBe(true);
  });

  test('patterns run wherever they occur, in an engine that never hangs', () => {
    expect(holds(title({ pattern: '^Tea' }))).toBe(true);
    expect(holds(title({ anyOf: [{ pattern: '^Coffee' }, { pattern: 'green"$' }] }))).toBe(true);
    expect(holds(title({ not: { pattern: '\\u0022' } }))).toBe(false);
    expect(holds({ propertyNames: { pattern: '^[a-z]+$' } })).toBe(true);
    const ms = leastCpuMs(2_000, () => {
      expect(holds(title({ pattern: '^(a+)+$' }), { title: `${'a'.repeat(50_000)}!` })).toBe(false);
    });
    expect(ms).toBeLessThan(2_000);
  });

  test.each([
    ['^\\s$', ['\v', '\u00a0', '\u2003', '\u2028', '\ufeff', '\u200b', 'x']],
    ['^\\S$', ['\v', '\u00a0', '\u3000', '\u200b', 'x', '😀']],
    ['^[\\s\\d]$', ['\u00a0', '5', '\\', 'x']],
    ['^[^\\s]$', ['\u00a0', 'x']],
    ['^[\\S]$', ['\u00a0', '\ufeff', 'x', '\u200b', '😀']],
    ['^[^\\S]$', ['\u00a0', 'x']],
    ['^.$', ['\n', '\r', '\u2028', '\u0085', '😀', '.']],
    ['^[.]$', ['.', 'x']],
    ['^[[:alpha:]$', ['a', 'b', 'p', ':', '[']],
    ['^[[:alpha:][x]$', ['a', 'b', 'ax', ':x', 'bx', '[', '[[']],
    ['^[(?i]$', ['(', '?', 'i', 'I']],
    ['^[\\b]$', ['\b', 'b']],
    ['^\\[[a]$', ['[a', '[[', 'a']],
    ['[]', ['', 'x']],
    ['^[^]$', ['\n', 'x']],
    ['^\\ud83d\\ude00$', ['😀', '\ud83d']],
    ['^[\\ud83d\\ude00]$', ['😀', '\ud83d']],
    ['^\\\\s$', ['\\s', '\\ ', ' ']],
    ['^\\u{1F600}\\/$', ['😀/']],
    ['^(?<year>\\d{4})$', ['2026', '٢٠٢٦']],
    ['a$', ['a', 'a\n']],
    ['^\\p{Lu}\\w\\b', ['Éa', 'Éé', 'éa']],
  ])('the pattern %s means the same as in ECMA-262', (pattern, texts) => {
    const regex = new RegExp(pattern, 'u');
    const held = texts.map((text) => [text, holds(title({ pattern }), { title: text })]);
    expect(held).toEqual(texts.map((text) => [text, regex.test(text)]));
  });

  test('a record whose patterns take too many steps violates the schema', () => {
    expect(holds(title({ pattern: '(?:a?){400}a{100}' }), { title: 'a'.repeat(100_000) })).toBe(false);
  });

  test('two schemas with patterns do not affect each other', () => {
    const tea = shaperOf({ schema: title({ pattern: '^Tea' }) });
    const coffee = shaperOf({ schema: title({ pattern: '^Coffee' }) });
    expect([tea, coffee, tea].map((shaper) => shaper.shape(RECORD).kind)).toEqual(['record', 'dropped', 'record']);
  });

  test('simple patterns for names are accepted', () => {
    const schema = {
      properties: { data: { patternProperties: { '^x_[a-z]*$': { type: 'number' } }, additionalProperties: false } },
    };
    expect(holds(schema, { data: { x_a: 1 } })).toBe(true);
    expect(holds(schema, { data: { x_a: 'a' } })).toBe(false);
    expect(holds(schema, { data: { y: 1 } })).toBe(false);
  });

  test('the items of a list are compared only up to a thousand', () => {
    const schema = { properties: { tags: { uniqueItems: true } } };
    const list = (length: number): number[] => Array.from({ length }, (_, index) => index);
    expect(holds(schema, { tags: list(1_000) })).toBe(true);
    expect(holds(schema, { tags: [...list(9), 3] })).toBe(false);
    expect(holds(schema, { tags: list(1_001) })).toBe(false);
  });

  test('the items of many lists, or with many members, are compared only up to a number of comparisons', () => {
    const schema = { properties: { tags: { items: { uniqueItems: true } } } };
    const lists = (count: number, item: (index: number) => JsonValue): JsonValue =>
      Array.from({ length: count }, () => Array.from({ length: 1_000 }, (_, index) => item(index)));
    expect(holds(schema, { tags: lists(4, (index) => index) })).toBe(true);
    expect(holds(schema, { tags: lists(21, (index) => index) })).toBe(false);
    const members = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`m${index}`, 1]));
    expect(holds(schema, { tags: lists(1, (index) => ({ ...members, index })) })).toBe(false);
  });

  const repeated = (count: number, schema: JsonValue): JsonValue => Array.from({ length: count }, () => schema);

  test.each<[string, JsonObject, JsonValue]>([
    ['alternatives', { items: { anyOf: repeated(1_900, { type: 'number' }) } }, repeated(300, 1)],
    ['true in a list of schemas', { items: { allOf: repeated(5_000, true) } }, repeated(150, 1)],
    [
      'nested alternatives',
      { items: { anyOf: repeated(40, { allOf: repeated(40, { minimum: 0 }) }) } },
      repeated(400, 1),
    ],
    ['required names', { items: { required: repeated(10_000, 'a') } }, repeated(3_000, 1)],
    ['values', { items: { enum: Array.from({ length: 10_000 }, (_, index) => index) } }, repeated(3_000, 1)],
    [
      'lengths of long texts',
      { items: { not: { allOf: repeated(1_900, { minLength: 400_001 }) } } },
      ['x'.repeat(400_000)],
    ],
    ['contained items', { contains: { allOf: repeated(1_900, {}) }, minContains: 300 }, repeated(300, 1)],
  ])('a record violates a schema that would take too many checks: many %s', (_name, tags, items) => {
    const schema = { properties: { tags } };
    expect(holds(schema, { tags: [] })).toBe(tags['contains'] === undefined);
    expect(holds(schema, { tags: items })).toBe(false);
  });

  test('a large schema and a large record are accepted if they are large at different depths', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`p${index}`, { type: 'number' }]),
    );
    const rows = { items: { items: { type: ['number', 'null'] } } };
    const table = Array.from({ length: 1_000 }, () => repeated(100, 1));
    expect(holds({ properties: { ...properties, tags: rows } }, { tags: table })).toBe(true);
  });

  test('a schema may contain names that objects inherit', () => {
    const properties = JSON.parse('{"__proto__":{"type":"string"},"toString":{"type":"string"}}') as JsonObject;
    expect(holds({ properties })).toBe(true);
  });

  const doubling = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `d${index}`,
      { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
    ]),
  );

  test.each<[string, JsonObject, string, string]>([
    ['of an unknown draft', { $schema: 'https://example.com/mine' }, '/$schema', 'unsupported_schema'],
    [
      'that refers elsewhere',
      title({ $ref: 'https://example.com/s.json' }),
      '/properties/title/$ref',
      'unsupported_schema',
    ],
    ['that refers to a name', title({ $ref: '#name' }), '/properties/title/$ref', 'unsupported_schema'],
    ['that refers to nothing', title({ $ref: '#/$defs/a' }), '/properties/title/$ref', 'invalid_schema'],
    ['that refers to itself', title({ $ref: '#' }), '/properties/title/$ref', 'unsupported_schema'],
    [
      'with cyclic references',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
      '/$ref/$ref/$ref',
      'unsupported_schema',
    ],
    ['with an unknown type', title({ type: 'text' }), '/properties/title/type', 'invalid_schema'],
    ['with a keyword of the wrong type', { required: 'title' }, '/required', 'invalid_schema'],
    ['with a count below 0', title({ minLength: -1 }), '/properties/title/minLength', 'invalid_schema'],
    ['with a subschema that is not a schema', { allOf: [5] }, '/allOf/0', 'invalid_schema'],
    ['with look-ahead', title({ pattern: '(?=x)' }), '/properties/title/pattern', 'unsupported_pattern'],
    ['with a back reference', title({ pattern: '(a)\\1' }), '/properties/title/pattern', 'unsupported_pattern'],
    ...[
      '(?<a>b)\\k<a>',
      '()()()()()()()()()()()()\\12',
      '\\Qa.c\\E',
      '[[:alpha:]]',
      '(?i)tea',
      '(?i:tea)',
      '(?P<a>b)',
      '(?<=a)b',
      '(?<!a)b',
      '(?!a)b',
      '\\Atea\\z',
      '\\pL',
      'x{,5}',
      'a\\-b',
    ].map((pattern): [string, JsonObject, string, string] => [
      `with the pattern ${pattern}`,
      title({ pattern }),
      '/properties/title/pattern',
      'unsupported_pattern',
    ]),
    ['with an invalid pattern', title({ pattern: '(' }), '/properties/title/pattern', 'unsupported_pattern'],
    [
      'with a pattern that is too large',
      title({ pattern: '[ab]{600}x{600}' }),
      '/properties/title/pattern',
      'unsupported_pattern',
    ],
    [
      'with a pattern for names that could hang',
      { patternProperties: { '^(a+)+$': {} } },
      '/patternProperties/^(a+)+$',
      'unsupported_pattern',
    ],
    ['with a dynamic reference', { $dynamicRef: '#a' }, '/$dynamicRef', 'unsupported_schema'],
  ])('a schema is rejected: one %s', (_name, schema, pointer, code) => {
    expect(faultsOf({ schema })).toEqual([[`/output/schema${pointer}`, code]]);
  });

  test('a schema whose references double it repeatedly is rejected, and soon', () => {
    const ms = leastCpuMs(1_000, () => {
      const faults = faultsOf({ schema: { $ref: '#/$defs/d0', $defs: { ...doubling, d30: {} } } });
      expect(faults.map(([, code]) => code)).toEqual(['unsupported_schema']);
    });
    expect(ms).toBeLessThan(1_000);
  });
});
