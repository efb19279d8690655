import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { splitCsvLine } from '../../../src/cli/csv-line.ts';
import { readRows, type Row } from '../../../src/cli/registry-rows.ts';

const HASH = 'ab'.repeat(32);

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-csv-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a line of CSV', () => {
  test('A CSV line is split as csv-parse splits it, or refused', () => {
    const characters = fc.constantFrom('"', '"', ',', ' ', 'a', '7', 'ü');
    let split = 0;
    fc.assert(
      fc.property(fc.string({ unit: characters, minLength: 1, maxLength: 24 }), (line) => {
        fc.pre(line.trim() !== '');
        const cells = splitCsvLine(line);
        if (cells === null) return;
        split++;
        expect(cells).toEqual(parse(line, { trim: true, relax_column_count: true })[0]);
      }),
      { numRuns: 1_000 },
    );
    expect(split).toBeGreaterThan(100);
  });

  test.each([
    ['A plain line is split into its cells', 'a, b ,c', ['a', 'b', 'c']],
    ['Quoted cells may contain commas and quotes', '"a, b" , "say ""hi""",', ['a, b', 'say "hi"', '']],
    ['A line with an unclosed quote is refused', 'a,"b,c', null],
    ['A line with a quote inside a cell is refused', 'a,8"0', null],
    ['A line with text after a closing quote is refused', '"a"b,c', null],
  ])('%s', (_name, line, cells) => {
    expect(splitCsvLine(line)).toEqual(cells);
  });
});

describe('an import with unclosed quotes', () => {
  test('An import whose lines have an unclosed quote names each line and takes at most a few times as long as good lines', async () => {
    const lines = 4_000;
    const good = await timed('good.csv', `${HASH},50\n`.repeat(lines));
    const bad = await timed('bad.csv', `"${HASH},50\n`.repeat(lines));
    expect(good.rows.map((row) => row.kind)).toEqual(Array(lines).fill('row'));
    expect(bad.rows.map((row) => `${row.line} ${row.kind}`)).toEqual(
      Array.from({ length: lines }, (_, i) => `${i + 2} fault`),
    );
    expect(bad.rows[0]).toMatchObject({ line: 2, message: 'not CSV: a quote is not closed, or stands inside a cell' });
    // It used to take some 100 times as long.
    expect(bad.ms / good.ms).toBeLessThan(10);
  });
});

async function timed(name: string, text: string): Promise<{ rows: Row[]; ms: number }> {
  const file = join(folder, name);
  writeFileSync(file, `fingerprint_hash,risk_score\n${text}`);
  let best = Number.POSITIVE_INFINITY;
  let rows: Row[] = [];
  for (let round = 0; round < 3; round++) {
    const startedAtMs = performance.now();
    rows = [];
    for await (const row of readRows(file, 'csv', 1, () => {})) rows.push(row);
    best = Math.min(best, performance.now() - startedAtMs);
  }
  return { rows, ms: best };
}
