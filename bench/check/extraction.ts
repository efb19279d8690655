import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caller, seed } from '../extract/service.ts';
import { Children, lineOf } from '../webhooks/children.ts';
import type { Cost } from './closed-loop.ts';
import { ProcessorClock } from './processor-time.ts';
import { type Effort, type Form, type Measured, type Probe, USUAL_TOLERANCE } from './stage.ts';
import { pairSlices, type Slice } from './statistics.ts';

/** Compares the processor time per page of a stored crawl with that of a process that only fetches and parses the same pages. */

interface Plan {
  readonly rounds: number;
  readonly slices: number;
  readonly pages: number;
  readonly warmUpCrawls: number;
}

const PLANS: Readonly<Record<Form, Plan>> = {
  smoke: { rounds: 1, slices: 1, pages: 20, warmUpCrawls: 0 },
  quick: { rounds: 3, slices: 10, pages: 150, warmUpCrawls: 10 },
  full: { rounds: 4, slices: 20, pages: 150, warmUpCrawls: 10 },
};
const CONCURRENCY = 16;
const PARAGRAPHS = 8;

export const extraction: Probe = {
  stages: [
    {
      id: 'extraction',
      title: 'extraction',
      unit: 'page',
      reference: 'undici and htmlparser2',
      judged: 'processor time',
      lookAt: 'src/extract, workers/extract.ts, src/egress, src/state (extractions)',
      tolerance: USUAL_TOLERANCE,
    },
  ],
  async measure(_wanted: ReadonlySet<string>, { form, times }: Effort): Promise<readonly Measured[]> {
    const plan = PLANS[form];
    const rounds: Round[] = [];
    for (let n = 0; n < plan.rounds * times; n++) rounds.push(await runRound(plan));
    return [
      { stage: 'extraction', rounds: rounds.map(({ processor }) => processor), wall: rounds.map(({ wall }) => wall) },
    ];
  },
};

interface Round {
  readonly processor: readonly Slice[];
  readonly wall: readonly Slice[];
}

async function runRound(plan: Plan): Promise<Round> {
  const { pages, slices, warmUpCrawls } = plan;
  const children = new Children();
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-check-'));
  try {
    const site = children.spawn('../extract/site.js', String(pages), String(PARAGRAPHS));
    const origin = `http://127.0.0.1:${await lineOf(site, () => true)}`;
    const reference = children.spawn('../check/extraction-reference.js', origin, String(pages), String(CONCURRENCY));
    const { secretKey } = await seed(folder);
    const server = await children.serve(folder, [], {
      GATEHOUSE_VELOCITY_MB: '16',
      GATEHOUSE_GEOIP_PACKAGES: '0',
      GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
      GATEHOUSE_EXTRACT_HOST_CONCURRENCY: String(CONCURRENCY),
    });
    const caller = new Caller(server.port, secretKey);
    const crawlOurs = (): Promise<Cost> => costOf(server.child, pages, () => crawl(caller, `${origin}/site/`, pages));
    const crawlReference = (): Promise<Cost> =>
      costOf(reference, pages, async () => {
        const done = once(reference, 'message');
        reference.send('crawl');
        await done;
      });
    for (let n = 0; n < warmUpCrawls; n++) {
      await crawlReference();
      await crawlOurs();
    }
    const references = [await crawlReference()];
    const ours: Cost[] = [];
    for (let n = 0; n < slices; n++) {
      ours.push(await crawlOurs());
      references.push(await crawlReference());
    }
    const slicesOf = (of: (cost: Cost) => number): readonly Slice[] => pairSlices(ours.map(of), references.map(of));
    return { processor: slicesOf(({ processorUs }) => processorUs), wall: slicesOf(({ wallUs }) => wallUs) };
  } finally {
    await children.endAll();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function crawl(caller: Caller, url: string, pages: number): Promise<void> {
  const { id } = await caller.create({
    connector: 'generic',
    operation: 'site.pages',
    input: { url, max_depth: 20 },
    collect: { mode: 'all' },
  });
  const { counts } = await caller.succeeded(id);
  if (counts.collected !== pages) throw new Error(`the job has ${counts.collected} of ${pages} pages`);
}

async function costOf(child: ChildProcess, pages: number, work: () => Promise<void>): Promise<Cost> {
  const clock = new ProcessorClock(child.pid);
  const fromUs = clock.readUs();
  const fromMs = performance.now();
  await work();
  const wallUs = ((performance.now() - fromMs) * 1_000) / pages;
  return { processorUs: (clock.readUs() - fromUs) / pages, wallUs };
}
