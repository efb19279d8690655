import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OutputFormat } from '../../src/work/extraction-job.ts';
import type { JsonObject, JsonSchema, JsonValue } from '../../src/extract/base/connector.ts';
import { parseOutput } from '../../src/extract/shape/output-options.ts';
import { createShaper, type FullRecord, type Shaper } from '../../src/extract/shape/shaper.ts';
import { createWriter, encodeRecords, sliceRecords } from '../../src/extract/shape/writers.ts';
import { timesInFull } from '../support/long.ts';

const SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    text: { type: ['string', 'null'] },
    number: { type: ['number', 'null'] },
    by: {
      type: ['object', 'null'],
      properties: { name: { type: 'string' }, at: { type: 'object', properties: { city: { type: 'string' } } } },
    },
    list: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
    open: { type: 'object' },
  },
};
const PATHS = ['id', 'text', 'number', 'by', 'by.name', 'by.at', 'by.at.city', 'list', 'list.name', 'open', 'open.x'];

/** Texts that expose errors of writers: quotes, line breaks, formulas, lone surrogates. */
const text = fc.oneof(
  fc.string(),
  fc.string({
    unit: fc.constantFrom('"', "'", ',', ';', '\t', '|', '\r', '\n', '=', '+', '-', '@', '\0', 'é', '\u2028', '𝒳'),
  }),
);
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
const record = fc.record({
  id: text,
  text: fc.option(text),
  number: fc.option(number),
  by: fc.option(fc.record({ name: text, at: fc.record({ city: text }) })),
  list: fc.array(fc.record({ name: text }), { maxLength: 3 }),
  open: fc.dictionary(text, fc.jsonValue({ maxDepth: 2 })),
}) as fc.Arbitrary<JsonObject>;
const records = fc.array(record, { minLength: 1, maxLength: 8 });

const options = fc.record({
  fields: fc.option(fc.uniqueArray(fc.constantFrom(...PATHS), { minLength: 1 })),
  rename: fc.dictionary(fc.constantFrom(...PATHS), fc.constantFrom('a', 'b', 'c', 'id', '=d'), { maxKeys: 3 }),
  flatten: fc.boolean(),
  csv: fc.record({ delimiter: fc.constantFrom(',', ';', '\t', '|'), bom: fc.boolean(), header: fc.boolean() }),
});

function full(fields: JsonObject, index: number): FullRecord {
  return {
    ...fields,
    _meta: { id: `r${index}`, seq: index + 1, source_url: 'https://example.com/', fetched_at: '2026-11-21T06:00:00Z' },
  };
}

/** Creates a shaper for the options; null when they are rejected, as some combinations must be. */
function shaperOf(json: JsonObject): {
  readonly shaper: Shaper;
  readonly csv: { readonly delimiter: string; readonly bom: boolean; readonly header: boolean };
} | null {
  const parsed = parseOutput(json);
  if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.errors));
  const created = createShaper(parsed.output, SCHEMA);
  return created.kind === 'faults' ? null : { shaper: created.shaper, csv: parsed.output.csv };
}

function shapeAll(shaper: Shaper, all: readonly JsonObject[]): JsonObject[] {
  return all.map((fields, index) => {
    const result = shaper.shape(full(fields, index));
    if (result.kind !== 'record') throw new Error(result.detail);
    return result.value;
  });
}

