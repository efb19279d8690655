import { expect, test } from 'vitest';
import { smokeBench } from '../../support/smoke-bench.ts';

test('bench:extract pages turns the whole site into records', async () => {
  const lines = await smokeBench('extract', 'pages');
  expect(lines[0]).toBe('60 pages, 4 requests at a time, 1 rounds');
  expect(lines.filter((line) => /^service +[1-9]\d* +\d+\.\d\d +[1-9]\d* +\d+$/.test(line))).toHaveLength(1);
  expect(lines.at(-2)).toMatch(/^pages\/s, median of 1: [1-9]\d*$/);
});

test('bench:extract records reads all records, in each format', async () => {
  const lines = await smokeBench('extract', 'records');
  for (const format of ['json', 'ndjson', 'csv']) {
    const rows = lines.filter((line) => line.startsWith(`${format}, `));
    expect(rows).toHaveLength(3);
    expect(rows.at(-1)).toMatch(/at the end +[1-9]\d* +\d+\.\d\d +[1-9]\d* +\d+$/);
  }
});
