import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAIN } from '../../support/command-line.ts';
import {
  type ColumnGiven,
  pageBytes,
  type PageGiven,
  parquetBytes,
  parquetFile,
  thrift,
  type ThriftValue,
  varintBytes,
  zigzagBytes,
} from '../../support/parquet-bytes.ts';

/** Files that declare more than they have are refused by name, in a process that could not hold what they declare. */

/** A part of what the files declare. */
const HEAP_MB = 512;
/** Choice: the heap, 128 MiB of a page, and the program itself. */
const RSS_MB_MAX = 768;
const MB = 2 ** 20;

const one = (page: PageGiven, column: Partial<ColumnGiven> = {}, rows = page.values): Buffer =>
  parquetBytes([{ ...column, pages: [pageBytes(page)] }], rows);
const text = (bytes: string): number[] => [bytes.length, 0, 0, 0, ...Buffer.from(bytes)];

/** Lengths as differences: a block of 128 values of one width, each value `step` more than the one before. */
function deltas(first: number, step: number, count: number): number[] {
  const blocks = Math.ceil((count - 1) / 128);
  const block = [...zigzagBytes(step), 0, 0, 0, 0];
  const head = [...varintBytes(128), 4, ...varintBytes(count), ...zigzagBytes(first)];
  return [...head, ...Array.from({ length: blocks }, () => block).flat()];
}

function nested(depth: number): ThriftValue {
  return { list: depth === 0 ? [] : [nested(depth - 1)], of: 9, declared: depth === 0 ? 0 : 30_000_000 };
}

const VALUES = 100_000;
const longPrefixes = (): number[] => [
  // The first text has 50,000 bytes, and each further one shares all of them.
  ...varintBytes(128),
  4,
  ...varintBytes(VALUES),
  ...zigzagBytes(0),
  ...zigzagBytes(0),
  16,
  0,
  0,
  0,
  ...delta16(50_000),
  ...Array.from({ length: Math.ceil((VALUES - 129) / 128) }, () => [...zigzagBytes(0), 0, 0, 0, 0]).flat(),
  ...varintBytes(128),
  4,
  ...varintBytes(VALUES),
  ...zigzagBytes(50_000),
  ...zigzagBytes(-50_000),
  16,
  16,
  16,
  16,
  ...delta16(0, 50_000),
  ...Array.from({ length: 3 }, () => delta16(50_000, 50_000)).flat(),
  ...Array.from({ length: Math.ceil((VALUES - 129) / 128) }, () => [...zigzagBytes(0), 0, 0, 0, 0]).flat(),
  ...Buffer.alloc(50_000, 'a'),
];

/** A part of 32 differences of 16 bits: the first ones given, then those that leave the value as it is. */
function delta16(first: number, rest = 0): number[] {
  return Array.from({ length: 32 }, (_none, n) => (n === 0 ? first : rest)).flatMap((value) => [
    value & 0xff,
    value >> 8,
  ]);
}

