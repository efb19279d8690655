import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Collect } from '../../../../src/work/extraction-job.ts';
import type { EgressOutcome } from '../../../../src/egress/egress-outcome.ts';
import {
  SourceFailure,
  type Connector,
  type JsonObject,
  type Source,
  type Step,
  type StepResult,
} from '../../../../src/extract/base/connector.ts';
import { BodyCache } from '../../../../src/extract/fetch/body-cache.ts';
import { RobotsCache } from '../../../../src/extract/fetch/robots-cache.ts';
import { runLocal, type LocalEnd } from '../../../../src/extract/local/run-local.ts';
import { parseOutput } from '../../../../src/extract/shape/output-options.ts';

/** What a step of the test's source finds, by the step's key. */
type Pages = Readonly<Record<string, Page | Error>>;
interface Page {
  readonly ids?: readonly string[];
  readonly next?: readonly string[];
  readonly total?: number;
  readonly pauseSeconds?: number;
  readonly brokenOff?: StepResult['brokenOff'];
  /** Whether it fetches a page of its source, which is counted. */
  readonly fetches?: boolean;
  /** Duration of reading, ms. */
  readonly ms?: number;
}

interface Ran {
  readonly end: LocalEnd;
  readonly ids: readonly string[];
  readonly seqs: readonly number[];
  /** Keys in the order in which they started, and when. */
  readonly begun: readonly (readonly [key: string, atMs: number])[];
  readonly atOnceMax: number;
}

interface RunOptions {
  readonly collect?: Collect;
  readonly concurrency?: number;
  readonly recordsMax?: number;
  readonly first?: readonly string[];
  readonly signal?: AbortSignal;
  readonly write?: (ids: readonly string[]) => Promise<void>;
}

const ALL: Collect = { mode: 'all' };
const CANCELLED = { reason: 'cancelled', retryable: false };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function stepOf(key: string): Step {
  return { key, state: { key } };
}

/** Runs a job over pages that need no network, on the virtual clock. */
async function run(pages: Pages, options: RunOptions = {}): Promise<Ran> {
  const begun: (readonly [string, number])[] = [];
  const startedMs = Date.now();
  let now = 0;
  let atOnceMax = 0;
  const connector = connectorOf(async (key, source) => {
    begun.push([key, Date.now() - startedMs]);
    atOnceMax = Math.max(atOnceMax, ++now);
    const page = pages[key] ?? {};
    if (!(page instanceof Error)) await new Promise((done) => setTimeout(done, page.ms ?? 10));
    if (!(page instanceof Error) && page.fetches === true) await source.json('https://x.example/');
    now--;
    if (page instanceof Error) throw page;
    const { ids = [], next = [], total = null, pauseSeconds, brokenOff } = page;
    return {
      records: ids.map((id) => ({ id, sourceUrl: 'https://x.example/', fields: { id } })),
      next: next.map(stepOf),
      total,
      ...(pauseSeconds !== undefined && { pauseSeconds }),
      ...(brokenOff !== undefined && { brokenOff }),
    };
  });
  const ids: string[] = [];
  const seqs: number[] = [];
  const output = parseOutput({});
  if (output.kind === 'faults') throw new Error('no output');
  const ran = runLocal(
    {
      connector: 'test',
      operation: 'test.items',
      output: output.output,
      collect: options.collect ?? { mode: 'limit', limit: 100 },
      steps: (options.first ?? ['a']).map(stepOf),
    },
    {
      connectors: [connector],
      bases: {},
      fetch: {
        client: { request: () => Promise.resolve(EMPTY_ANSWER) },
        robots: new RobotsCache(),
        bodies: new BodyCache(),
        clock: { nowMs: () => Date.now(), wait: () => Promise.resolve() },
        random: () => 0.5,
        userAgent: 'Gatehouse/1',
      },
      polite: { gapMs: 0, concurrency: options.concurrency ?? 1 },
      bounds: { recordsMax: options.recordsMax ?? 1_000_000, durationMsMax: 3_600_000 },
      signal: options.signal ?? new AbortController().signal,
      after(ms, then) {
        const timer = setTimeout(then, ms);
        return () => clearTimeout(timer);
      },
      monotonicMs: () => performance.now(),
      async write(ndjson, firstSeq) {
        const lines = Buffer.from(ndjson).toString('utf8').trimEnd().split('\n');
        const found = lines.map((line) => (JSON.parse(line) as { readonly id: string }).id);
        ids.push(...found);
        seqs.push(...found.map((_, i) => firstSeq + i));
        await options.write?.(found);
      },
      onProgress: () => {},
    },
  );
  ran.catch(() => {});
  await vi.runAllTimersAsync();
  return { end: await ran, ids, seqs, begun, atOnceMax };
}

