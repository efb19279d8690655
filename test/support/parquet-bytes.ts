/** Parquet files byte by byte, which may declare anything. Source: the Parquet format, and Thrift's compact protocol. */

/** A field of a structure; null leaves it out. */
export type ThriftValue =
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly bytes: Uint8Array | string }
  | { readonly bool: boolean }
  | { readonly list: readonly ThriftValue[]; readonly of: number; readonly declared?: number }
  | { readonly fields: ThriftFields };
export type ThriftFields = Readonly<Record<number, ThriftValue>>;

const TYPES = { i32: 5, i64: 6, bytes: 8, list: 9, fields: 12 } as const;

export function varintBytes(value: number | bigint): number[] {
  const bytes: number[] = [];
  for (let left = BigInt(value); ; left >>= 7n) {
    const low = Number(left & 0x7fn);
    if (left < 0x80n) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

export function zigzagBytes(value: number): number[] {
  return varintBytes(value < 0 ? -2n * BigInt(value) - 1n : 2n * BigInt(value));
}

function valueBytes(value: ThriftValue): number[] {
  if ('i32' in value) return zigzagBytes(value.i32);
  if ('i64' in value) return zigzagBytes(value.i64);
  if ('bool' in value) return [];
  if ('fields' in value) return thrift(value.fields);
  if ('bytes' in value) {
    const bytes = Buffer.from(value.bytes);
    return [...varintBytes(bytes.length), ...bytes];
  }
  return [0xf0 | value.of, ...varintBytes(value.declared ?? value.list.length), ...value.list.flatMap(valueBytes)];
}

function typeOf(value: ThriftValue): number {
  if ('bool' in value) return value.bool ? 1 : 2;
  const known = Object.entries(TYPES).find(([name]) => name in value);
  return known?.[1] ?? 0;
}

/** A structure; fields have ids with steps of at most 15. */
export function thrift(fields: ThriftFields): number[] {
  const bytes: number[] = [];
  let last = 0;
  for (const [id, value] of Object.entries(fields)) {
    bytes.push(((Number(id) - last) << 4) | typeOf(value), ...valueBytes(value));
    last = Number(id);
  }
  return [...bytes, 0];
}

export interface PageGiven {
  readonly kind?: 'v1' | 'v2' | 'dictionary';
  readonly values: number;
  readonly encoding?: number;
  readonly body: readonly number[] | Uint8Array;
  /** Sizes that the header declares; by default those of the body. */
  readonly uncompressed?: number;
  readonly compressed?: number;
}

export function pageBytes({ kind = 'v1', values, encoding = 0, body, ...sizes }: PageGiven): Buffer {
  const { uncompressed = body.length, compressed = body.length } = sizes;
  const counts = { 1: { i32: values }, 2: { i32: encoding }, 3: { i32: 3 }, 4: { i32: 3 } };
  const header = thrift({
    1: { i32: { v1: 0, dictionary: 2, v2: 3 }[kind] },
    2: { i32: uncompressed },
    3: { i32: compressed },
    ...(kind === 'v1' && { 5: { fields: counts } }),
    ...(kind === 'dictionary' && { 7: { fields: { 1: { i32: values }, 2: { i32: 0 } } } }),
    ...(kind === 'v2' && {
      8: {
        fields: {
          1: { i32: values },
          2: { i32: 0 },
          3: { i32: values },
          4: { i32: encoding },
          5: { i32: 0 },
          6: { i32: 0 },
          7: { bool: false },
        },
      },
    }),
  });
  return Buffer.concat([Buffer.from(header), Buffer.from(body)]);
}

export interface ColumnGiven {
  /** 1 INT32, 2 INT64, 6 BYTE_ARRAY, 7 FIXED_LEN_BYTE_ARRAY. */
  readonly type?: number;
  readonly typeLength?: number;
  /** 0 UTF8, 5 DECIMAL. */
  readonly converted?: number;
  readonly isOptional?: boolean;
  /** 0 none, 1 Snappy, 2 gzip. */
  readonly codec?: number;
  readonly pages: readonly Buffer[];
}

/** A file with one row group, whose columns are named c0, c1 and so on. */
export function parquetBytes(columns: readonly ColumnGiven[], rows: number): Buffer {
  let at = 4;
  const chunks: ThriftValue[] = [];
  for (const [n, { type = 6, codec = 0, pages }] of columns.entries()) {
    const bytes = pages.reduce((sum, page) => sum + page.length, 0);
    const metadata: ThriftFields = {
      1: { i32: type },
      2: { list: [{ i32: 0 }], of: 5 },
      3: { list: [{ bytes: `c${n}` }], of: 8 },
      4: { i32: codec },
      5: { i64: rows },
      6: { i64: bytes },
      7: { i64: bytes },
      9: { i64: at },
    };
    chunks.push({ fields: { 2: { i64: at }, 3: { fields: metadata } } });
    at += bytes;
  }
  const schema: ThriftValue[] = columns.map(({ type = 6, typeLength, converted = 0, isOptional = false }, n) => ({
    fields: {
      1: { i32: type },
      ...(typeLength !== undefined && { 2: { i32: typeLength } }),
      3: { i32: isOptional ? 1 : 0 },
      4: { bytes: `c${n}` },
      ...((type === 6 || converted > 0) && { 6: { i32: converted } }),
    },
  }));
  const root: ThriftValue = { fields: { 4: { bytes: 'root' }, 5: { i32: columns.length } } };
  return parquetFile(
    columns.flatMap(({ pages }) => pages),
    thrift({
      1: { i32: 1 },
      2: { list: [root, ...schema], of: 12 },
      3: { i64: rows },
      4: {
        list: [{ fields: { 1: { list: chunks, of: 12 }, 2: { i64: at - 4 }, 3: { i64: rows } } }],
        of: 12,
      },
    }),
  );
}

export function parquetFile(pages: readonly Uint8Array[], footer: readonly number[] | Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  const magic = Buffer.from('PAR1');
  return Buffer.concat([magic, ...pages, Buffer.from(footer), length, magic]);
}
