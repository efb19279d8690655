import { expect, test } from 'vitest';
import { smokeBench } from '../../support/smoke-bench.ts';

test('bench:webhooks isolation delivers every event of a healthy endpoint, at both servers in each phase', async () => {
  const lines = await smokeBench('webhooks', 'isolation');
  const rows = lines.filter((line) => /^(all respond|\d+ of \d+ hang) /.test(line));
  expect(rows).toHaveLength(6);
  for (const row of rows) expect(row).toMatch(/ 180 +0$/);
  expect(lines.at(-1)).toMatch(/^p99 of healthy endpoints, median of 2 phases: -?\d+ % /);
});

test('bench:webhooks throughput delivers the whole backlog', async () => {
  const lines = await smokeBench('webhooks', 'throughput');
  expect(lines.at(-5)).toMatch(/^round 1 +\d+ +\d+ +\d+\.\d{3} +\d+\.\d{3}$/);
  const costs = String.raw`, µs: server [\d.]+ \(main thread [\d.]+\), bare sender [\d.]+, undici alone [\d.]+$`;
  expect(lines.at(-4)).toMatch(new RegExp(`^processor time per delivery, in all${costs}`));
  expect(lines.at(-3)).toMatch(new RegExp(`^processor time per delivery, after the first fifth${costs}`));
  expect(lines.at(-2)).toMatch(/^receiver: [\d.]+ µs$/);
  expect(lines.at(-1)).toMatch(
    /^ratio service \/ bare sender, median of 1: \d+\.\d{3} .*; after the first fifth \d+\.\d{3}$/,
  );
});

test('bench:webhooks decide has no refused request, with and without deliveries', async () => {
  const lines = await smokeBench('webhooks', 'decide');
  const rows = lines.filter((line) => /^(no webhooks|delivering) /.test(line));
  const [steady, fast] = [rows.slice(0, 4), rows.slice(4)];
  for (const row of steady) expect(row).toMatch(/ +\d+\.\d\d +\d+\.\d\d$/);
  expect(fast).toHaveLength(2);
  for (const row of fast) expect(row).toMatch(/ 0$/);
  // The phase without webhooks delivers nothing, the other one something.
  const delivered = fast.map((row) => Number(row.replace(/^(no webhooks|delivering) +/, '').split(/ +/)[2]));
  expect([delivered[0], (delivered[1] ?? 0) > 0]).toEqual([0, true]);
  expect(lines.at(-2)).toMatch(/^processor time per delivery, µs: server -?\d+, receiver -?\d+$/);
});

test('bench:webhooks down goes on deciding and prints the pending deliveries', async () => {
  const lines = await smokeBench('webhooks', 'down');
  const rows = lines.filter((line) => /^all down, slice \d/.test(line));
  expect(rows).toHaveLength(2);
  for (const row of rows) expect(row).toMatch(/ [1-9]\d* +\d+ +10$/);
});
