import { open, type FileHandle } from 'node:fs/promises';
import type { HistoryRow, ReadRow } from './history-row.ts';
import { ParquetFault } from './parquet-fault.ts';
import { describeParquet, type ParquetColumn, type ParquetGroup } from './parquet-file.ts';
import { ParquetValues } from './parquet-pages.ts';

/**
 * Reads the rows of a Parquet file: one row group after another and one page of each column at a time. `wanted`: columns to read; null
 * for all. Throws `ParquetFault` for a file that is encrypted, cut off, damaged or compressed in an unknown way.
 */
export async function* readParquet(
  path: string,
  onBytes: (bytes: number) => void,
  wanted: ReadonlySet<string> | null,
): AsyncGenerator<ReadRow> {
  const file = await open(path);
  try {
    const { columns, leftOut, groups } = await describeParquet(file, (await file.stat()).size);
    yield { kind: 'columns', columns: columns.map(({ name }) => name), leftOut };
    const read = columns.filter(({ name }) => wanted?.has(name) !== false);
    for (const [at, group] of groups.entries())
      for await (const row of rowsOf(file, group, { read, at, onBytes })) yield { kind: 'row', row };
  } finally {
    await file.close();
  }
}

/** Choice: 200 columns of DuckDB's row groups of 122,880 rows, by the estimate of `heldBytes`. */
const GROUP_BYTES_MAX = 2 ** 30;

interface GroupReading {
  readonly read: readonly ParquetColumn[];
  /** Number of the row group, from 0. */
  readonly at: number;
  readonly onBytes: (bytes: number) => void;
}

async function* rowsOf(
  file: FileHandle,
  group: ParquetGroup,
  { read, at, onBytes }: GroupReading,
): AsyncGenerator<HistoryRow> {
  const readers = read.map((column) => {
    const chunk = group.chunks[column.index];
    if (chunk === undefined) throw new ParquetFault(`has no column "${column.name}" in row group ${at + 1}`);
    return { name: column.name, values: new ParquetValues(file, column, chunk) };
  });
  const indexes = new Set(read.map(({ index }) => index));
  for (const [index, { from, to }] of group.chunks.entries()) if (!indexes.has(index)) onBytes(to - from);
  for (let row = 0; row < group.rows;) {
    let together = group.rows - row;
    for (const { name, values } of readers) {
      if (values.left === 0) {
        onBytes(await load(values, `column "${name}" of row group ${at + 1}`));
        const heldBytes = readers.reduce((sum, one) => sum + one.values.heldBytes, 0);
        if (heldBytes > GROUP_BYTES_MAX) throw tooMuch(at, heldBytes);
      }
      together = Math.min(together, values.left);
    }
    for (let n = 0; n < together; n++) {
      const values = new Map<string, unknown>();
      for (const reader of readers) {
        const value = reader.values.take();
        if (value !== undefined) values.set(reader.name, value);
      }
      yield values;
    }
    row += together;
  }
}

function tooMuch(at: number, bytes: number): ParquetFault {
  const advice = 'map fewer columns, or write smaller row groups or pages';
  return new ParquetFault(
    `row group ${at + 1} needs ${bytes} bytes for one page of each column; at most ${GROUP_BYTES_MAX} are held: ${advice}`,
  );
}

async function load(values: ParquetValues, name: string): Promise<number> {
  try {
    return await values.load();
  } catch (error) {
    throw new ParquetFault(
      `${name} (page ${values.page}) ${error instanceof ParquetFault ? error.message : `is damaged (${String(error)})`}`,
    );
  }
}
