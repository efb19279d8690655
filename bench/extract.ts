import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helpIfAsked } from '../scripts/usage.ts';
import { runNamed } from './named-benches.ts';
import { benchPages } from './extract/pages.ts';
import { benchRecords } from './extract/records.ts';

/**
 * Measures extraction of the built server on loopback, bounded in time and in the number of pages. `pages`: a crawl whose pages count once
 * they are durable, compared with Crawlee's CheerioCrawler with storage on disk, alternating in one run: machines differ and are noisy, but
 * the ratio is stable. The service runs without location databases and with the smallest velocity table, which only decisions use: they
 * would add 134 MB, and 16 to 252 MB. `records`: the cost of paging through one large job.
 */
helpIfAsked(`
bench:extract [pages] [records] [options]

  --pages N           pages of the site (3,000)
  --rounds N          number of rounds (5)
  --concurrency N     concurrent requests (16)
  --paragraphs N      paragraphs per page, about 400 characters each (8)
  --records N         records of the job that is paged through (1,000,000)
  --node-flags "..."  Node.js flags for the server, for example --cpu-prof
  --alone             without Crawlee
  --crawlee FOLDER    folder that Crawlee is installed in (a subfolder of the system's temporary folder)
  --smoke             small functional test of everything, without Crawlee unless its folder is given`);

const BENCHES = { pages: benchPages, records: benchRecords };

await runNamed(BENCHES, async (chosen, words, folder, children) => {
  const options = {
    pages: words.number('pages', 3_000, 60),
    rounds: words.number('rounds', 5, 1),
    concurrency: words.number('concurrency', 16, 4),
    paragraphs: words.number('paragraphs', 8, 2),
    records: words.number('records', 1_000_000, 2_500),
    isAlone: words.has('alone') || (words.isSmoke && words.text('crawlee') === undefined),
    crawleeFolder: words.text('crawlee') ?? join(tmpdir(), 'gatehouse-bench-crawlee'),
    nodeFlags: words.nodeFlags,
    folder,
  };
  // The server inherits its settings from the environment of the process that starts it.
  process.env['GATEHOUSE_EXTRACT_HOST_GAP_MS'] = '0';
  process.env['GATEHOUSE_EXTRACT_HOST_CONCURRENCY'] = String(options.concurrency);
  for (const run of chosen) await run(options, children);
});
