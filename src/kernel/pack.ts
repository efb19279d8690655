import { Packr } from 'msgpackr';

// Choice: arrays instead of msgpackr's records, so that a value can be read without state left by other values.
const packr = new Packr({ useRecords: false });

/** Returns msgpack of an array; the bytes belong to the caller. */
export function pack(value: readonly unknown[]): Buffer {
  return packr.pack(value);
}

/** Returns the array that `pack` wrote; throws on anything else. */
export function unpack(bytes: Uint8Array): readonly unknown[] {
  const value: unknown = packr.unpack(bytes);
  if (!Array.isArray(value)) throw new Error('a packed value has the wrong form');
  return value;
}
