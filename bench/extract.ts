import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helpIfAsked } from '../scripts/usage.ts';
import { benchPages } from './extract/pages.ts';
import { benchRecords } from './extract/records.ts';
import { Children } from './webhooks/children.ts';

/**
 * Extraction of the built server, on loopback, bounded in time and count.
 * pages: a crawl whose pages are durable when they count, beside Crawlee's CheerioCrawler with its storage on the disk, in turn and in
 * the same run: machines differ and are noisy, the ratio holds. The service runs without location databases and with the smallest
 * table of velocity, which it only decides by: they would add 134 MB, and 16 to 252. records: what paging through one large job costs.
 */
helpIfAsked(`
bench:extract [pages] [records] [options]

  --pages N           of the site (3,000)
  --rounds N          (5)
  --concurrency N     (16)
  --paragraphs N      of a page, each of some 400 characters (8)
  --records N         of the job that is paged through (1,000,000)
  --node-flags "..."  for the server, for example --cpu-prof
  --alone             without Crawlee
  --crawlee FOLDER    where it is, or is installed (a folder of the system's temporary one)
  --smoke             little of everything and without Crawlee, to see that it works`);

const BENCHES = { pages: benchPages, records: benchRecords };

const smoke = process.argv.includes('--smoke');
const number = (name: string, usual: number, least: number): number => Number(option(name) ?? (smoke ? least : usual));
const chosen = Object.entries(BENCHES).filter(([name]) => process.argv.includes(name));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const children = new Children();

try {
  const options = {
    pages: number('pages', 3_000, 60),
    rounds: number('rounds', 5, 1),
    concurrency: number('concurrency', 16, 4),
    paragraphs: number('paragraphs', 8, 2),
    records: number('records', 1_000_000, 2_500),
    isAlone: smoke || process.argv.includes('--alone'),
    crawleeFolder: option('crawlee') ?? join(tmpdir(), 'gatehouse-bench-crawlee'),
    nodeFlags: (option('node-flags') ?? '').split(' ').filter(Boolean),
    folder,
  };
  // The server takes its settings from the environment of whoever starts it.
  process.env['GATEHOUSE_EXTRACT_HOST_GAP_MS'] = '0';
  process.env['GATEHOUSE_EXTRACT_HOST_CONCURRENCY'] = String(options.concurrency);
  for (const [, run] of chosen.length > 0 ? chosen : Object.entries(BENCHES)) await run(options, children);
} finally {
  await children.endAll();
  rmSync(folder, { recursive: true, force: true });
}

function option(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}