const FILES: readonly (readonly [string, () => Buffer, RegExp])[] = [
  [
    'a run of a billion values',
    () => one({ values: 10, encoding: 8, body: [1, ...varintBytes(2 ** 31 - 2), 0] }),
    /column "c0" of row group 1 \(page 1\) has a run of 1073741823 values where 10 are left/,
  ],
  [
    'a packed run without bits',
    () => one({ values: 10, body: [6, 0, 0, 0, ...varintBytes(2 ** 31 - 1), 0], encoding: 3 }, { type: 0 }),
    /has a run of 8589934584 values where 10 are left/,
  ],
  [
    'a run of a billion values without bits in a page of version 2',
    () => one({ kind: 'v2', values: 10, encoding: 8, body: [0, ...varintBytes(2 ** 31 - 2)] }),
    /has a run of 1073741823 values where 10 are left/,
  ],
  [
    'runs of whole numbers',
    () => one({ values: 10, encoding: 3, body: [1, 0, 0, 0, ...varintBytes(2 ** 31 - 2), 0] }, { type: 1 }),
    /has the encoding RLE for values of the type INT32/,
  ],
  [
    'levels of a billion nulls',
    () => one({ values: 10, body: [6, 0, 0, 0, ...varintBytes(2 ** 31 - 2), 0, ...text('a')] }, { isOptional: true }),
    /has a run of 1073741823 values where 10 are left/,
  ],
  [
    'prefixes that multiply',
    () => one({ values: VALUES, encoding: 7, body: longPrefixes() }),
    /has values of \d{10} bytes without their common prefixes; at most 134217728 are read/,
  ],
  [
    'a prefix longer than the text before',
    () => one({ values: 2, encoding: 7, body: [...deltas(5, 5, 2), ...deltas(1, 0, 2), 97, 97] }),
    /has a value that shares 5 bytes with one of 0/,
  ],
  [
    'two billion blocks of differences',
    () =>
      one({ values: 10, encoding: 5, body: [...varintBytes(128), ...varintBytes(2 ** 31 - 1), 10, 0, 0] }, { type: 1 }),
    /declares blocks of 128 differences in 2147483647 parts/,
  ],
  [
    'a number of a million digits',
    () => one({ values: 10, encoding: 5, body: [128, 1, 4, 10, ...Array(2 * MB).fill(0x80)] }, { type: 2 }),
    /has a number of more than 64 bits/,
  ],
  [
    'a page header that claims 2 GB',
    () => one({ values: 2, body: text('a'), uncompressed: 2 ** 31 - 1 }),
    /declares a page of 2147483647 bytes; at most 134217728 are read at once/,
  ],
  [
    'a page of 2 GB in a column of some bytes',
    () => one({ values: 2, body: text('a'), compressed: 2 ** 31 - 1 }),
    /declares a page of 2147483647 bytes where 5 are left/,
  ],
  [
    'a Snappy page that expands',
    () => one({ values: 10, body: [0x80, 0x80, 0x80, 0x40, 0], uncompressed: 128 * MB }, { codec: 1 }),
    /has a page of 5 bytes, SNAPPY, that declares 134217728 bytes without compression/,
  ],
  [
    'a gzip page that expands beyond its header',
    () => one({ values: 10, body: zlib.gzipSync(Buffer.alloc(100 * MB)), uncompressed: 1_000 }, { codec: 2 }),
    /GZIP, that declares 1000 bytes without compression and has others/,
  ],
  [
    'a dictionary of huge texts',
    () =>
      parquetBytes(
        [{ pages: [pageBytes({ kind: 'dictionary', values: 1, body: [0, 0, 32, 0, ...Buffer.alloc(2 * MB, 'a')] })] }],
        1,
      ),
    /has a value of 2097152 bytes; at most 1048576 are read/,
  ],
  [
    'a decimal of 100,000 digits',
    () => one({ values: 1, body: [0xa0, 0x86, 1, 0, ...Buffer.alloc(100_000, 1)] }, { converted: 5 }),
    /has a decimal of 100000 bytes; at most 32 are read/,
  ],
  [
    'values of 1 MiB that are split by bytes',
    () => one({ values: 4_000_000, encoding: 9, body: [0] }, { type: 7, typeLength: MB }),
    /declares 4000000 values, which need 4194304000000 bytes; 1 are left/,
  ],
  [
    'many columns of one text',
    () => {
      const values = 4_000_000;
      const pages = [
        pageBytes({ kind: 'dictionary', values: 1, body: text('a') }),
        pageBytes({ values, encoding: 8, body: [0] }),
      ];
      return parquetBytes(
        Array.from({ length: 9 }, () => ({ pages })),
        values,
      );
    },
    /row group 1 needs \d{10} bytes for one page of each column; at most 1073741824 are held/,
  ],
  [
    'a row group of billions of rows',
    () => one({ values: 1, body: text('a') }, {}, 5e9),
    /declares 5000000000 rows; at most 1000000000 are read/,
  ],
  [
    'a description of nested lists',
    () => parquetFile([], thrift({ 1: { i32: 1 }, 2: nested(20) })),
    /declares \d+ elements in a description; at most 8000000 are read/,
  ],
  [
    'a description of 20 million empty structures',
    () => parquetFile([], Buffer.concat([Buffer.from([0x29, 0xfc, ...varintBytes(20e6)]), Buffer.alloc(20e6)])),
    /declares 20000001 elements in a description; at most 8000000 are read/,
  ],
  [
    'a description nested without end',
    () => parquetFile([], Buffer.alloc(MB, 0x1c)),
    /has a description nested deeper than 32/,
  ],
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-hostile-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Reads the file in a process of its own with a small heap. */
const READ = `
const { readHistory } = await import(process.argv[1]);
let refusal = null;
try {
  for await (const one of readHistory(process.argv[2], 'parquet', () => {})) void one;
} catch (error) {
  refusal = error.constructor.name + ': ' + error.message;
}
console.log(JSON.stringify({ refusal, rssMb: process.resourceUsage().maxRSS / 1024 }));
`;

test.each(FILES)(
  'A file with %s is refused, in bounded memory and time',
  (_what, make, reason) => {
    const path = join(folder, 'hostile.parquet');
    writeFileSync(path, make());
    const reader = new URL('../src/replay/history-rows.js', `file://${MAIN}`).href;
    const words = [`--max-old-space-size=${HEAP_MB}`, '--input-type=module', '-e', READ, reader, path];
    const ran = spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 60_000 });
    expect([ran.status, ran.signal, ran.stderr]).toEqual([0, null, '']);
    const { refusal, rssMb } = JSON.parse(ran.stdout) as { readonly refusal: string; readonly rssMb: number };
    expect(refusal).toMatch(reason);
    expect(refusal).toMatch(/^ParquetFault: /);
    expect(rssMb).toBeLessThan(RSS_MB_MAX);
  },
  90_000,
);
