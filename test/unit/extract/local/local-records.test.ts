import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LocalRecords } from '../../../../src/extract/local/local-records.ts';
import { hashesOf } from '../../../../src/extract/base/pack-steps.ts';

function found(ids: readonly string[]): Parameters<LocalRecords['keep']>[0] {
  const lines = ids.map((id) => `${JSON.stringify({ id })}\n`);
  return {
    ndjson: Buffer.from(lines.join('')),
    lineBytes: Uint32Array.from(lines, (line) => Buffer.byteLength(line)),
    hashes: hashesOf(ids),
  };
}

function linesOf(ndjson: Uint8Array): string[] {
  return [
    ...Buffer.from(ndjson)
      .toString('utf8')
      .matchAll(/"id":"(.*?)"/g),
  ].map((match) => match[1] ?? '');
}

describe('LocalRecords', () => {
  test('each record is kept once up to the limit, and one more is reported', () => {
    const records = new LocalRecords(3);
    const first = records.keep(found(['a', 'ß', 'a']));
    expect([linesOf(first.ndjson), first.duplicates, first.isOver, records.left]).toEqual([['a', 'ß'], 1, false, 1]);
    const second = records.keep(found(['ß', '漢', 'd', 'a']));
    expect([linesOf(second.ndjson), second.duplicates, second.isOver, records.left]).toEqual([['漢'], 2, true, 0]);
    expect(records.keep(found(['a']))).toMatchObject({ records: 0, isOver: false });
  });

  test('the first record with each id is kept, in order of arrival', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.stringMatching(/^[a-fß漢]{1,2}$/))), fc.nat(20), (parts, max) => {
        const records = new LocalRecords(max);
        const kept = parts.flatMap((ids) => linesOf(records.keep(found(ids)).ndjson));
        expect(kept).toEqual([...new Set(parts.flat())].slice(0, max));
      }),
      { seed: 20_261_121, numRuns: 300 },
    );
  });
});
