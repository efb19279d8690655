import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { ByteWriter, ParquetWriter, parquetWriteBuffer, type ColumnSource, type SchemaElement } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readHistory } from '../../../src/replay/history-rows.ts';
import { ParquetFault } from '../../../src/replay/parquet-fault.ts';
import { command, type Ran } from '../../support/command-line.ts';
import { pageBytes, parquetBytes } from '../../support/parquet-bytes.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-parquet-test-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, bytes: ArrayBuffer | Uint8Array | string): string {
  const path = join(folder, name);
  writeFileSync(path, typeof bytes === 'string' ? bytes : new Uint8Array(bytes));
  return path;
}

type Row = Readonly<Record<string, unknown>>;

async function read(path: string, wanted: readonly string[] | null = null) {
  const rows: Row[] = [];
  let columns: readonly string[] = [];
  let leftOut: readonly string[] = [];
  let bytes = 0;
  const onBytes = (more: number): void => void (bytes += more);
  for await (const one of readHistory(path, 'parquet', onBytes, wanted === null ? null : new Set(wanted)))
    if (one.kind === 'columns') ({ columns, leftOut } = one);
    else if (one.kind === 'row') rows.push(Object.fromEntries(one.row));
  return { rows, columns, leftOut, bytes };
}

/** The reason for which a file is refused. */
async function refusal(path: string): Promise<string> {
  try {
    await read(path);
  } catch (error) {
    expect(error).toBeInstanceOf(ParquetFault);
    return (error as Error).message;
  }
  return 'none';
}

const NAMES: ColumnSource = { name: 'email', data: ['a@example.com', 'b@example.com'], type: 'STRING' };
const TIMES: ColumnSource = { name: 'time', data: [new Date(1_793_440_000_000), new Date(1_793_440_001_000)] };

