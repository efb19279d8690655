import { array, assert, integer, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fitRecord, jsonBytes } from '../../../../src/extract/shape/fit-record.ts';
import type { JsonObject, JsonSchema } from '../../../../src/extract/base/connector.ts';
import { ANY_CHARACTER } from '../../../support/any-text.ts';

const TEXT: JsonSchema = { type: ['string', 'null'] };
const DATE: JsonSchema = { type: ['string', 'null'], format: 'date-time' };
const LIST: JsonSchema = { type: 'array', items: { type: 'object', properties: { name: TEXT } } };

function fit(
  record: JsonObject,
  bytesMax: number,
  schemas: Readonly<Record<string, JsonSchema>> = {},
): JsonObject | null {
  const members = Object.keys(record).map((name) => ({ name, schema: schemas[name] ?? TEXT }));
  return fitRecord(record, members, { bytesMax, textBytesMin: 20 }, jsonBytes);
}

function textAt(record: JsonObject | null, name: string): string {
  const value = record?.[name];
  return typeof value === 'string' ? value : '';
}

describe('a record that is too large', () => {
  test('a record that is too large gets its longest texts cut to one common length', () => {
    const record = { id: 'a1', title: 'x'.repeat(100), text: 'y'.repeat(5_000), note: 'z'.repeat(300) };
    const cut = fit(record, 600);
    expect(cut).toMatchObject({ id: 'a1', title: record.title });
    expect(textAt(cut, 'text')).toHaveLength(textAt(cut, 'note').length);
    expect(jsonBytes(cut)).toBeGreaterThan(590);
    expect(record.text).toHaveLength(5_000);
  });

  test('a record that is too large is cut between code points, by its size in UTF-8', () => {
    for (const character of ['ä', '漢', '😀', '"', '\u0001', '\uD800']) {
      for (let bytesMax = 60; bytesMax < 70; bytesMax++) {
        const cut = fit({ text: character.repeat(100) }, bytesMax);
        expect(jsonBytes(cut)).toBeLessThanOrEqual(bytesMax);
        expect(jsonBytes(cut)).toBeGreaterThan(bytesMax - 8);
        expect(textAt(cut, 'text').replaceAll(character, '')).toBe('');
      }
    }
  });

  test('a record that is too large keeps texts whose schema has a format', () => {
    const at = '2026-11-22T00:00:00.000000000000000000000000000000000000Z';
    expect(fit({ at, text: 'x'.repeat(200) }, 120, { at: DATE })).toMatchObject({ at });
  });

  test('a record that is too large gets its lists cut if cutting its texts does not suffice', () => {
    const items = Array.from({ length: 100 }, (_, i) => ({ name: `n${i}` }));
    const cut = fit({ id: 'a1', items, text: 'x'.repeat(30) }, 300, { items: LIST });
    expect(cut).toMatchObject({ id: 'a1', text: 'x'.repeat(30) });
    const kept = cut?.['items'];
    expect(kept).toEqual(items.slice(0, Array.isArray(kept) ? kept.length : 0));
    expect(jsonBytes(cut)).toBeGreaterThan(280);
  });

  test('a record that is too large becomes null if nothing in it can be cut', () => {
    const numbers = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`n${i}`, i]));
    expect(fit({ data: numbers }, 300, { data: { type: 'object' } })).toBeNull();
  });

  test('a truncated record fits for any texts, and a record that already fits stays unchanged', () => {
    assert(
      property(
        array(string({ unit: ANY_CHARACTER, maxLength: 300 }), { maxLength: 5 }),
        integer({ min: 250, max: 500 }),
        (texts, max) => {
          const record = Object.fromEntries(texts.map((text, i) => [`t${i}`, text]));
          const cut = fit(record, max);
          expect(jsonBytes(cut)).toBeLessThanOrEqual(max);
          if (jsonBytes(record) <= max) expect(cut).toEqual(record);
        },
      ),
    );
  });
});
