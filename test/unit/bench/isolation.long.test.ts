import { expect, test } from 'vitest';
import { smokeBench } from '../../support/smoke-bench.ts';

test('bench:isolation calls each endpoint with its largest call and prints its longest turn of the event loop', async () => {
  const rows = (await smokeBench('isolation', 'blocks')).slice(2);
  expect(rows.length).toBeGreaterThan(25);
  for (const row of rows) expect(row).toMatch(/ +\d+\.\d\d +\d+\.\d +(?:20[0124]|40[13]|422) +\d+$/);
}, 120_000);