describe('Parquet', () => {
  test('Times, decimals, numbers, booleans, JSON and bytes are plain values; nulls and NaN are absent', async () => {
    const schema: SchemaElement[] = [
      { name: 'root', num_children: 9 },
      { name: 'ms', type: 'INT64', repetition_type: 'OPTIONAL', converted_type: 'TIMESTAMP_MILLIS' },
      { name: 'us', type: 'INT64', repetition_type: 'REQUIRED', converted_type: 'TIMESTAMP_MICROS' },
      {
        name: 'ns',
        type: 'INT64',
        repetition_type: 'REQUIRED',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'NANOS' },
      },
      { name: 'day', type: 'INT32', repetition_type: 'REQUIRED', logical_type: { type: 'DATE' } },
      {
        name: 'price',
        type: 'INT64',
        repetition_type: 'OPTIONAL',
        logical_type: { type: 'DECIMAL', scale: 2, precision: 12 },
      },
      { name: 'ratio', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
      { name: 'id', type: 'INT64', repetition_type: 'REQUIRED' },
      { name: 'extra', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL', converted_type: 'JSON' },
      { name: 'hash', type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2, repetition_type: 'REQUIRED' },
    ];
    const at = 1_793_440_000_123;
    const columnData: ColumnSource[] = [
      { name: 'ms', data: [new Date(at), null] },
      { name: 'us', data: [new Date(at), new Date(at)] },
      { name: 'ns', data: [BigInt(at) * 1_000_000n, BigInt(at) * 1_000_000n] },
      { name: 'day', data: [20_000, 20_000] },
      { name: 'price', data: [1_999n, null] },
      { name: 'ratio', data: [Number.NaN, 0.5] },
      { name: 'id', data: [42n, 9_007_199_254_740_993n] },
      { name: 'extra', data: [{ plan: 'free' }, null] },
      { name: 'hash', data: [new Uint8Array([1, 255]), new Uint8Array([0, 16])] },
    ];
    const { rows, columns } = await read(write('types.parquet', parquetWriteBuffer({ schema, columnData })));
    expect(columns).toEqual(['ms', 'us', 'ns', 'day', 'price', 'ratio', 'id', 'extra', 'hash']);
    const time = new Date(at).toISOString();
    const day = '2024-10-04T00:00:00.000Z';
    expect(rows).toEqual([
      { ms: time, us: time, ns: time, day, price: 19.99, id: 42, extra: '{"plan":"free"}', hash: '01ff' },
      { us: time, ns: time, day, ratio: 0.5, id: '9007199254740993', hash: '0010' },
    ]);
  });

  test('Members of groups have names with dots; lists are left out and named', async () => {
    const schema: SchemaElement[] = [
      { name: 'root', num_children: 3 },
      { name: 'entity_keys', repetition_type: 'OPTIONAL', num_children: 2 },
      { name: 'email', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL', converted_type: 'UTF8' },
      { name: 'user_id', type: 'INT32', repetition_type: 'REQUIRED' },
      { name: 'tags', repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      { name: 'element', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL', converted_type: 'UTF8' },
      { name: 'n', type: 'INT32', repetition_type: 'REQUIRED' },
    ];
    const columnData: ColumnSource[] = [
      { name: 'entity_keys', data: [{ email: 'a', user_id: 1 }, { user_id: 2 }, null] },
      { name: 'tags', data: [['x', 'y'], [], null] },
      { name: 'n', data: [7, 8, 9] },
    ];
    const { rows, leftOut } = await read(write('nested.parquet', parquetWriteBuffer({ schema, columnData })));
    expect(rows).toEqual([
      { 'entity_keys.email': 'a', 'entity_keys.user_id': 1, n: 7 },
      { 'entity_keys.user_id': 2, n: 8 },
      { n: 9 },
    ]);
    expect(leftOut).toEqual(['tags.list.element']);
  });

  test('Row groups, pages and repeated words give every row once, and each byte is counted once', async () => {
    const data = Array.from({ length: 5_000 }, (_none, n) => (n % 7 === 0 ? null : `word ${n % 50}`));
    const numbers = data.map((_word, n) => n);
    const columnData: ColumnSource[] = [
      { name: 'word', data, type: 'STRING', encoding: 'RLE_DICTIONARY' },
      { name: 'n', data: numbers, type: 'INT32' },
    ];
    const bytes = parquetWriteBuffer({ columnData, rowGroupSize: 1_500, pageSize: 700 });
    const path = write('groups.parquet', bytes);
    const all = await read(path);
    expect(all.rows).toEqual(numbers.map((n) => (n % 7 === 0 ? { n } : { word: `word ${n % 50}`, n })));
    expect((await read(path, ['n'])).rows).toEqual(numbers.map((n) => ({ n })));
    expect((await read(path, ['n'])).bytes).toBe(all.bytes);
    expect(all.bytes).toBeLessThan(bytes.byteLength);
  });

  test('The first row needs one page of each column, however large the row group is', async () => {
    const data = Array.from({ length: 200_000 }, (_none, n) => `value ${n} of a column without repetition`);
    const bytes = parquetWriteBuffer({
      columnData: [{ name: 'v', data }],
      rowGroupSize: 200_000,
      codec: 'UNCOMPRESSED',
    });
    const path = write('large.parquet', bytes);
    let reported = 0;
    for await (const one of readHistory(path, 'parquet', (more) => (reported += more))) if (one.kind === 'row') break;
    expect(bytes.byteLength).toBeGreaterThan(6_000_000);
    expect(reported).toBeLessThan(bytes.byteLength / 4);
  });

  test('gzip, Brotli and no compression are read; another one is refused by name', async () => {
    const file = (codec: 'GZIP' | 'BROTLI' | 'UNCOMPRESSED' | 'LZ4_RAW' | 'ZSTD'): ArrayBuffer =>
      parquetWriteBuffer({
        columnData: [NAMES],
        codec,
        compressors: {
          GZIP: (bytes) => zlib.gzipSync(bytes),
          BROTLI: (bytes) => zlib.brotliCompressSync(bytes),
          LZ4_RAW: (bytes) => bytes,
          ZSTD: (bytes) => bytes,
        },
      });
    for (const codec of ['GZIP', 'BROTLI', 'UNCOMPRESSED'] as const)
      expect((await read(write(`${codec}.parquet`, file(codec)))).rows.map(({ email }) => email)).toEqual(NAMES.data);
    expect(await refusal(write('lz4.parquet', file('LZ4_RAW')))).toMatch(/"email" compressed with LZ4_RAW/);
    if (!('zstdDecompressSync' in zlib))
      expect(await refusal(write('zstd.parquet', file('ZSTD')))).toMatch(/zstd, which needs Node.js 22.15/);
  });

  test('All encodings are read, with nulls and without', async () => {
    const texts = Array.from({ length: 400 }, (_none, n) => `value ${n % 90} of ${n}`);
    const withNulls = texts.map((value, n) => (n % 3 === 0 ? null : value));
    const numbers = texts.map((_text, n) => (n * n) % 1_000);
    const columnData: ColumnSource[] = [
      { name: 'lengths', data: texts, type: 'STRING', encoding: 'DELTA_LENGTH_BYTE_ARRAY' },
      { name: 'prefixes', data: withNulls, type: 'STRING', encoding: 'DELTA_BYTE_ARRAY' },
      { name: 'words', data: withNulls, type: 'STRING', encoding: 'RLE_DICTIONARY' },
      { name: 'deltas', data: numbers, type: 'INT32', encoding: 'DELTA_BINARY_PACKED' },
      { name: 'long', data: numbers.map(BigInt), type: 'INT64', encoding: 'DELTA_BINARY_PACKED' },
      { name: 'split', data: numbers, type: 'DOUBLE', encoding: 'BYTE_STREAM_SPLIT' },
      { name: 'flags', data: numbers.map((n) => n % 2 === 0), type: 'BOOLEAN', encoding: 'RLE' },
    ];
    const { rows } = await read(write('encodings.parquet', parquetWriteBuffer({ columnData })));
    const row = (n: number): Row => {
      const number = numbers[n] ?? 0;
      const text = withNulls[n] ?? null;
      const maybe = text === null ? {} : { prefixes: text, words: text };
      return { lengths: texts[n], ...maybe, deltas: number, long: number, split: number, flags: number % 2 === 0 };
    };
    expect(rows).toEqual(texts.map((_text, n) => row(n)));
  });

  test('Pages of version 1 are read, with nulls and a dictionary', async () => {
    const text = (value: string): number[] => [value.length, 0, 0, 0, ...Buffer.from(value)];
    const levels = [2, 0, 0, 0, 3, 0b1011];
    const plain = pageBytes({ values: 4, body: [...levels, ...['a', 'b', 'c'].flatMap(text)] });
    const dictionary = pageBytes({ kind: 'dictionary', values: 2, body: [...text('x'), ...text('y')] });
    const indexes = pageBytes({ values: 4, encoding: 8, body: [1, 3, 0b0110] });
    const bytes = parquetBytes([{ isOptional: true, pages: [plain] }, { pages: [dictionary, indexes] }], 4);
    const { rows } = await read(write('v1.parquet', bytes));
    expect(rows).toEqual([{ c0: 'a', c1: 'x' }, { c0: 'b', c1: 'y' }, { c1: 'y' }, { c0: 'c', c1: 'x' }]);
  });

  test('A file that is cut off, encrypted or no Parquet is refused', async () => {
    const bytes = new Uint8Array(parquetWriteBuffer({ columnData: [NAMES, TIMES] }));
    const encrypted = Uint8Array.from(bytes);
    encrypted[encrypted.length - 1] = 'E'.charCodeAt(0);
    expect(await refusal(write('none.parquet', ''))).toBe('is not a Parquet file');
    expect(await refusal(write('text.parquet', 'time,email\n1,a@example.com\n'))).toBe('is not a Parquet file');
    expect(await refusal(write('cut.parquet', bytes.subarray(0, bytes.length - 100)))).toMatch(/is cut off/);
    expect(await refusal(write('encrypted.parquet', encrypted))).toBe('is encrypted');
    const missing = new Uint8Array([...bytes.subarray(0, 4), ...bytes.subarray(60)]);
    expect(await refusal(write('missing.parquet', missing))).toMatch(/damaged|cut off|fewer|page/);
  });

  test.each([
    [10n ** 15n, /declares 1000000000000000 rows; at most 1000000000 are read/],
    [1_000_000n, /column "email" of row group 1 \(page 1\) has fewer values than the row group has rows/],
    [-1n, /declares -1 rows/],
  ])('A row group that declares %s rows is refused, after the rows that it has', async (declared, reason) => {
    const writer = new ByteWriter();
    const parquet = new ParquetWriter({
      writer,
      schema: [
        { name: 'root', num_children: 1 },
        { name: 'email', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
      ],
    });
    await parquet.write({ columnData: [{ name: 'email', data: ['a', 'b'] }] });
    for (const group of parquet.row_groups) group.num_rows = declared;
    await parquet.finish();
    expect(await refusal(write('declared.parquet', writer.getBuffer()))).toMatch(reason);
  });

  test('A changed byte gives rows or a refusal, never another error and never more rows than a page may have', async () => {
    const columnData: ColumnSource[] = [
      { ...NAMES, encoding: 'RLE_DICTIONARY', data: ['a', 'b', 'a', null] },
      { name: 'n', data: [1, 2, null, 4], type: 'INT32' },
    ];
    const whole = new Uint8Array(parquetWriteBuffer({ columnData, statistics: false }));
    for (let at = 0; at < whole.length; at++)
      for (const value of [0x00, 0x7f, 0xff, (whole[at] ?? 0) ^ 0x10]) {
        const changed = Uint8Array.from(whole);
        changed[at] = value;
        const path = write('changed.parquet', changed);
        try {
          const { rows } = await read(path);
          expect(rows.length).toBeLessThanOrEqual(4_194_304);
        } catch (error) {
          if (!(error instanceof ParquetFault)) throw new Error(`byte ${at} = ${value}`, { cause: error });
        }
      }
  }, 60_000);
});

describe('gatehouse evaluate with Parquet', () => {
  const PEOPLE = Array.from({ length: 60 }, (_none, n) => ({
    time: new Date(1_793_440_000_000 + n * 60_000),
    email: `p${n % 20}@example.com`,
    ip: `81.2.${n % 20}.7`,
    amount: n + 0.25,
    isFraud: n % 10 === 0 ? true : n < 40 ? null : false,
  }));

  function evaluate(path: string, words: readonly string[] = []): Promise<Ran> {
    return command(['--data-dir', join(folder, 'data'), 'evaluate', path, '--no-geo', ...words]);
  }

  test('The same events as CSV and as Parquet have the same result', async () => {
    const columnsOf = (rows: typeof PEOPLE): ColumnSource[] =>
      (['time', 'email', 'ip', 'amount', 'isFraud'] as const).map((name) => ({
        name,
        data: rows.map((row) => row[name]),
      }));
    const parquet = write('people.parquet', parquetWriteBuffer({ columnData: columnsOf(PEOPLE), rowGroupSize: 25 }));
    const lines = PEOPLE.map(({ time, email, ip, amount, isFraud }) =>
      [time.toISOString(), email, ip, amount, isFraud ?? ''].join(','),
    );
    const csv = write('people.csv', ['time,email,ip,amount,isFraud', ...lines].join('\n'));
    const [first, second] = [await evaluate(parquet, ['--json']), await evaluate(csv, ['--json'])];
    expect([first.code, first.err]).toEqual([0, '']);
    expect(JSON.parse(first.out)).toEqual(JSON.parse(second.out));
    expect(JSON.parse(first.out)).toMatchObject({
      events: 60,
      labelled: { fraud: 6, legitimate: 18 },
      columns: { time: 'timestamp', email: 'entity_keys.email', isFraud: 'label' },
    });
  });

  test('A damaged page ends the command with the column and the row group', async () => {
    const bytes = new Uint8Array(parquetWriteBuffer({ columnData: [NAMES, TIMES], codec: 'UNCOMPRESSED' }));
    const at = Buffer.from(bytes).indexOf('a@example.com') - 4;
    bytes.fill(0xff, at, at + 4);
    const ran = await evaluate(write('damaged.parquet', bytes), ['--json']);
    expect(ran.code).toBe(1);
    expect(`${ran.out}${ran.err}`).toContain(
      'damaged.parquet column \\"email\\" of row group 1 (page 1) has a value of 4294967295 bytes',
    );
  });

  test('A column whose values begin after the first hundred rows is mapped, in CSV and in Parquet', async () => {
    const rows = Array.from({ length: 150 }, (_none, n) => ({ n, fraud: n < 120 ? null : true }));
    const time = rows.map(({ n }) => new Date(1_793_440_000_000 + n * 1_000));
    const fraud = rows.map((row) => row.fraud);
    const parquet = parquetWriteBuffer({
      columnData: [
        { name: 'time', data: time },
        { name: 'betrug', data: fraud, type: 'BOOLEAN' },
      ],
    });
    const csv = ['time,betrug', ...rows.map(({ n }) => `${time[n]?.toISOString() ?? ''},${fraud[n] ?? ''}`)].join('\n');
    for (const path of [write('late.parquet', parquet), write('late.csv', csv)]) {
      const ran = await evaluate(path, ['--json', '--labels', 'betrug']);
      expect(JSON.parse(ran.out)).toMatchObject({ labelled: { fraud: 30, legitimate: 0 } });
    }
  });
});

test('The reader is a dependency of the package, not of its development', () => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  expect(JSON.parse(text)).toHaveProperty('dependencies.hyparquet');
});