const EMPTY_ANSWER: EgressOutcome = {
  kind: 'response',
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{}'),
  durationMs: 1,
  reused: false,
  remoteAddress: '203.0.113.1',
};

function connectorOf(read: (key: string, source: Source) => Promise<StepResult>): Connector {
  const record = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
  return {
    id: 'test',
    title: 'Test',
    description: '',
    docsUrl: 'https://x.example/',
    terms: { termsUrl: null, attribution: null, ratePolicy: '' },
    operations: [
      {
        name: 'test.items',
        description: '',
        input: { type: 'object' },
        record,
        example: { input: {}, record: { id: 'x' } },
        tier: 'basic',
        paging: '',
        start: () => ({ kind: 'steps', steps: [] }),
        run: (state: JsonObject, source) => read(state['key'] as string, source),
      },
    ],
  };
}

const range = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => `r${from + i}`);

describe('runLocal', () => {
  test('a step is repeated after the pause that its source asks for, up to three times', async () => {
    const later = new SourceFailure('rate_limited_by_source', 'later', true, 120_000);
    const pages: Record<string, Page | Error> = { a: { ids: ['1'], next: ['b', 'c'] }, b: later, c: { ids: ['2'] } };
    const { end, begun } = await run(pages, { collect: ALL });
    const minutes = begun.filter(([key]) => key === 'b').map(([, atMs]) => Math.round(atMs / 60_000));
    expect(minutes).toEqual([0, 2, 4, 6]);
    expect(end.state).toMatchObject({ status: 'succeeded', collected: 2, errors: 1 });
    expect(end.entries.map(({ detail }) => detail)).toContain('later');
  });

  test('a chain of pages is followed to its end, and its records are numbered from 1', async () => {
    const { end, ids, seqs } = await run({
      a: { ids: range(3), next: ['b'], total: 5 },
      b: { ids: range(2, 3) },
    });
    expect(end.state).toMatchObject({ status: 'succeeded', collected: 5, announced: 5, failure: null });
    expect(ids).toEqual(range(5));
    expect(seqs).toEqual([1, 2, 3, 4, 5]);
  });

  test.each([1, 2, 3, 7, 8])('a job stops exactly at the limit of %i, and starts no step after it', async (limit) => {
    const pages = Object.fromEntries(range(20).map((key, i) => [key, { ids: range(3, 3 * i), next: range(20) }]));
    const { end, ids, begun } = await run(pages, { first: ['r0'], collect: { mode: 'limit', limit } });
    expect(end.state).toMatchObject({ status: 'succeeded', collected: limit });
    expect(ids).toEqual(range(limit));
    expect(begun).toHaveLength(Math.ceil(limit / 3));
  });

  test('each step and each record is taken once, and duplicates are counted', async () => {
    const { end, ids, begun } = await run(
      { a: { ids: ['x'], next: ['b', 'a', 'b'] }, b: { ids: ['x', 'y', 'y'], next: ['a', 'b'] } },
      { collect: ALL },
    );
    expect(begun.map(([key]) => key)).toEqual(['a', 'b']);
    expect(ids).toEqual(['x', 'y']);
    expect(end.state.duplicates).toBe(2);
  });

  test('steps run concurrently up to the limit, in the order in which they were found', async () => {
    const first = range(10);
    const { begun, atOnceMax } = await run({}, { first, collect: ALL, concurrency: 3 });
    expect(atOnceMax).toBe(3);
    expect(begun.map(([key]) => key)).toEqual(first);
  });

  test('no more steps run at once than records are wanted', async () => {
    const pages = Object.fromEntries(range(10).map((key) => [key, { ids: [key] }]));
    const { begun, atOnceMax } = await run(pages, {
      first: range(10),
      concurrency: 8,
      collect: { mode: 'limit', limit: 2 },
    });
    expect([atOnceMax, begun.length]).toEqual([2, 2]);
  });

  test('the source is left alone for as long as it asks', async () => {
    const { begun } = await run({ a: { ids: ['x'], next: ['b'], pauseSeconds: 30 } });
    expect(begun).toEqual([
      ['a', 0],
      ['b', 30_010],
    ]);
  });
});

