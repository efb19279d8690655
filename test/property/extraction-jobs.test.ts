import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EXTRACTION_STATUSES, type Collect } from '../../src/work/extraction-job.ts';
import type { NewExtraction } from '../../src/extract/base/jobs-port.ts';
import type { StoreWrite } from '../../src/state/tables/durable.ts';
import type { ExtractStore } from '../../src/state/tables/extract-store.ts';
import type { Job } from '../../src/state/tables/extractions/job-row.ts';
import type { AppliedResult } from '../../src/state/tables/extraction-table.ts';
import { newStoredJob } from '../support/extraction-jobs.ts';
import { type Answer, SchedulerBench } from '../support/extraction-scheduler.ts';
import { tempStore, value } from '../unit/state/support.ts';
import { timesInFull } from '../support/long.ts';

/** A site: the records and links of each page. Page 0 is the first. */
interface Site {
  readonly pages: readonly {
    readonly ids: readonly number[];
    readonly links: readonly number[];
    readonly fails: boolean;
  }[];
}

const SITE: fc.Arbitrary<Site> = fc
  .array(
    fc.record({
      ids: fc.array(fc.nat(40), { maxLength: 8 }),
      links: fc.array(fc.nat(14), { maxLength: 5 }),
      fails: fc.boolean(),
      isLarge: fc.nat(9).map((dice) => dice === 0),
    }),
    { minLength: 1, maxLength: 15 },
  )
  .map((pages) => ({
    pages: pages.map(({ ids, links, fails, isLarge }, i) => ({
      // A large page is written in several commits.
      ids: isLarge ? ids.flatMap((id) => Array.from({ length: 100 }, (_, n) => 1_000 * id + n)) : ids,
      links,
      fails: fails && i % 3 === 2,
    })),
  }));

const COLLECT: fc.Arbitrary<Collect> = fc.oneof(
  fc.constant({ mode: 'all' } as const),
  fc.integer({ min: 1, max: 30 }).map((limit) => ({ mode: 'limit', limit }) as const),
);

/** Events, one after the other: the worker answers one of its steps, it dies, or the process ends before or after a commit. */
const EVENT = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('answer' as const), which: fc.nat(100), with: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('worker_dies' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('crash' as const), committed: fc.boolean(), which: fc.nat(100) }),
  },
);

function answerOf({ pages }: Site, key: string): Answer {
  const page = pages[Number(key)];
  if (page === undefined) return { failure: { reason: 'source_not_found', retryable: false, detail: 'no such page' } };
  if (page.fails) return { failure: { reason: 'source_unavailable', retryable: true, detail: 'down' } };
  return { ids: page.ids.map(String), next: page.links.map(String) };
}

/** Returns the ids of all reachable records. */
function reachable({ pages }: Site): Set<string> {
  const seen = new Set<number>([0]);
  const ids = new Set<string>();
  for (const number of seen) {
    const page = pages[number];
    if (page === undefined || page.fails) continue;
    for (const id of page.ids) ids.add(String(id));
    for (const link of page.links) seen.add(link);
  }
  return ids;
}

/** A process that can end and start again on the same store. */
class Process {
  bench: SchedulerBench;
  readonly #store: ExtractStore;
  readonly #apply: ExtractStore['extractions']['apply'];
  /** Whether the process ends before the next commit, which then does not happen, or after it. */
  ending: 'before' | 'after' | null = null;
  readonly statuses: number[] = [];

  constructor(store: ExtractStore, job: Job) {
    this.#store = store;
    this.#apply = store.extractions.apply.bind(store.extractions);
    this.bench = this.#begin(job);
  }

  restart(job: Job): void {
    this.ending = null;
    this.bench = this.#begin(job);
  }

  #begin(job: Job): SchedulerBench {
    this.#store.extractions.apply = async (results, nowMs) => {
      const never = new Promise<StoreWrite<readonly AppliedResult[]>>(() => {});
      if (this.ending === 'before') return never;
      const written = await this.#apply(results, nowMs);
      const status = this.#store.extractions.stateOf(job.number)?.status ?? 'queued';
      this.statuses.push(EXTRACTION_STATUSES.indexOf(status));
      return this.ending === 'after' ? never : written;
    };
    const bench = new SchedulerBench(this.#store);
    bench.scheduler.resume();
    bench.scheduler.workerReady();
    return bench;
  }
}

