import type * as Parquet from 'hyparquet-writer';
import { unreachable } from '../../kernel/brand.ts';
import type { JsonObject, JsonSchema, JsonValue } from '../base/connector.ts';
import { cellValue, tableColumns } from './csv.ts';
import type { Leaf } from './flatten.ts';
import { createWriter, parseChunk, type RecordWriter, type TextFormat, type WriterOptions } from './writers.ts';

/**
 * Minimum bytes of records, as NDJSON, of a group of rows in a page. One group and the next part are in memory.
 * Measured: a group with 31 columns takes 2 ms of processor time, and the footer of a page of 9 MB takes 4 ms; with 65,536 it takes 20 ms.
 */
export const PAGE_GROUP_BYTES = 262_144;
/** Choice: readers skip whole groups, so that files have large ones. */
export const FILE_GROUP_BYTES = 8_388_608;

type AnyWriterOptions = Omit<WriterOptions, 'format'> & { readonly format: TextFormat | 'parquet' };

/** Like `createWriter`, for every format. The code of Parquet is loaded only when it is used. */
export async function openWriter(options: AnyWriterOptions, groupBytes: number): Promise<RecordWriter> {
  const { format } = options;
  return format === 'parquet'
    ? parquetWriter(options.columns, groupBytes, await import('hyparquet-writer'))
    : createWriter({ ...options, format });
}

/** Every page is a complete file: its columns depend only on the job, as in CSV. */
function parquetWriter(
  leaves: readonly Leaf[],
  groupBytes: number,
  { ByteWriter, ParquetWriter, schemaFromColumnData }: typeof Parquet,
): RecordWriter {
  const columns = [...new Map(tableColumns(leaves).map((leaf) => [leaf.name, leaf])).values()].map((leaf) => ({
    leaf,
    type: columnType(leaf.schema),
  }));
  const schema = schemaFromColumnData({
    columnData: columns.map(({ leaf: { name }, type }) => ({ name, type, nullable: true, data: [] })),
  });
  const bytes = new ByteWriter();
  // Statistics would repeat texts in the footer. Measured: with them it takes three times as long.
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'gatehouse', statistics: false });
  let rows: JsonObject[] = [];
  let rowBytes = 0;
  const writeGroup = (): void => {
    const columnData = columns.map(({ leaf, type }) => ({
      name: leaf.name,
      data: rows.map((row) => parquetValue(type, cellValue(row, leaf))),
      offsetIndex: false,
    }));
    // A ByteWriter is written at once: nothing is awaited.
    if (rows.length > 0) void file.write({ columnData, rowGroupSize: rows.length });
    rows = [];
    rowBytes = 0;
  };
  /** The writer counts its position in the file apart from its buffer, which can therefore be emptied. */
  const handOver = (): Buffer => {
    const written = Buffer.from(bytes.getBytes());
    bytes.index = 0;
    return written;
  };
  return {
    contentType: 'application/vnd.apache.parquet',
    begin: handOver,
    records(chunk, firstSeq) {
      rows.push(...parseChunk(chunk, firstSeq));
      rowBytes += chunk.length;
      if (rowBytes >= groupBytes) writeGroup();
      return handOver();
    },
    end() {
      writeGroup();
      void file.finish();
      return handOver();
    },
  };
}

type ColumnType = Extract<Parquet.BasicType, 'STRING' | 'INT64' | 'DOUBLE' | 'BOOLEAN' | 'JSON'>;

/** Dates stay texts as in JSON, so that none is lost or changed. What may be of several types is JSON. */
function columnType(schema: JsonSchema): ColumnType {
  const types = ([schema['type'] ?? []].flat() as readonly string[]).filter((type) => type !== 'null');
  switch (types.toSorted().join()) {
    case 'string':
      return 'STRING';
    case 'integer':
      return 'INT64';
    case 'number':
    case 'integer,number':
      return 'DOUBLE';
    case 'boolean':
      return 'BOOLEAN';
    default:
      return 'JSON';
  }
}

/** A value that is not of its column's type, as only a damaged record has, is its JSON in a text column, and else null. */
function parquetValue(type: ColumnType, value: JsonValue): unknown {
  if (value === null) return null;
  switch (type) {
    case 'STRING':
      return typeof value === 'string' ? value : JSON.stringify(value);
    case 'INT64':
      return Number.isSafeInteger(value) ? BigInt(value as number) : null;
    case 'DOUBLE':
      return typeof value === 'number' ? value : null;
    case 'BOOLEAN':
      return typeof value === 'boolean' ? value : null;
    case 'JSON':
      return value;
    default:
      return unreachable(type);
  }
}
