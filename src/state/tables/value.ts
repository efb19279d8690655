import { crc32 } from 'node:zlib';

/** Bytes of the check sum at the end of every value. */
export const SUM_BYTES = 4;

/** Returns the value as it is stored: its bytes, then the CRC-32 of key and value. */
export function withSum(key: Uint8Array, value: Uint8Array): Buffer {
  const stored = Buffer.allocUnsafe(value.length + SUM_BYTES);
  stored.set(value);
  stored.writeUInt32BE(crc32(value, crc32(key)), value.length);
  return stored;
}

/** Writes the check sum into the last bytes of a value that has room for it. */
export function addSum(key: Uint8Array, stored: Buffer): Buffer {
  const end = stored.length - SUM_BYTES;
  stored.writeUInt32BE(crc32(stored.subarray(0, end), crc32(key)), end);
  return stored;
}

/** Returns the value without its check sum, which is not verified. */
export function withoutSum<Bytes extends Uint8Array>(stored: Bytes): Bytes {
  return stored.subarray(0, stored.length - SUM_BYTES) as Bytes;
}

/** Returns whether the check sum matches; the integrity check calls it for every row that its time allows. */
export function sumFits(key: Uint8Array, stored: Uint8Array): boolean {
  if (stored.length < SUM_BYTES) return false;
  const end = stored.length - SUM_BYTES;
  const sum = Buffer.from(stored.buffer, stored.byteOffset + end, SUM_BYTES).readUInt32BE(0);
  return crc32(stored.subarray(0, end), crc32(key)) === sum;
}

export function u32Key(value: number): Buffer {
  const key = Buffer.allocUnsafe(4);
  key.writeUInt32BE(value);
  return key;
}
