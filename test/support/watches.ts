import { newId } from '../../src/kernel/ids.ts';
import type { ExtractionControl } from '../../src/extract/base/jobs-port.ts';
import { encodeFirst } from '../../src/extract/base/first-answer.ts';
import { CONNECTORS } from '../../src/extract/connectors/connector-table.ts';
import type { WatchRunnerParts } from '../../src/extract/watch/watch-parts.ts';
import { WatchRunner } from '../../src/extract/watch/watch-runner.ts';
import type { Store } from '../../src/state/feed/open-store.ts';
import type { Extraction, ExtractionId } from '../../src/work/extraction-job.ts';
import { NO_RUNS, type Watch, type WatchChange, type WatchId } from '../../src/work/watch.ts';
import { firstDue } from '../../src/work/watch-schedule.ts';
import { customer, value } from '../unit/state/support.ts';
import { freeSlices } from './slices.ts';

/** A store with one watch, and jobs that end at once with the records of the moment. */

export const MINUTE_MS = 60_000;
export const WATCH_FROM_MS = Date.UTC(2026, 10, 23, 12);
const OWNER = customer(1);

export interface WatchedRecord {
  readonly id: number;
  readonly price: number;
}

export interface WatchBench {
  readonly runner: () => WatchRunner;
  readonly id: WatchId;
  /** Keys of the jobs that were made. */
  readonly jobs: Map<string, string>;
  /** The records of each job. */
  readonly made: Map<string, readonly object[]>;
  records: readonly object[];
  /** The rows of the records are damaged. */
  isUnreadable: boolean;
  nowMs: number;
  job: Partial<Extraction>;
  watch(): Watch;
  changes(): readonly (WatchChange & { readonly seq: number })[];
}

export async function watchBench(
  store: Store,
  settings: Partial<Watch> = {},
  parts: Partial<WatchRunnerParts> = {},
): Promise<WatchBench> {
  const schedule = settings.schedule ?? { kind: 'every', seconds: 300 };
  const dueAtMs = firstDue(schedule, WATCH_FROM_MS);
  const watch: Watch = {
    id: newId('wat', WATCH_FROM_MS) as WatchId,
    customer: OWNER,
    name: null,
    extraction: { connector: 'generic', operation: 'page.article', input: { url: 'https://shop.example/' } },
    schedule,
    key: ['id'],
    compare: ['price'],
    emit: ['new', 'changed', 'gone'],
    isPaused: false,
    createdAtMs: WATCH_FROM_MS,
    updatedAtMs: WATCH_FROM_MS,
    anchorMs: dueAtMs,
    dueAtMs,
    ...NO_RUNS,
    tokenHash: null,
    ...settings,
  };
  await value(store.changes.commit({ kind: 'watch.created', watch }, { by: 'cli', nowMs: WATCH_FROM_MS }));
  const bench: WatchBench = {
    id: watch.id,
    jobs: new Map(),
    made: new Map(),
    records: [],
    isUnreadable: false,
    nowMs: WATCH_FROM_MS,
    job: {},
    watch: () => store.watches.find(OWNER, watch.id) as Watch,
    changes: () => store.watches.changes(bench.watch(), { fromSeq: 0, limit: 10_000 }),
    runner: () =>
      new WatchRunner({
        watches: store.watches,
        changes: store.changes,
        control: jobsOf(bench),
        request: { connectors: CONNECTORS, checkTarget: () => null },
        node: '',
        isAlive: () => false,
        isSuspended: () => false,
        resetRead: () => store.resetRead(),
        newSlices: freeSlices,
        nowMs: () => bench.nowMs,
        log: { warn() {}, error() {} },
        ...parts,
      }),
  };
  return bench;
}

/** Jobs by their idempotency keys; each has succeeded with the present records of the bench. */
function jobsOf(bench: WatchBench): WatchRunnerParts['control'] {
  const { made } = bench;
  const page: ExtractionControl['records'] = (_customer, id, { fromSeq, recordsMax }) => {
    if (bench.isUnreadable) return { chunks: [], nextSeq: fromSeq };
    const all = made.get(id) ?? [];
    const end = Math.min(all.length, fromSeq + Math.min(recordsMax, 30));
    const bytes = Buffer.from(
      all
        .slice(fromSeq, end)
        .map((record) => `${JSON.stringify(record)}\n`)
        .join(''),
    );
    const chunk = { firstSeq: fromSeq, records: end - fromSeq, bytes };
    return { chunks: end === fromSeq ? [] : [chunk], nextSeq: end < all.length ? end : null };
  };
  const jobOf = (id: string): Extraction =>
    ({
      id: id as ExtractionId,
      customer: OWNER,
      status: 'succeeded',
      counts: { collected: made.get(id)?.length ?? 0, target: 0, pages: 1, errors: 0, duplicates: 0 },
      failure: null,
      notes: [],
      delivery: { kind: 'store', waitSeconds: null },
      ...bench.job,
    }) as unknown as Extraction;
  return {
    create({ idempotency }) {
      const key = idempotency?.key ?? '';
      const known = bench.jobs.get(key);
      if (known !== undefined) return Promise.resolve({ kind: 'replay', answer: encodeFirst(jobOf(known), null) });
      const id = newId('ext', bench.nowMs);
      bench.jobs.set(key, id);
      made.set(id, bench.records);
      return Promise.resolve({ kind: 'created', job: jobOf(id) });
    },
    find: (_customer, id) => jobOf(id),
    measureRecords(owner, id, query) {
      const { chunks, nextSeq } = page(owner, id, query);
      return Promise.resolve({ records: chunks[0]?.records ?? 0, chunkBytesMax: 0, nextSeq });
    },
    async *streamRecords(owner, id, query) {
      yield* page(owner, id, query).chunks;
    },
  };
}

/** 100 records; then 3 changed, 2 new and 1 missing; the same again. */
export function versionsOfShop(): readonly (readonly WatchedRecord[])[] {
  const first = Array.from({ length: 100 }, (_none, n) => ({ id: n + 1, price: 10 }));
  const second = [
    ...first.filter(({ id }) => id !== 50).map((one) => (id3.has(one.id) ? { ...one, price: 11 } : one)),
    { id: 101, price: 10 },
    { id: 102, price: 10 },
  ];
  return [first, second, second];
}

const id3 = new Set([10, 20, 30]);

/** Kind and key of the six changes, in order. */
export const SIX_CHANGES = ['changed 10', 'changed 20', 'changed 30', 'new 101', 'new 102', 'gone 50'];
