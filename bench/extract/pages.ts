import { join } from 'node:path';
import { type Children, lineOf } from '../webhooks/children.ts';
import { median, print } from '../webhooks/report.ts';
import { findCrawlee, runCrawlee } from './crawlee.ts';
import type { BenchOptions } from './options.ts';
import { Caller, seed } from './service.ts';
import { forgetPeak, usageOf } from './usage.ts';

interface Run {
  readonly pagesPerSecond: number;
  readonly cpuMsPerPage: number;
  readonly peakMb: number;
  /** Part of `peakMb` that is mapped pages of the store. */
  readonly storeMb: number;
}

/** Settings of a machine that only extracts: the smallest velocity store, no location databases. */
const EXTRACTION_ALONE = { GATEHOUSE_VELOCITY_MB: '16', GATEHOUSE_GEOIP_PACKAGES: '0' };

/** Measures pages per second of a crawl whose requests and records are on disk, and what it uses, for the service and for Crawlee. */
export async function benchPages(options: BenchOptions, children: Children): Promise<void> {
  const { pages, rounds, concurrency, folder } = options;
  const crawlee = options.isAlone ? null : await findCrawlee(options.crawleeFolder);
  const url = await startSite(children, options, 'marked');
  const unmarkedUrl = await startSite(children, options, 'unmarked');
  const dataDir = join(folder, 'pages');
  const { secretKey } = await seed(dataDir);
  const server = await children.serve(dataDir, options.nodeFlags, EXTRACTION_ALONE);
  const caller = new Caller(server.port, secretKey);
  console.log(`${pages} pages, ${concurrency} requests at a time, ${rounds} rounds`);
  print('', 'pages/s', 'CPU ms/page', 'peak MB', 'store MB');
  const rest = usageOf(server.child.pid);
  print('service, idle', '', '', rest.residentMb.toFixed(0), rest.storeMb.toFixed(0));
  const ours: Run[] = [];
  const theirs: Run[] = [];
  for (let round = 0; round < rounds; round++) {
    ours.push(await crawl(caller, server.child.pid, url, pages));
    row('service', ours.at(-1));
    // Without `<main>` and `<article>`, the text of a page has to be found.
    row('service, no marks', await crawl(caller, server.child.pid, unmarkedUrl, pages));
    if (crawlee === null) continue;
    const run = await runCrawlee(children, crawlee, join(folder, `crawlee-${round}`), { url, concurrency });
    if (run.pages !== pages) throw new Error(`Crawlee crawled ${run.pages} of ${pages} pages`);
    theirs.push({
      pagesPerSecond: (pages * 1_000) / run.ms,
      cpuMsPerPage: run.usage.cpuMs / pages,
      peakMb: run.usage.peakMb,
      storeMb: run.usage.storeMb,
    });
    row('crawlee, on disk', theirs.at(-1));
  }
  console.log(`pages/s, median of ${rounds}: ${median(ours.map((run) => run.pagesPerSecond)).toFixed(0)}`);
  const ownMb = Math.max(...ours.map(({ peakMb, storeMb }) => peakMb - storeMb));
  console.log(`the service's peak memory without pages of the store: ${ownMb.toFixed(0)} MB (target: under 280 MB)`);
  if (theirs.length === 0) return;
  // Compares per round: a temporary slow-down of the machine affects both.
  const ratio = (of: (run: Run) => number): string =>
    median(ours.flatMap((run, at) => (theirs[at] === undefined ? [] : [of(run) / of(theirs[at])]))).toFixed(2);
  const [speed, cpu, peak] = [
    ratio((run) => run.pagesPerSecond),
    ratio((run) => run.cpuMsPerPage),
    ratio((run) => run.peakMb),
  ];
  console.log(`service / crawlee, median of ${rounds} rounds: pages/s ${speed}, CPU ${cpu}, peak ${peak}`);
}

/** Resolves to the URL of the site's first page. */
async function startSite(
  children: Children,
  { pages, paragraphs }: BenchOptions,
  marks: 'marked' | 'unmarked',
): Promise<string> {
  const site = children.spawn(new URL('./site.js', import.meta.url), String(pages), String(paragraphs), marks);
  return `http://127.0.0.1:${Number(await lineOf(site, () => true))}/site/`;
}

async function crawl(caller: Caller, pid: number | undefined, url: string, pages: number): Promise<Run> {
  forgetPeak(pid);
  const before = usageOf(pid);
  const sinceMs = performance.now();
  const { id } = await caller.create({
    connector: 'generic',
    operation: 'site.pages',
    input: { url, max_depth: 20 },
    collect: { mode: 'all' },
  });
  const { counts } = await caller.succeeded(id);
  const ms = performance.now() - sinceMs;
  if (counts.collected !== pages) throw new Error(`the job has ${counts.collected} of ${pages} pages`);
  const after = usageOf(pid);
  return {
    pagesPerSecond: (pages * 1_000) / ms,
    cpuMsPerPage: (after.cpuMs - before.cpuMs) / pages,
    peakMb: after.peakMb,
    storeMb: after.storeMb,
  };
}

function row(name: string, run: Run | undefined): void {
  if (run === undefined) return;
  print(
    name,
    run.pagesPerSecond.toFixed(0),
    run.cpuMsPerPage.toFixed(2),
    run.peakMb.toFixed(0),
    run.storeMb.toFixed(0),
  );
}
