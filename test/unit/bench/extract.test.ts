import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { smokeBench } from '../../support/smoke-bench.ts';

/** Stands in for Crawlee: fetches one page and reports the whole site. */
const STUB = `
export const log = { setLevel() {} };
export class Configuration {}
export class CheerioCrawler {
  async run([url]) {
    await fetch(url);
    return { requestsFinished: 60 };
  }
}
`;

test('bench:extract pages starts the crawler that it compares with, and prints both', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-crawlee-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const place = join(folder, 'node_modules', '@crawlee', 'cheerio');
  await mkdir(place, { recursive: true });
  await writeFile(join(place, 'package.json'), '{"name":"@crawlee/cheerio","version":"0.0.0","type":"module"}');
  await writeFile(join(place, 'index.mjs'), STUB);
  const lines = await smokeBench('extract', 'pages', '--crawlee', folder);
  expect(lines.filter((line) => /^crawlee, on disk +[1-9]\d* /.test(line))).toHaveLength(1);
  expect(lines.filter((line) => /^service, no marks +[1-9]\d* +\d+\.\d\d /.test(line))).toHaveLength(1);
  expect(lines.at(-1)).toMatch(/^service \/ crawlee, median of 1 rounds: pages\/s \d/);
});