describe('failures of steps', () => {
  const gone = new SourceFailure('source_not_found', 'nothing at b', false);

  test('a failure ends a chain of pages, with the records so far and the reason', async () => {
    const { end, ids } = await run({ a: { ids: ['x'], next: ['b'] }, b: gone });
    expect(end.state).toMatchObject({ status: 'failed', collected: 1, failure: { reason: 'source_not_found' } });
    expect(end.detail).toBe('nothing at b');
    expect(ids).toEqual(['x']);
  });

  test('a failure is one error of a crawl, which continues', async () => {
    const { end, ids } = await run({ a: { next: ['b', 'c'] }, b: gone, c: { ids: ['x'] } }, { collect: ALL });
    expect(end.state).toMatchObject({ status: 'succeeded', collected: 1, errors: 1 });
    expect(end.entries).toEqual([
      expect.objectContaining({ step: 'b', reason: 'source_not_found', detail: 'nothing at b' }),
    ]);
    expect(ids).toEqual(['x']);
  });

  test('a crawl that finds nothing fails with the first reason', async () => {
    const refused = new SourceFailure('access_denied', 'no', false);
    const { end } = await run({ a: { next: ['b', 'c'] }, b: gone, c: refused }, { collect: ALL });
    expect(end.state).toMatchObject({ status: 'failed', failure: { reason: 'source_not_found' } });
    expect(end.detail).toBe('nothing at b');
  });

  test('a job with a limit keeps its records if its only list is truncated, and has a note', async () => {
    const brokenOff = { reason: 'parse_failed', detail: 'breaks off' } as const;
    const pages = { a: { ids: ['x', 'y'], brokenOff } };
    const limited = await run(pages);
    const noted = { collected: 2, errors: 1, notes: ['list_incomplete'] };
    expect(limited.end.state).toMatchObject({ status: 'succeeded', ...noted });
    const { end } = await run(pages, { collect: ALL });
    expect(end).toMatchObject({
      state: { status: 'failed', failure: { reason: 'parse_failed' }, ...noted },
      detail: 'breaks off',
    });
  });

  test('a job with a limit ends after 10 pages per record, at least 200, and has a note', async () => {
    const first = range(250);
    const pages = Object.fromEntries(first.map((key, i) => [key, { ids: i === 7 ? ['x'] : [], fetches: true }]));
    const { end, begun } = await run(pages, { first, collect: { mode: 'limit', limit: 2 } });
    expect(end.state).toMatchObject({ status: 'succeeded', collected: 1, pages: 200, notes: ['page_limit_reached'] });
    expect(begun).toHaveLength(200);
    const all = await run(pages, { first, collect: ALL });
    expect(all.end.state).toMatchObject({ status: 'succeeded', pages: 250, notes: [] });
  });

  test('an exception in a connector is an internal error and does not end the process', async () => {
    const { end } = await run({ a: new TypeError('x is not a function') });
    expect(end.state.failure?.reason).toBe('internal_error');
    expect(end.detail).toMatch(/^TypeError: x is not a function\n +at /);
  });

  test('a failed write of records ends the job with that error', async () => {
    const full = new Error('no space');
    await expect(run({ a: { ids: ['x'], next: ['b'] } }, { write: () => Promise.reject(full) })).rejects.toBe(full);
  });
});

describe('limits of a job', () => {
  test('a job that collects everything ends with limit_reached, and keeps what fits', async () => {
    const { end, ids } = await run({ a: { ids: ['x', 'y', 'z'] } }, { collect: ALL, recordsMax: 2 });
    expect(end.state).toMatchObject({
      status: 'failed',
      collected: 2,
      failure: { reason: 'limit_reached', retryable: false },
    });
    expect([end.detail, ids]).toEqual(['there are more than 2 records', ['x', 'y']]);
  });

  test('a job that takes too long ends as it does in the service', async () => {
    const startedMs = Date.now();
    const { end } = await run({ a: { ids: ['x'], next: ['b'], pauseSeconds: 3_600 } });
    expect(end.state).toMatchObject({ collected: 1, failure: { reason: 'limit_reached', retryable: false } });
    expect((end.state.finishedAtMs ?? 0) - startedMs).toBe(3_600_000);
  });
});

describe('cancellation', () => {
  test('a cancellation ends the job at once as cancelled, whatever it waits for, and keeps the records so far', async () => {
    const controller = new AbortController();
    const startedMs = Date.now();
    setTimeout(() => controller.abort(), 25);
    const { end, ids } = await run(
      { a: { ids: ['x'], next: ['b'] }, b: { ids: ['y'], ms: 60_000 } },
      { signal: controller.signal },
    );
    expect(end.state).toMatchObject({ status: 'failed', collected: 1, failure: CANCELLED });
    expect((end.state.finishedAtMs ?? 0) - startedMs).toBe(25);
    expect(ids).toEqual(['x']);
  });

  test('a cancellation also ends a pause', async () => {
    const controller = new AbortController();
    const startedMs = Date.now();
    setTimeout(() => controller.abort(), 1_000);
    const { end } = await run({ a: { next: ['b'], pauseSeconds: 3_600 } }, { signal: controller.signal });
    expect((end.state.finishedAtMs ?? 0) - startedMs).toBe(1_000);
  });

  test('a cancellation before the first step starts none', async () => {
    const { end, begun } = await run({}, { signal: AbortSignal.abort() });
    expect([end.state.failure?.reason, begun.length]).toEqual(['cancelled', 0]);
  });
});