describe('shaped records', () => {
  test('Shaped records of one job have the same members, flat ones without nested objects, and no name occurs twice', () => {
    fc.assert(
      fc.property(options, records, (json, all) => {
        const made = shaperOf(json);
        fc.pre(made !== null);
        const values = shapeAll(made.shaper, all);
        const [first] = values;
        const members = (value: JsonObject | undefined): string[] =>
          Object.keys(value ?? {}).filter(
            (name) => !json.flatten || made.shaper.columns.some((column) => column.name === name),
          );
        if (!json.flatten) for (const value of values) expect(members(value)).toEqual(members(first));
        const names = made.shaper.columns.map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
        for (const value of values) {
          expect(Object.keys(value).at(-1)).toBe('_meta');
          const { _meta: _, ...fields } = value;
          if (json.flatten)
            for (const item of Object.values(fields))
              expect(typeof item === 'object' && item !== null && !Array.isArray(item)).toBe(false);
        }
      }),
      { numRuns: timesInFull(500) },
    );
  });

  test('A shaped record contains all selected texts and no others', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.constantFrom(...PATHS), { minLength: 1 }), (fields) => {
        const made = shaperOf({ fields });
        const at = (path: string): string => `<${path}>`;
        const sample = {
          id: at('id'),
          text: at('text'),
          number: 1,
          by: { name: at('by.name'), at: { city: at('by.at.city') } },
          list: [{ name: at('list.name') }],
          open: { x: at('open.x'), y: at('open.y') },
        };
        const [value] = made === null ? [] : shapeAll(made.shaper, [sample]);
        const found = [...JSON.stringify(value).matchAll(/<([^>]+)>/g)].map(([, path = '']) => path);
        const isSelected = (leaf: string): boolean =>
          fields.some((path) => leaf === path || leaf.startsWith(`${path}.`));
        const leaves = ['id', 'text', 'by.name', 'by.at.city', 'list.name', 'open.x', 'open.y'];
        expect(new Set(found)).toEqual(new Set(leaves.filter(isSelected)));
        expect(found).toHaveLength(leaves.filter(isSelected).length);
      }),
      { numRuns: timesInFull(300) },
    );
  });
});

describe('what is written', () => {
  test('Written CSV parses back into the same table, and no text cell begins a formula', () => {
    fc.assert(
      fc.property(options, records, (json, all) => {
        const made = shaperOf(json);
        fc.pre(made !== null);
        const { shaper, csv } = made;
        const writer = createWriter({ format: 'csv', csv, columns: shaper.columns, page: null });
        const chunk = encodeRecords(shapeAll(shaper, all));
        const bytes = Buffer.concat([writer.begin(true), writer.records(chunk, null), writer.end()]);
        const rows = parse(bytes, { delimiter: csv.delimiter, bom: true, record_delimiter: '\r\n' });
        expect(rows).toHaveLength(all.length + (csv.header ? 1 : 0));
        const columns = shaper.columns.length + 4;
        for (const cell of rows.flat()) {
          expect(cell).not.toContain('\0');
          if (!/^-[\d.]+(?:e[+-]\d+)?$/.test(cell)) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
        }
        expect(rows.every((row) => row.length === columns)).toBe(true);
        const at = shaper.columns.findIndex(({ path }) => path[0] === 'text');
        const title = rows.at(-1)?.[at];
        const given = all.at(-1)?.['text'];
        if (at >= 0 && !Object.hasOwn(json.rename, 'text')) {
          const clean = typeof given === 'string' ? Buffer.from(given.replaceAll('\0', '')).toString() : '';
          expect([clean, `'${clean}`]).toContain(title);
        }
      }),
      { numRuns: timesInFull(500) },
    );
  });

  test('Written records do not depend on their division into chunks and pages', () => {
    const cuts = fc.array(fc.nat(8), { maxLength: 4 });
    fc.assert(
      fc.property(records, cuts, fc.constantFrom<OutputFormat>('json', 'ndjson', 'csv'), (all, cut, format) => {
        const made = shaperOf({});
        fc.pre(made !== null);
        const { shaper, csv } = made;
        const values = shapeAll(shaper, all);
        const write = (chunks: readonly Uint8Array[]): string => {
          const writer = createWriter({ format, csv, columns: shaper.columns, page: null });
          return Buffer.concat([
            writer.begin(true),
            ...chunks.map((chunk) => writer.records(chunk, null)),
            writer.end(),
          ]).toString();
        };
        const whole = encodeRecords(values);
        const bounds = [0, ...cut.map((at) => Math.min(at, values.length)).sort((a, b) => a - b), values.length];
        const pieces = bounds
          .slice(1)
          .map((end, index) => sliceRecords(whole, bounds[index] ?? 0, end - (bounds[index] ?? 0)));
        expect(write(pieces)).toBe(write([whole]));
        if (format === 'json')
          expect(JSON.parse(write(pieces))).toEqual(JSON.parse(JSON.stringify(values)) as JsonValue);
      }),
      { numRuns: timesInFull(500) },
    );
  });
});