async function play(
  site: Site,
  collect: Collect,
  events: readonly (typeof EVENT extends fc.Arbitrary<infer T> ? T : never)[],
): Promise<{ store: ExtractStore; job: Job; statuses: readonly number[] }> {
  const { extract: store } = tempStore();
  if (store === null) throw new Error('no store');
  const steps: NewExtraction['steps'] = [{ key: '0', state: {} }];
  const created = await value(store.extractions.create(newStoredJob({ collect, steps }), 1_000));
  if (created.kind !== 'created') throw new Error(created.kind);
  const { job } = created.stored;
  const process = new Process(store, job);
  await process.bench.settle();
  const hasEnded = (): boolean => ['succeeded', 'failed'].includes(store.extractions.stateOf(job.number)?.status ?? '');
  const rest = { kind: 'answer', which: 0, with: 0 } as const;
  for (let i = 0; !hasEnded() && i < 400; i++) {
    const event = events[i] ?? rest;
    const { bench } = process;
    const { scheduler, leased } = bench;
    if (event.kind === 'worker_dies') {
      leased.splice(0);
      scheduler.workerEnded();
      scheduler.workerReady();
      await bench.settle();
      continue;
    }
    // Several responses may share a commit.
    const count = event.kind === 'answer' ? event.with + 1 : 1;
    if (event.kind === 'crash') process.ending = event.committed ? 'after' : 'before';
    const answers = Array.from({ length: Math.min(count, leased.length) }, () => {
      const chosen = leased[event.which % leased.length];
      if (chosen === undefined) throw new Error('nothing is leased');
      const taken = bench.take(chosen.key);
      return bench.answer(taken, answerOf(site, taken.key));
    });
    if (event.kind === 'crash') {
      await bench.settle();
      process.restart(job);
      await process.bench.settle();
    } else await Promise.all(answers);
  }
  return { store, job, statuses: process.statuses };
}

function idsOf(store: ExtractStore, job: Job): { readonly ids: string[]; readonly seqs: number[] } {
  const ids: string[] = [];
  const seqs: number[] = [];
  for (const { firstSeq, records, bytes } of store.records.from(job.number, 0)) {
    const lines = Buffer.from(bytes).toString('utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(records);
    for (const [i, line] of lines.entries()) {
      ids.push((JSON.parse(line) as { id: string }).id);
      seqs.push(firstSeq + i);
    }
  }
  return { ids, seqs };
}

describe('a job, whatever ends between its commits', () => {
  test('A job collects every record once, respects its limit exactly, numbers records without gaps and never moves back, whatever ends between its commits', async () => {
    await fc.assert(
      fc.asyncProperty(SITE, COLLECT, fc.array(EVENT, { maxLength: 40 }), async (site, collect, events) => {
        const { store, job, statuses } = await play(site, collect, events);
        const state = store.extractions.stateOf(job.number);
        const all = reachable(site);
        const { ids, seqs } = idsOf(store, job);
        expect(new Set(ids).size).toBe(ids.length);
        expect(seqs).toEqual(seqs.map((_, i) => i));
        expect(state?.collected).toBe(ids.length);
        for (const id of ids) expect(all.has(id)).toBe(true);
        for (const [i, status] of statuses.entries()) expect(status).toBeGreaterThanOrEqual(statuses[i - 1] ?? 0);
        if (state?.status === 'succeeded')
          expect(ids.length).toBe(collect.mode === 'limit' ? Math.min(collect.limit, all.size) : all.size);
        // A chain fails at a page that fails; a crawl without any record fails with the reason of the first page that failed.
        else
          expect(state).toMatchObject({
            status: 'failed',
            failure: { reason: expect.stringMatching(/^(source_|internal)/) },
          });
      }),
      { seed: 20_260_321, numRuns: timesInFull(40) },
    );
  }, 60_000);
});
