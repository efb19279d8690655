import { randomBytes } from 'node:crypto';
import { crc32, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decompress } from '../../../../src/extract/fetch/decompress.ts';
import { gunzipped } from '../../../../src/extract/fetch/gunzip.ts';

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

/** Returns the text, or the code of the failure. */
async function read(bytes: Buffer, size: number): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of gunzipped(inPieces(bytes, size))) chunks.push(chunk);
    return Buffer.concat(chunks).toString('latin1');
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
}

const TEXT = 'The ferry leaves the eastern pier at nine. '.repeat(4);
const FILE = gzipSync(TEXT);

/** A file whose header has every optional field. */
function withFullHeader(text: string): Buffer {
  const plain = gzipSync(text);
  const header = Buffer.from([...plain.subarray(0, 3), 2 | 4 | 8 | 16, ...plain.subarray(4, 10)]);
  const fields = Buffer.concat([header, Buffer.from([3, 0]), Buffer.from('abc'), Buffer.from('name\0comment\0')]);
  const sum = Buffer.alloc(2);
  sum.writeUInt16LE(crc32(fields) & 0xffff);
  return Buffer.concat([fields, sum, plain.subarray(10)]);
}

describe('gunzipped', () => {
  test.each([1, 2, 7, 10_000])('a file is read up to each of its bytes in pieces of %i', async (size) => {
    for (let end = 0; end < FILE.length; end++) {
      const isComplete = end >= FILE.length - 8;
      expect([end, await read(FILE.subarray(0, end), size)]).toEqual([end, isComplete ? TEXT : 'Z_BUF_ERROR']);
    }
  });

  test.each([1, 10_000])('several files are read as one, with headers of any kind, in pieces of %i', async (size) => {
    const files = Buffer.concat([withFullHeader('a'), gzipSync(''), gzipSync('b'), withFullHeader('c')]);
    expect(await read(files, size)).toBe('abc');
    expect(await read(files.subarray(0, -8), size)).toBe('abc');
    expect(await read(files.subarray(0, -9), size)).toBe('Z_BUF_ERROR');
    expect(await read(Buffer.concat([files, FILE.subarray(0, 11)]), size)).toBe('Z_BUF_ERROR');
  });

  test.each(['\n', '\0\0', 'PK\x03\x04', '\x1f'])(
    'what follows a file and is not another one is ignored: %j',
    async (rest) => {
      for (const size of [1, FILE.length, 10_000])
        expect(await read(Buffer.concat([FILE, Buffer.from(rest, 'latin1')]), size)).toBe(TEXT);
    },
  );

  test('a trailer of other data, and bytes that are not gzip, are an error', async () => {
    for (const at of [-8, -1]) {
      const changed = Buffer.from(FILE);
      changed[changed.length + at] = (changed.at(at) ?? 0) ^ 1;
      expect(await read(changed, 10_000)).toBe('Z_DATA_ERROR');
    }
    expect(await read(Buffer.from('no gzip at all'), 10_000)).toBe('Z_DATA_ERROR');
    expect(await read(Buffer.concat([FILE.subarray(0, 3), Buffer.alloc(200_000, 0xff)]), 10_000)).toBe('Z_DATA_ERROR');
  });

  test('any data are the same in any pieces', async () => {
    const bytes = Buffer.concat([randomBytes(50_000), Buffer.alloc(300_000, 'a'), randomBytes(20_000)]);
    const file = gzipSync(bytes);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1_000, max: 100_000 }), fc.boolean(), async (size, hasTrailer) => {
        const text = await read(hasTrailer ? file : file.subarray(0, -8), size);
        expect(text === bytes.toString('latin1')).toBe(true);
      }),
      { numRuns: 20 },
    );
  });
});

describe('decompress', () => {
  test('a gzip body without its trailer is read, and one that is cut in its data is an error', async () => {
    expect(await decompress(FILE.subarray(0, -8), 'gzip', 10_000)).toEqual({ kind: 'ok', body: Buffer.from(TEXT) });
    expect(await decompress(FILE.subarray(0, -9), 'gzip', 10_000)).toMatchObject({ kind: 'broken' });
    expect(await decompress(gzipSync(Buffer.alloc(2 ** 24)).subarray(0, -8), 'gzip', 10 ** 8)).toEqual({
      kind: 'too_large',
    });
  });
});
