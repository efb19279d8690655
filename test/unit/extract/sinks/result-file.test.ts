import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { FileReader, type ResultFile } from '../../../../src/extract/sinks/result-file.ts';
import { chunksOf, COLUMNS, fileOf, readerOf } from './support.ts';

async function readAll(file: ResultFile, sizes: readonly number[], bufferBytes: number): Promise<string> {
  const source = new FileReader(file, readerOf(chunksOf(sizes)));
  const read: Buffer[] = [];
  for (;;) {
    const buffer = Buffer.alloc(bufferBytes);
    const filled = await source.fill(buffer);
    read.push(buffer.subarray(0, filled));
    if (filled < bufferBytes) break;
  }
  expect(await source.fill(Buffer.alloc(8))).toBe(0);
  return Buffer.concat(read).toString();
}

interface Row {
  readonly id: string;
  readonly _meta: { readonly seq: number };
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, seq) => `r${seq}`);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, seq) => seq + 1);

test('a result file contains every record once, in order and numbered from 1, for any sizes of chunks and buffers', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(sizes, fc.integer({ min: 1, max: 5_000 }), async (sizes, bufferBytes) => {
      const records = sizes.reduce((sum, size) => sum + size, 0);
      const json = JSON.parse(await readAll(fileOf(records, { format: 'json' }), sizes, bufferBytes)) as readonly Row[];
      const lines = (await readAll(fileOf(records), sizes, bufferBytes)).split('\n').filter((line) => line !== '');
      const ndjson = lines.map((line) => JSON.parse(line) as Row);
      const csv: Row[] = parse(
        await readAll(fileOf(records, { format: 'csv', columns: COLUMNS }), sizes, bufferBytes),
        {
          columns: true,
        },
      );
      expect(json.map(({ id }) => id)).toEqual(ids(records));
      expect(json.map(({ _meta }) => _meta.seq)).toEqual(numbers(records));
      expect(ndjson).toEqual(json);
      expect(csv.map(({ id }) => id)).toEqual(ids(records));
    }),
    { seed: 5, numRuns: 25 },
  );
});

test('reading the file of a job whose records are gone throws', async () => {
  await expect(readAll(fileOf(8), [2, 3], 100_000)).rejects.toThrow('the job has no record 5');
});

test('the amount read at once is limited', async () => {
  const asked: { recordsMax: number; bytesMax: number }[] = [];
  const inner = readerOf(chunksOf([2_500]));
  const source = new FileReader(fileOf(2_500), {
    read(query) {
      asked.push(query);
      return inner.read(query);
    },
  });
  await source.fill(Buffer.alloc(10_000_000));
  expect(asked.length).toBeGreaterThanOrEqual(3);
  expect(asked.every(({ recordsMax, bytesMax }) => recordsMax <= 1_000 && bytesMax <= 262_144)).toBe(true);
});
