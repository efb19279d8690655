import * as zlib from 'node:zlib';
import type { CompressionCodec, Compressors } from 'hyparquet';

/** Node.js has zstd from 22.15. */
interface ZstdModule {
  readonly zstdDecompressSync?: (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Buffer;
}
const { zstdDecompressSync } = zlib as ZstdModule;

/** `bytes` is the size that the page declares. */
type Decompress = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Buffer;

function bounded(decompress: Decompress): (bytes: Uint8Array, outputBytes: number) => Uint8Array {
  return (bytes, outputBytes) =>
    outputBytes === 0 ? new Uint8Array() : decompress(bytes, { maxOutputLength: outputBytes });
}

/** The reader itself has SNAPPY. */
export const PARQUET_COMPRESSORS: Compressors = {
  GZIP: bounded(zlib.gunzipSync),
  BROTLI: bounded(zlib.brotliDecompressSync),
  ...(zstdDecompressSync === undefined ? {} : { ZSTD: bounded(zstdDecompressSync) }),
};

/** Returns the name of a compression that cannot be read and what to do; null if it can. */
export function unreadableCodec(codec: CompressionCodec | undefined): string | null {
  if (codec === 'UNCOMPRESSED' || codec === 'SNAPPY') return null;
  if (codec !== undefined && PARQUET_COMPRESSORS[codec] !== undefined) return null;
  if (codec === 'ZSTD') return 'zstd, which needs Node.js 22.15 or later; or write the file with snappy or gzip';
  return `${codec ?? 'an unknown codec'}; write the file with snappy, gzip or zstd`;
}
