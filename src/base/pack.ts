import { Packr } from 'msgpackr';

// Choice: arrays instead of msgpackr's records, so that a value can be read without state that other values left behind.
const packr = new Packr({ useRecords: false });

/** msgpack of an array; the bytes are the caller's own. */
export function pack(value: readonly unknown[]): Buffer {
  return packr.pack(value);
}

/** The array that `pack` wrote; anything else throws. */
export function unpack(bytes: Uint8Array): readonly unknown[] {
  const value: unknown = packr.unpack(bytes);
  if (!Array.isArray(value)) throw new Error('a packed value has the wrong form');
  return value;
}
