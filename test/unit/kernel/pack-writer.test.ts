import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { unpack } from '../../../src/kernel/pack.ts';
import { PackWriter } from '../../../src/kernel/pack-writer.ts';

/** Returns what the values that `write` writes are read back as. */
function written(count: number, write: (writer: PackWriter) => void): readonly unknown[] {
  const writer = new PackWriter(Buffer.alloc(200_000));
  writer.array(count);
  write(writer);
  return [...unpack(writer.bytes.subarray(0, writer.end))];
}

describe('the writer of msgpack', () => {
  test('Bytes that are put at their place are a value, whatever their number, and the next value follows', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 0, max: 600 }), fc.constantFrom(255, 256, 65_535)), (length) => {
        const bytes = Buffer.from(Array.from({ length }, (_none, n) => n & 0xff));
        const [before, value, after] = written(3, (writer) => {
          writer.text('before');
          bytes.copy(writer.bytes, writer.place);
          writer.placed(length);
          writer.text('after');
        });
        expect([before, after]).toEqual(['before', 'after']);
        expect(Buffer.from(value as Uint8Array).equals(bytes)).toBe(true);
      }),
    );
  });

  test('A part of a text is that part, also with characters of several bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', '/', 'é', '漢', '😀'), { maxLength: 60 }), fc.nat(60), (all, from) => {
        const text = all.join('');
        const start = all.slice(0, from).join('').length;
        expect(written(1, (writer) => writer.part(text, start, text.length))).toEqual([text.slice(start)]);
      }),
    );
  });
});
