import { expect, test } from 'vitest';
import { pack } from '../../../../src/kernel/pack.ts';
import {
  BYTES_FIELD,
  field,
  packedNumber,
  MAYBE_NUMBER,
  MAYBE_TEXT,
  numberedField,
  packedFields,
  packedText,
} from '../../../../src/state/tables/packed-fields.ts';

interface Row {
  readonly name: string;
  readonly kind: 'a' | 'b';
  readonly note: string | null;
  readonly sealed: Uint8Array;
  readonly endedAtMs: number | null;
  readonly origins: readonly string[];
}

const ROW = packedFields<Row>({
  name: packedText(),
  kind: numberedField(['a', 'b']),
  note: MAYBE_TEXT,
  sealed: BYTES_FIELD,
  endedAtMs: MAYBE_NUMBER,
  origins: field(
    (stored) => (Array.isArray(stored) ? stored.map(String) : []),
    (origins) => (origins.length > 0 ? origins : undefined),
  ),
});
const SEALED = Buffer.from('sealed');
const VALUE: Row = { name: 'n', kind: 'b', note: null, sealed: SEALED, endedAtMs: 5, origins: ['x'] };

test('A row is the packed array of its fields in their order, without further properties of the value', () => {
  const given = { ...VALUE, other: 1 };
  const stored = ROW.encode(given);
  expect(stored).toEqual(pack(['n', 1, null, SEALED, 5, ['x']]));
  expect(ROW.decode(stored)).toEqual(VALUE);
});

test('A last field that is not written shortens the row, and is read from a shorter row', () => {
  const value = { ...VALUE, origins: [] };
  expect(ROW.encode(value)).toEqual(pack(['n', 1, null, SEALED, 5]));
  expect(ROW.decode(pack(['n', 1, null, SEALED]))).toEqual({ ...value, endedAtMs: null });
});

test('Bytes that are missing and an unknown number are errors', () => {
  expect(() => ROW.decode(pack(['n', 1, null]))).toThrow('no bytes');
  expect(() => ROW.decode(pack(['n', 2, null, SEALED]))).toThrow('unknown number');
  expect(packedFields({ size: packedNumber() }).decode(pack([7]))).toEqual({ size: 7 });
});
