import { crc32 } from 'node:zlib';

/** Bytes of the check sum that ends every value. */
export const SUM_BYTES = 4;

/** The value as it is stored: its bytes, then the CRC-32 of key and value. */
export function withSum(key: Uint8Array, value: Uint8Array): Buffer {
  const stored = Buffer.allocUnsafe(value.length + SUM_BYTES);
  stored.set(value);
  stored.writeUInt32BE(crc32(value, crc32(key)), value.length);
  return stored;
}

/** For a value that was made with room for its sum: writes the sum into its last bytes. */
export function addSum(key: Uint8Array, stored: Buffer): Buffer {
  const end = stored.length - SUM_BYTES;
  stored.writeUInt32BE(crc32(stored.subarray(0, end), crc32(key)), end);
  return stored;
}

/** The value without its check sum; the sum is not compared. */
export function withoutSum(stored: Uint8Array): Uint8Array {
  return stored.subarray(0, stored.length - SUM_BYTES);
}

/** Whether the check sum fits; the probe asks for every row that it has the time for. */
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
