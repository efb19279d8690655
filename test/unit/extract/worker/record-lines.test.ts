import { describe, expect, test } from 'vitest';
import { CONNECTORS } from '../../../../src/extract/connectors/connector-table.ts';
import {
  operationFor,
  type FoundRecord,
  type JsonObject,
  type JsonValue,
} from '../../../../src/extract/base/connector.ts';
import { textOfHtml } from '../../../../src/extract/read/html.ts';
import { toRecordLines, type RecordLines } from '../../../../src/extract/worker/record-lines.ts';
import { createShaper } from '../../../../src/extract/shape/shaper.ts';
import { faultsOf } from '../../../conformance/records.ts';
import { PLAIN_OUTPUT } from '../../../support/extraction-jobs.ts';

const MIB = 1_048_576;
const TEXTS = { type: 'object', properties: { title: { type: 'string' }, text: { type: 'string' } } };

function linesOf(
  fields: JsonObject,
  record: JsonObject = TEXTS,
  output: Partial<typeof PLAIN_OUTPUT> = {},
): RecordLines {
  const created = createShaper({ ...PLAIN_OUTPUT, ...output }, record);
  if (created.kind === 'faults') throw new Error(JSON.stringify(created.errors));
  const found: FoundRecord = { id: 'a1', sourceUrl: 'https://x.example/a1', fields };
  return toRecordLines(created.shaper, [found], { recordsLeft: 1, nowMs: 0 });
}

function only(lines: RecordLines): { readonly line: string; readonly record: JsonObject } {
  if (lines.kind === 'failed') throw new Error(lines.failure.detail);
  const line = Buffer.from(lines.encoded.ndjson).toString('utf8');
  return { line, record: JSON.parse(line) as JsonObject };
}

describe('a record of more than 1 MiB', () => {
  test('a record of more than 1 MiB is truncated, with _meta.truncated, a note of the job and one for the operator', () => {
    const lines = linesOf({ title: 'Long', text: 'wörd '.repeat(400_000) });
    const { line, record } = only(lines);
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MIB);
    expect(Buffer.byteLength(line)).toBeGreaterThan(MIB - 200);
    expect(record).toMatchObject({ title: 'Long', _meta: { id: 'a1', truncated: true } });
    expect(record['text']).toMatch(/^(?:wörd )+w?ö?r?d?$/);
    expect(lines).toMatchObject({
      dropped: 0,
      jobNotes: ['records_truncated'],
      notes: [{ reason: 'unsupported_content', detail: expect.stringMatching(/a1: truncated from 2400\d{3} bytes/) }],
    });
  });

  test('a record with a text of 500,000 characters is marked, because its reader truncated it', () => {
    const long = textOfHtml(`<p>${'a '.repeat(300_000)}</p>`);
    expect(long).toHaveLength(500_000);
    const marked = linesOf({ title: 'Long', text: long });
    expect(only(marked).record).toMatchObject({ _meta: { truncated: true } });
    expect(marked).toMatchObject({ jobNotes: ['records_truncated'] });
    const whole = linesOf({ title: 'Long', text: 'a'.repeat(499_999) });
    expect([only(whole).record['_meta'], whole]).toMatchObject([{ id: 'a1' }, { jobNotes: [] }]);
    expect(only(whole).record).not.toHaveProperty('_meta.truncated');
  });

  test('a record whose text was truncated when it was read has the same mark and notes', () => {
    const created = createShaper(PLAIN_OUTPUT, TEXTS);
    if (created.kind === 'faults') throw new Error(JSON.stringify(created.errors));
    const found: FoundRecord = {
      id: 'a1',
      sourceUrl: 'https://x.example/a1',
      fields: { text: 'x' },
      isTruncated: true,
    };
    const lines = toRecordLines(created.shaper, [found], { recordsLeft: 1, nowMs: 0 });
    expect(only(lines).record).toMatchObject({ text: 'x', _meta: { id: 'a1', truncated: true } });
    expect(lines).toMatchObject({
      jobNotes: ['records_truncated'],
      notes: [{ reason: 'unsupported_content', detail: expect.stringMatching(/a1: its text was truncated/) as string }],
    });
  });

  test('a record of more than 1 MiB is not truncated if the selected fields are short', () => {
    const lines = linesOf({ title: 'Long', text: 'x'.repeat(2 * MIB) }, TEXTS, { fields: ['title'] });
    expect(only(lines).record).toMatchObject({ title: 'Long', _meta: { id: 'a1' } });
    expect(only(lines).record['_meta']).not.toHaveProperty('truncated');
    expect(lines).toMatchObject({ jobNotes: [], notes: [] });
  });

  test('a record of more than 1 MiB is validated against the customer’s schema after truncation', () => {
    const schema = { properties: { text: { type: 'string', minLength: 2 * MIB } } };
    expect(linesOf({ title: '', text: 'x'.repeat(2 * MIB) }, TEXTS, { schema })).toMatchObject({
      dropped: 1,
      jobNotes: ['records_dropped'],
    });
  });

  test('a record of more than 1 MiB is dropped with an error and a note if it cannot be truncated', () => {
    const data = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`number ${i}`.padEnd(500, '.'), i]));
    const lines = linesOf({ data }, { type: 'object', properties: { data: { type: 'object' } } });
    expect(lines).toMatchObject({
      dropped: 1,
      jobNotes: ['records_dropped'],
      notes: [{ reason: 'unsupported_content', detail: expect.stringContaining('too large') }],
    });
  });

  const operations = CONNECTORS.flatMap(({ id, operations }) =>
    operations.map((one) => [`${id} ${one.name}`, operationFor(one, one.example.input)] as const),
  );

  test.each(operations)(
    'a large record of %s satisfies its published schema after truncation',
    (_, { record, example }) => {
      const { line, record: cut } = only(linesOf(enlarged(example.record), record));
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MIB);
      const { _meta: meta, ...fields } = cut;
      expect(meta).toMatchObject({ truncated: true });
      expect(faultsOf(record, fields)).toEqual([]);
    },
  );

  /** The first text that is neither a date nor a URL is as long as a book, and all others are as long as a page. Lists have 20 items. */
  function enlarged(record: JsonObject): JsonObject {
    let characters = 400_000;
    const enlarge = (value: JsonValue): JsonValue => {
      if (typeof value === 'string') {
        if (/^\d{4}-|^https?:/.test(value)) return value;
        const long = value.padEnd(characters, '漢');
        characters = 2_000;
        return long;
      }
      if (Array.isArray(value)) {
        const items = value as readonly JsonValue[];
        return items.flatMap((item) => Array.from({ length: 20 }, () => enlarge(item)));
      }
      return typeof value === 'object' && value !== null ? enlargeAll(value as JsonObject) : value;
    };
    const enlargeAll = (object: JsonObject): JsonObject =>
      Object.fromEntries(Object.entries(object).map(([name, inner]) => [name, enlarge(inner)]));
    return enlargeAll(record);
  }
});
