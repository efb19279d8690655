import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/extract/base/connector.ts';
import { openWriter } from '../../../../src/extract/shape/parquet-writer.ts';
import { encodeRecords } from '../../../../src/extract/shape/writers.ts';
import { outputOf, RECORD, shaperOf } from './records.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** Writes shaped records as chunks; returns the file, and what each call returned. */
async function written(
  json: JsonObject,
  chunks: readonly (readonly JsonObject[])[],
  groupBytes = 65_536,
): Promise<{ readonly file: ArrayBuffer; readonly pieceBytes: readonly number[] }> {
  const shaper = shaperOf(json);
  const shaped = (record: JsonObject): JsonObject => {
    const result = shaper.shape({ ...RECORD, ...record });
    if (result.kind !== 'record') throw new Error(result.detail);
    return result.value;
  };
  const writer = await openWriter(
    { format: 'parquet', csv: outputOf(json).csv, columns: shaper.columns, page: null },
    groupBytes,
  );
  expect(writer.contentType).toBe('application/vnd.apache.parquet');
  const pieces = [
    writer.begin(true),
    ...chunks.map((chunk) => writer.records(encodeRecords(chunk.map(shaped)), null)),
    writer.end(),
  ];
  const bytes = Buffer.concat(pieces);
  return {
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    pieceBytes: pieces.map(({ length }) => length),
  };
}

async function rowsOf(file: ArrayBuffer): Promise<Rows> {
  return parquetReadObjects({ file });
}

describe('a file of records as Parquet', () => {
  test('its columns are those of the record schema with their types, and of _meta', async () => {
    const { file } = await written({}, [[{}]]);
    const { schema } = parquetMetadata(file);
    expect(schema.slice(1).map(({ name, type, converted_type: as }) => [name, as ?? type])).toEqual([
      ['id', 'UTF8'],
      ['title', 'UTF8'],
      ['author.name', 'UTF8'],
      ['author.home.city', 'UTF8'],
      ['author.home.country', 'UTF8'],
      ['score', 'DOUBLE'],
      ['tags', 'JSON'],
      ['data', 'JSON'],
      ['_meta.id', 'UTF8'],
      ['_meta.seq', 'INT64'],
      ['_meta.source_url', 'UTF8'],
      ['_meta.fetched_at', 'UTF8'],
    ]);
    expect(await rowsOf(file)).toEqual([
      {
        id: 'a1',
        title: 'Tea, "green"',
        'author.name': 'Ada',
        'author.home.city': 'Bath',
        'author.home.country': 'GB',
        score: -5,
        tags: [
          { name: 'tea', weight: 1 },
          { name: 'cup', weight: 2 },
        ],
        data: { x: { y: 1 } },
        '_meta.id': 'a1',
        '_meta.seq': 1n,
        '_meta.source_url': 'https://example.com/a1',
        '_meta.fetched_at': '2026-11-21T06:00:00Z',
      },
    ]);
  });

  test('null stays null, and texts stay as they are: no formula is guarded, no line is broken', async () => {
    const title = '=cmd()\r\n\0\ud800é😀';
    const { file } = await written({}, [[{ title, author: null, score: null }]]);
    const [row] = await rowsOf(file);
    expect(row).toMatchObject({ 'author.name': null, 'author.home.city': null, score: null });
    expect(row?.['title']).toBe(title.replace('\ud800', '\ufffd'));
  });

  test('fields, new names and flat records have their own columns', async () => {
    const { file } = await written({ fields: ['id', 'author.name'], rename: { 'author.name': 'by' } }, [[{}]]);
    expect(await rowsOf(file)).toEqual([expect.objectContaining({ id: 'a1', by: 'Ada' })]);
    expect(
      parquetMetadata(file)
        .schema.map(({ name }) => name)
        .slice(1, 3),
    ).toEqual(['id', 'by']);
    const flat = await written({ flatten: true }, [[{}]]);
    expect((await rowsOf(flat.file))[0]).toMatchObject({ 'author.home.city': 'Bath', data: { 'x.y': 1 } });
  });

  test('a job without records is a file without rows', async () => {
    const { file } = await written({}, []);
    expect(Number(parquetMetadata(file).num_rows)).toBe(0);
    expect(await rowsOf(file)).toEqual([]);
  });

  test('records are written group by group, so that only one group is held', async () => {
    const chunks = Array.from({ length: 40 }, (_, at) => [{ id: `r${at}`, title: 'x'.repeat(10_000) + at }]);
    const { file, pieceBytes } = await written({}, chunks);
    const groups = parquetMetadata(file).row_groups.map(({ num_rows: rows }) => Number(rows));
    expect(groups).toEqual([7, 7, 7, 7, 7, 5]);
    // Something leaves the writer after each seventh record.
    expect(pieceBytes.slice(1, -1).filter((bytes) => bytes > 0)).toHaveLength(5);
    expect((await rowsOf(file)).map(({ id }) => id)).toEqual(chunks.map((_, at) => `r${at}`));
    expect((await rowsOf((await written({}, chunks, 1e9)).file)).length).toBe(40);
  });
});
