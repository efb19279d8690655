import { expect, test } from 'vitest';
import { pack, unpack } from '../../../src/kernel/pack.ts';

const VALUE = ['an id of some length', 1_764_000_000_123, null, true, ['äöü €', 'x'.repeat(300)], 0.25];

test.each([
  ['ordinary', (bytes: number) => new ArrayBuffer(bytes)],
  ['shared', (bytes: number) => new SharedArrayBuffer(bytes)],
])('A value is read from %s memory, from the middle of a buffer', (_kind, allocate) => {
  const bytes = pack(VALUE);
  const view = Buffer.from(allocate(bytes.length + 64), 32, bytes.length);
  bytes.copy(view);
  expect(unpack(view)).toEqual(VALUE);
});

test('Bytes that are not an array are refused', () => {
  expect(() => unpack(Buffer.from([0x01]))).toThrow('wrong form');
  expect(() => unpack(pack(VALUE).subarray(0, 9))).toThrow();
});
