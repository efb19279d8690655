import * as zlib from 'node:zlib';
import type { CompressionCodec } from 'hyparquet';
import { snappyUncompress } from 'hyparquet/src/snappy.js';
import { ParquetFault } from './parquet-fault.ts';

/** Node.js has zstd from 22.15. */
interface ZstdModule {
  readonly zstdDecompressSync?: (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Buffer;
}
const { zstdDecompressSync } = zlib as ZstdModule;

/** `bytes` is the size that the page declares. */
type Decompress = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Buffer;

type Decompressor = (bytes: Uint8Array, outputBytes: number) => Uint8Array;

function bounded(decompress: Decompress): Decompressor {
  return (bytes, outputBytes) =>
    outputBytes === 0 ? new Uint8Array() : decompress(bytes, { maxOutputLength: outputBytes });
}

/** Three bytes of Snappy stand for up to 64. */
const SNAPPY_GROWTH_MAX = 64 / 3;

function snappy(bytes: Uint8Array, outputBytes: number): Uint8Array {
  if (outputBytes === 0) return new Uint8Array();
  if (outputBytes > bytes.length * SNAPPY_GROWTH_MAX) throw new Error('Snappy cannot expand so much');
  const output = new Uint8Array(outputBytes);
  snappyUncompress(bytes, output);
  return output;
}

const DECOMPRESSORS: Readonly<Partial<Record<CompressionCodec, Decompressor>>> = {
  UNCOMPRESSED: (bytes) => bytes,
  SNAPPY: snappy,
  GZIP: bounded(zlib.gunzipSync),
  BROTLI: bounded(zlib.brotliDecompressSync),
  ...(zstdDecompressSync === undefined ? {} : { ZSTD: bounded(zstdDecompressSync) }),
};

/** Returns the bytes of a page, which must be as many as it declares. Throws `ParquetFault`. */
export function decompressed(codec: CompressionCodec, bytes: Uint8Array, declared: number): Uint8Array {
  const claim = `has a page of ${bytes.length} bytes, ${codec}, that declares ${declared} bytes without compression`;
  let page: Uint8Array;
  try {
    page = (DECOMPRESSORS[codec] ?? unknown)(bytes, declared);
  } catch (error) {
    throw new ParquetFault(`${claim} and has others (${error instanceof Error ? error.message : String(error)})`);
  }
  if (page.length !== declared) throw new ParquetFault(`${claim} and has ${page.length}`);
  return page;
}

function unknown(): never {
  throw new Error('an unknown compression');
}

/** Returns the name of a compression that cannot be read and what to do; null if it can. */
export function unreadableCodec(codec: CompressionCodec | undefined): string | null {
  if (codec !== undefined && DECOMPRESSORS[codec] !== undefined) return null;
  if (codec === 'ZSTD') return 'zstd, which needs Node.js 22.15 or later; or write the file with snappy or gzip';
  return `${codec ?? 'an unknown codec'}; write the file with snappy, gzip or zstd`;
}
