import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helpIfAsked } from '../scripts/usage.ts';
import { runNamed } from './named-benches.ts';
import { benchPages } from './extract/pages.ts';
import { benchRecords } from './extract/records.ts';

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

await runNamed(BENCHES, async (chosen, words, folder, children) => {
  const options = {
    pages: words.number('pages', 3_000, 60),
    rounds: words.number('rounds', 5, 1),
    concurrency: words.number('concurrency', 16, 4),
    paragraphs: words.number('paragraphs', 8, 2),
    records: words.number('records', 1_000_000, 2_500),
    isAlone: words.isSmoke || words.has('alone'),
    crawleeFolder: words.text('crawlee') ?? join(tmpdir(), 'gatehouse-bench-crawlee'),
    nodeFlags: words.nodeFlags,
    folder,
  };
  // The server takes its settings from the environment of whoever starts it.
  process.env['GATEHOUSE_EXTRACT_HOST_GAP_MS'] = '0';
  process.env['GATEHOUSE_EXTRACT_HOST_CONCURRENCY'] = String(options.concurrency);
  for (const run of chosen) await run(options, children);
});
