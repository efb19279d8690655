import type { FingerprintHash } from '../../kernel/brand.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { Codec } from './typed-table.ts';

/** How one field of a packed row is stored. */
export interface RowField<Value> {
  /** Undefined at the end of a row: the field is left out, as in rows of builds that did not have it. */
  write(value: Value): unknown;
  /** Receives undefined from a row that ends before the field. Throws on a value of a wrong form. */
  read(stored: unknown): Value;
}

export type RowFields<Value> = { readonly [Name in keyof Value]: RowField<Value[Name]> };

/** Values as msgpack of an array with these fields in this order, without a version byte. New fields are added at the end. */
export function packedFields<Value extends object>(fields: RowFields<Value>): Codec<Value> {
  const entries = Object.entries(fields) as (readonly [string, RowField<unknown>])[];
  return {
    encode(value) {
      const row = entries.map(([name, one]) => one.write((value as Record<string, unknown>)[name]));
      while (row.length > 0 && row.at(-1) === undefined) row.pop();
      return pack(row);
    },
    decode(bytes) {
      const row = unpack(bytes);
      const value: Record<string, unknown> = {};
      for (const [at, [name, one]] of entries.entries()) value[name] = one.read(row[at]);
      return value as Value;
    },
  };
}

/** A field that is stored as it is. */
export function field<Value>(
  read: (stored: unknown) => Value,
  write: (value: Value) => unknown = same,
): RowField<Value> {
  return { read, write };
}

function same(value: unknown): unknown {
  return value;
}

export function packedText<Value extends string = string>(): RowField<Value> {
  return field((stored) => String(stored) as Value);
}

export function packedNumber<Value extends number = number>(): RowField<Value> {
  return field((stored) => Number(stored) as Value);
}

export const MAYBE_TEXT = field((stored) => (typeof stored === 'string' ? stored : null));
export const MAYBE_NUMBER = field((stored) => (typeof stored === 'number' ? stored : null));
/** A last field that is left out while it is null, as it is in rows of builds that did not have it. */
export function omittedField<Value>(one: RowField<Value | null>): RowField<Value | null> {
  return field(
    (stored) => one.read(stored),
    (value) => (value === null ? undefined : one.write(value)),
  );
}

export const FLAG_FIELD = field((stored) => stored === true);

export const BYTES_FIELD = field((stored): Uint8Array => {
  if (!(stored instanceof Uint8Array)) throw new Error('a stored row has no bytes where they are expected');
  return stored;
});

export const MAYBE_FINGERPRINT: RowField<FingerprintHash | null> = {
  write: (hash) => (hash === null ? null : Buffer.from(hash, 'hex')),
  read: (stored) => (stored instanceof Uint8Array ? (Buffer.from(stored).toString('hex') as FingerprintHash) : null),
};

/** One of a list, stored as its number in it. */
export function numberedField<Value>(list: readonly Value[]): RowField<Value> {
  return {
    write: (value) => list.indexOf(value),
    read(stored) {
      const value = list[Number(stored)];
      if (value === undefined) throw new Error('a stored row has an unknown number');
      return value;
    },
  };
}
