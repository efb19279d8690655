import { describe, expect, onTestFinished, test } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import { newId } from '../../../../src/kernel/ids.ts';
import type { ExtractionId } from '../../../../src/work/extraction-job.ts';
import { createExtractStore, type ExtractStore } from '../../../../src/state/tables/extract-store.ts';
import type { StoredJob } from '../../../../src/state/tables/extractions/job-rows.ts';
import { newStoredJob, result, STORED, SYNC } from '../../../support/extraction-jobs.ts';
import type { NewExtraction } from '../../../../src/extract/base/jobs-port.ts';
import { customer, open, tempFolder, tempStore, value } from '../support.ts';
import { freeSlices } from '../../../support/slices.ts';

function pageOf(
  store: ExtractStore,
  of: CustomerNumber,
  query: Partial<Parameters<ExtractStore['extractions']['page']>[1]>,
): ReturnType<ExtractStore['extractions']['page']> {
  const all = { after: null, limit: 10, status: null, connector: null, operation: null };
  return store.extractions.page(of, { ...all, ...query }, freeSlices());
}

const SEALING = Buffer.alloc(32, 7);
const DAY_MS = 86_400_000;

function extract(): ExtractStore {
  const { extract } = tempStore();
  if (extract === null) throw new Error('the store was opened to be read');
  return extract;
}

async function made(store: ExtractStore, overrides: Partial<NewExtraction> = {}, nowMs = 1_000): Promise<StoredJob> {
  const created = await value(store.extractions.create(newStoredJob(overrides, nowMs), nowMs));
  if (created.kind !== 'created') throw new Error(created.kind);
  return created.stored;
}

/** Returns a running job. */
async function running(
  store: ExtractStore,
  overrides: Partial<NewExtraction> = {},
  nowMs = 1_000,
): Promise<StoredJob['job']> {
  const { job } = await made(store, overrides, nowMs);
  await value(store.extractions.begin([job.number], 2_000));
  return job;
}

async function apply(
  store: ExtractStore,
  ...results: Parameters<ExtractStore['extractions']['apply']>[0]
): Promise<string[]> {
  const applied = await value(store.extractions.apply(results, 3_000));
  return applied.map(({ isTaken, isEnd, state }) => (isTaken ? (isEnd ? String(state?.status) : 'taken') : 'dropped'));
}

function lines(store: ExtractStore, job: StoredJob['job']): string[] {
  return [...store.records.from(job.number, 0)].flatMap(({ bytes }) =>
    Buffer.from(bytes)
      .toString('utf8')
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id),
  );
}

function state(store: ExtractStore, { number }: StoredJob['job']): StoredJob['state'] {
  const found = store.extractions.stateOf(number);
  if (found === null) throw new Error('no such job');
  return found;
}

describe('a stored job', () => {
  test('A new job is found at once by its customer only, queued and with its steps', async () => {
    const store = extract();
    const { job } = await made(store, { steps: ['a', 'b', 'a'].map((key) => ({ key, state: {} })) });
    const found = store.extractions.find(job.customer, job.id);
    expect(found?.job).toEqual(job);
    expect(found?.state).toMatchObject({ status: 'queued', tier: 'basic', openSteps: 2, collected: 0 });
    expect(store.steps.from(job.number, 0, 10).map(({ step, key }) => [step, key])).toEqual([
      [0, 'a'],
      [1, 'b'],
    ]);
    expect(store.extractions.find(customer(2), job.id)).toBeNull();
    expect(store.extractions.find(job.customer, 'ext_1' as ExtractionId)).toBeNull();
  });

  test('A job runs, collects records in order, and succeeds when no step is left', async () => {
    const store = extract();
    const job = await running(store);
    expect(await apply(store, result(job, 0, { ids: ['1', '2'], next: ['second'], outcome: { total: 3 } }))).toEqual([
      'taken',
    ]);
    expect(state(store, job)).toMatchObject({ status: 'running', collected: 2, announced: 3, openSteps: 1 });
    expect(await apply(store, result(job, 1, { ids: ['3'], outcome: { tier: 'standard' } }))).toEqual(['succeeded']);
    expect(lines(store, job)).toEqual(['1', '2', '3']);
    const { counts, usage, failure, finishedAtMs, expiresAtMs } =
      (await pageOf(store, job.customer, { limit: 1, status: 'succeeded' })).rows[0] ?? {};
    expect(counts).toEqual({ collected: 3, target: 3, pages: 2, errors: 0, duplicates: 0 });
    expect(usage).toEqual({ credits: 2, tier: 'standard' });
    expect([failure, finishedAtMs, expiresAtMs]).toEqual([null, 3_000, 3_000 + 7 * DAY_MS]);
  });

  test('A job collects exactly its limit and drops later records', async () => {
    const store = extract();
    const job = await running(store, {
      collect: { mode: 'limit', limit: 3 },
      steps: ['a', 'b'].map((key) => ({ key, state: {} })),
    });
    const outcomes = await apply(
      store,
      result(job, 0, { ids: ['1', '2'] }),
      result(job, 1, { ids: ['2', '3', '4'], next: ['c'] }),
      result(job, 1, { ids: ['5'] }),
    );
    expect(outcomes).toEqual(['taken', 'succeeded', 'dropped']);
    expect(lines(store, job)).toEqual(['1', '2', '3']);
    expect(state(store, job)).toMatchObject({ collected: 3, duplicates: 1, pages: 2, credits: 2 });
  });

  test('A result of a step is applied only once', async () => {
    const store = extract();
    const job = await running(store);
    await apply(store, result(job, 0, { ids: ['1'], next: ['a', 'b'] }));
    expect(await apply(store, result(job, 0, { ids: ['9'] }), result(job, 7, { ids: ['8'] }))).toEqual([
      'dropped',
      'dropped',
    ]);
    expect(lines(store, job)).toEqual(['1']);
  });

  test('A step is never added to a job twice', async () => {
    const store = extract();
    const job = await running(store, { steps: [{ key: 'a', state: {} }] });
    await apply(store, result(job, 0, { next: ['b', 'a', 'b', 'c'] }));
    expect(store.steps.from(job.number, 0, 10).map(({ key }) => key)).toEqual(['b', 'c']);
    expect(await apply(store, result(job, 1, { next: ['a', 'b', 'c'] }), result(job, 2, { ids: ['1'] }))).toEqual([
      'taken',
      'succeeded',
    ]);
  });

  test('A job is consistent after any part of a result, even if the process ends in between', async () => {
    const store = extract();
    const job = await running(store);
    await apply(store, result(job, 0, { ids: ['1', '2'], isLast: false }));
    expect(state(store, job)).toMatchObject({ status: 'running', collected: 2, pages: 0, openSteps: 1 });
    // The step is repeated from its beginning.
    expect(await apply(store, result(job, 0, { ids: ['1', '2', '3'] }))).toEqual(['succeeded']);
    expect(lines(store, job)).toEqual(['1', '2', '3']);
    expect(state(store, job).pages).toBe(1);
  });
});

describe('a failing step', () => {
  const failing = {
    failure: { reason: 'source_unavailable', retryable: true },
    pages: 0,
    credits: 0,
    errors: 1,
  } as const;

  test('A failing step fails a job with sequential steps, which keeps its records', async () => {
    const store = extract();
    const job = await running(store);
    await apply(store, result(job, 0, { ids: ['1'], next: ['second'] }));
    expect(await apply(store, result(job, 1, { outcome: failing }))).toEqual(['failed']);
    expect(state(store, job)).toMatchObject({ failure: failing.failure, collected: 1, errors: 1, credits: 1 });
    expect(lines(store, job)).toEqual(['1']);
  });

  test('A failing step is an error of a crawl, which continues and succeeds', async () => {
    const store = extract();
    const job = await running(store);
    await apply(store, result(job, 0, { next: ['a', 'b'] }), result(job, 1, { outcome: failing }));
    expect(await apply(store, result(job, 2, { ids: ['1'] }))).toEqual(['succeeded']);
    expect(state(store, job)).toMatchObject({ errors: 1, collected: 1, failure: null });
  });

  test('A crawl without records fails with the reason of the first failure', async () => {
    const store = extract();
    const job = await running(store);
    const other = { ...failing, failure: { reason: 'source_not_found', retryable: false } } as const;
    const outcomes = await apply(
      store,
      result(job, 0, { next: ['a', 'b'] }),
      result(job, 1, { outcome: failing }),
      result(job, 2, { outcome: other }),
    );
    expect(outcomes).toEqual(['taken', 'taken', 'failed']);
    expect(state(store, job).failure).toEqual(failing.failure);
  });

  test.each(['session_expired', 'schema_mismatch'] as const)(
    'A step that fails with %s fails a crawl at once',
    async (reason) => {
      const store = extract();
      const job = await running(store);
      await apply(store, result(job, 0, { ids: ['1'], next: ['a', 'b'] }));
      expect(
        await apply(store, result(job, 1, { outcome: { ...failing, failure: { reason, retryable: false } } })),
      ).toEqual(['failed']);
    },
  );

  test('The details of failures are stored under the request id, limited to the first and last entries', async () => {
    const store = extract();
    const job = await running(store, { steps: Array.from({ length: 100 }, (_, i) => ({ key: `p${i}`, state: {} })) });
    for (let i = 0; i < 100; i++) {
      const entries = [
        { atMs: i, reason: 'source_unavailable' as const, step: `p${i}${'x'.repeat(500)}`, detail: 'd'.repeat(5_000) },
      ];
      await apply(store, result(job, i, { outcome: { ...failing, entries } }));
    }
    const detail = store.failures.find(job.requestId);
    expect(detail).toMatchObject({ jobId: job.id, customer: job.customer, count: 100 });
    expect(detail?.entries.map(({ atMs }) => atMs)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 96, 97, 98, 99]);
    expect(JSON.stringify(detail).length).toBeLessThan(8_192);
    expect(store.failures.find(newId('req', 5))).toBeNull();
  });
});

describe('a job that collects all records', () => {
  test('A running job that collects all reports the larger of announced and collected as its target', async () => {
    const store = extract();
    const job = await running(store, { collect: { mode: 'all' } });
    const target = async (): Promise<number | undefined> =>
      (await pageOf(store, job.customer, { limit: 1 })).rows[0]?.counts.target;
    expect(await target()).toBe(0);
    await apply(store, result(job, 0, { ids: ['1'], next: ['b'], outcome: { total: 10 } }));
    expect(await target()).toBe(10);
    await apply(store, result(job, 1, { ids: ['2'], next: ['c'], outcome: { total: 1 } }));
    expect(await target()).toBe(10);
    await apply(store, result(job, 2, {}));
    expect(await target()).toBe(2);
  });

  test('A synchronous job that collects all fails with more than 1,000 records and costs nothing', async () => {
    const store = extract();
    const ids = (from: number, count: number): string[] => Array.from({ length: count }, (_, i) => String(from + i));
    const job = await running(store, { collect: { mode: 'all' }, delivery: SYNC });
    await apply(store, result(job, 0, { ids: ids(0, 1_000), next: ['b'] }));
    expect(state(store, job)).toMatchObject({ status: 'running', collected: 1_000 });
    expect(await apply(store, result(job, 1, { ids: ['one more'] }))).toEqual(['failed']);
    expect(state(store, job)).toMatchObject({ collected: 1_000, credits: 0, failure: { reason: 'limit_reached' } });
    const full = await running(store, { collect: { mode: 'all' }, delivery: SYNC });
    expect(await apply(store, result(full, 0, { ids: ids(0, 1_000) }))).toEqual(['succeeded']);
    const announced = await running(store, { collect: { mode: 'all' }, delivery: SYNC });
    expect(await apply(store, result(announced, 0, { ids: ['1'], next: ['b'], outcome: { total: 1_001 } }))).toEqual([
      'failed',
    ]);
  });
});

describe('a truncated list', () => {
  const lost = { reason: 'source_unavailable', retryable: true, losesRest: true } as const;
  const page = { reason: 'timeout', retryable: true } as const;
  const withLoss = async (collect: NewExtraction['collect']): Promise<[ExtractStore, StoredJob['job']]> => {
    const store = extract();
    const job = await running(store, { collect, steps: ['a', 'b', 'c'].map((key) => ({ key, state: {} })) });
    await apply(store, result(job, 0, { ids: ['1', '2'], outcome: { failure: page } }));
    await apply(store, result(job, 1, { outcome: { failure: lost } }));
    return [store, job];
  };

  test('A truncated list fails a job that collects all at once', async () => {
    const [store, job] = await withLoss({ mode: 'all' });
    const failure = { reason: 'source_unavailable', retryable: true };
    expect(state(store, job)).toMatchObject({ status: 'failed', failure, collected: 2, openSteps: 1 });
    expect(Object.keys(state(store, job).failure ?? {})).toEqual(['reason', 'retryable']);
  });

  test('A truncated list fails a job with a limit only if it ends with fewer records', async () => {
    const [store, job] = await withLoss({ mode: 'limit', limit: 4 });
    expect(state(store, job)).toMatchObject({ status: 'running', hasLost: true });
    expect(await apply(store, result(job, 2, { ids: ['3', '4'] }))).toEqual(['succeeded']);
    const [other, fewer] = await withLoss({ mode: 'limit', limit: 4 });
    await apply(other, result(fewer, 2, { ids: ['3'] }));
    expect(state(other, fewer)).toMatchObject({ status: 'failed', failure: { reason: 'source_unavailable' } });
  });

  test('A truncated list has the same effect if the truncated step leads to the only other step', async () => {
    const failure = { reason: 'limit_reached', retryable: false, losesRest: true } as const;
    const leftOut = { ids: ['1'], next: ['b'], outcome: { failure } };
    const begin = async (collect: NewExtraction['collect']): Promise<[ExtractStore, StoredJob['job'], string[]]> => {
      const store = extract();
      const job = await running(store, { collect });
      return [store, job, await apply(store, result(job, 0, leftOut))];
    };
    const [enough, first, goesOn] = await begin({ mode: 'limit', limit: 3 });
    expect(goesOn).toEqual(['taken']);
    expect(await apply(enough, result(first, 1, { ids: ['2', '3'] }))).toEqual(['succeeded']);
    const [fewer, second] = await begin({ mode: 'limit', limit: 3 });
    expect(await apply(fewer, result(second, 1, { ids: ['2'] }))).toEqual(['succeeded']);
    expect(state(fewer, second)).toMatchObject({ failure: null, collected: 2, notes: ['list_incomplete'] });
    expect((await begin({ mode: 'all' }))[2]).toEqual(['failed']);
  });

  test('A job with a limit keeps its records if its only list is truncated', async () => {
    const failure = { reason: 'parse_failed', retryable: false, losesRest: true } as const;
    const cutOff = async (collect: NewExtraction['collect'], ids: string[]): Promise<unknown> => {
      const store = extract();
      const job = await running(store, { collect });
      await apply(store, result(job, 0, { ids, outcome: { failure } }));
      const { status, failure: why, notes, collected } = state(store, job);
      return [status, why?.reason ?? null, notes, collected];
    };
    expect(await cutOff({ mode: 'limit', limit: 10 }, ['1', '2'])).toEqual(['succeeded', null, ['list_incomplete'], 2]);
    expect(await cutOff({ mode: 'limit', limit: 10 }, [])).toEqual(['failed', 'parse_failed', ['list_incomplete'], 0]);
    expect(await cutOff({ mode: 'all' }, ['1', '2'])).toEqual(['failed', 'parse_failed', ['list_incomplete'], 2]);
  });
});

describe('the maximum number of pages per requested record', () => {
  const steps = Array.from({ length: 400 }, (_, i) => ({ key: `p${i}`, state: {} }));
  const crawl = async (
    collect: NewExtraction['collect'],
    ids: (page: number) => string[],
  ): Promise<[ExtractStore, StoredJob['job']]> => {
    const store = extract();
    const job = await running(store, { collect, steps });
    await apply(store, ...steps.map((_, page) => result(job, page, { ids: ids(page) })));
    return [store, job];
  };

  test('The page limit ends a job with a limit, which keeps its records and has a note', async () => {
    const [store, job] = await crawl({ mode: 'limit', limit: 30 }, (page) => (page % 50 === 0 ? [String(page)] : []));
    expect(state(store, job)).toMatchObject({
      status: 'succeeded',
      collected: 6,
      pages: 300,
      credits: 300,
      notes: ['page_limit_reached'],
    });
    expect(store.failures.find(job.requestId)?.entries).toMatchObject([
      { reason: 'limit_reached', detail: '300 pages yielded 6 records; the job may read no more pages' },
    ]);
  });

  test('The page limit fails a job that has no record by then', async () => {
    const [store, job] = await crawl({ mode: 'limit', limit: 1 }, () => []);
    expect(state(store, job)).toMatchObject({
      status: 'failed',
      failure: { reason: 'limit_reached', retryable: false },
      pages: 200,
      notes: ['page_limit_reached'],
    });
  });

  test('The page limit does not apply to mode all, and leaves no note on a job that reached its limit', async () => {
    const [all, first] = await crawl({ mode: 'all' }, () => []);
    expect(state(all, first)).toMatchObject({ status: 'succeeded', pages: 400, notes: [] });
    const [enough, second] = await crawl({ mode: 'limit', limit: 2 }, (page) => (page >= 198 ? [String(page)] : []));
    expect(state(enough, second)).toMatchObject({ status: 'succeeded', collected: 2, pages: 200, notes: [] });
  });
});

/** What a step takes of the disk whose key and state are as short as those of these tests: 52 bytes stay when it is done. */
const STEP_BYTES = 108;

describe('limits of a job', () => {
  const withBounds = (bounds: object): ExtractStore => {
    const usual = extract();
    const openTable = (name: string): ReturnType<typeof usual.root.openDB<Buffer, Buffer>> =>
      usual.root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' });
    return createExtractStore(usual.root, openTable, bounds);
  };
  const steps = ['a', 'b'].map((key) => ({ key, state: {} }));
  const entriesOf = (store: ExtractStore, { requestId }: StoredJob['job']): unknown =>
    store.failures.find(requestId)?.entries.map(({ reason, detail }) => `${reason}: ${detail}`);

  test.each([
    [{ recordsMax: 1 }, { ids: ['1', '2'] }, 'limit_reached: record 2 exceeds the limit'],
    [{ recordBytesMax: 10 }, { ids: ['1'] }, 'limit_reached: its records have more than 10 bytes'],
    [
      { stepBytesPerJobMax: 3 * STEP_BYTES },
      { next: ['c', 'd'] },
      'limit_reached: there was no room for more waiting pages: they take 324 bytes',
    ],
  ] as const)('A job that exceeds a limit fails, and the operator sees which one: %j', async (bounds, given, told) => {
    const store = withBounds(bounds);
    const job = await running(store, { collect: { mode: 'all' }, steps });
    expect(await apply(store, result(job, 0, given))).toEqual(['failed']);
    expect(state(store, job).failure).toEqual({ reason: 'limit_reached', retryable: false });
    expect(entriesOf(store, job)).toEqual([told]);
  });

  test('A synchronous job fails if the source announces too many records, and the operator sees the numbers', async () => {
    const store = extract();
    const job = await running(store, { collect: { mode: 'all' }, delivery: SYNC });
    await apply(store, result(job, 0, { outcome: { total: 1_234 } }));
    expect(entriesOf(store, job)).toEqual([
      'limit_reached: the source announces 1,234 records; this job may have 1,000',
    ]);
  });

  test('The step limit does not affect a job with exactly as many steps, or one that reached its record limit', async () => {
    const exact = withBounds({ stepBytesPerJobMax: 3 * STEP_BYTES });
    const job = await running(exact, { collect: { mode: 'all' }, steps });
    await apply(exact, result(job, 0, { next: ['b', 'c', 'c'] }), result(job, 1), result(job, 2));
    expect(state(exact, job).status).toBe('succeeded');
    const limited = await running(exact, { collect: { mode: 'limit', limit: 2 }, steps });
    expect(await apply(exact, result(limited, 0, { ids: ['1'], next: ['c', 'd'] }))).toEqual(['taken']);
    expect(await apply(exact, result(limited, 1, { ids: ['2'] }))).toEqual(['succeeded']);
  });

  test('The steps of a customer’s jobs, and of all jobs, share room, of which each job has a part for itself', async () => {
    const bounds = { stepBytesPerJobMin: STEP_BYTES, stepBytesPerCustomerMax: 4 * STEP_BYTES };
    const store = withBounds({ ...bounds, stepBytesMax: 6 * STEP_BYTES });
    const all = { collect: { mode: 'all' }, steps: [{ key: 'a', state: {} }] } as const;
    const first = await running(store, all);
    const second = await running(store, all);
    expect(await apply(store, result(first, 0, { next: ['b', 'c'], isLast: false }))).toEqual(['taken']);
    // The customer's room is used up: the first job, the second job and two further steps.
    expect(await apply(store, result(second, 0, { next: ['b'], isLast: false }))).toEqual(['failed']);
    // An ended job no longer counts.
    expect(await apply(store, result(first, 0, { next: ['d'], isLast: false }))).toEqual(['taken']);
    const other = await running(store, { ...all, customer: customer(2) });
    expect(await apply(store, result(other, 0, { next: ['b'], isLast: false }))).toEqual(['taken']);
    const [third, fourth] = [
      await running(store, { ...all, customer: customer(3) }),
      await running(store, { ...all, customer: customer(4) }),
    ];
    expect(await apply(store, result(third, 0, { next: ['b'] }), result(fourth, 0, {}))).toEqual([
      'failed',
      'succeeded',
    ]);
  });

  test('A chain of any length fits, because a step that is done leaves only the hash of its key', async () => {
    const store = withBounds({ stepBytesPerJobMax: 52 * 20 + 2 * STEP_BYTES + 8 });
    const job = await running(store, { collect: { mode: 'all' }, steps: [{ key: '0', state: {} }] });
    for (let i = 0; i < 20; i++)
      expect(await apply(store, result(job, i, { next: [String(i + 1)] }))).toEqual(['taken']);
    expect(await apply(store, result(job, 20, { next: ['x', 'y'] }))).toEqual(['failed']);
  });

  test('After a restart the steps of open jobs take room as before', async () => {
    const first = withBounds({ stepBytesPerCustomerMax: 3 * STEP_BYTES, stepBytesPerJobMin: 0 });
    const job = await running(first, { collect: { mode: 'all' }, steps: [{ key: 'a', state: {} }] });
    await apply(first, result(job, 0, { next: ['b', 'c'], isLast: false }));
    const openTable = (name: string): ReturnType<typeof first.root.openDB<Buffer, Buffer>> =>
      first.root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' });
    const again = createExtractStore(first.root, openTable, {
      stepBytesPerCustomerMax: 3 * STEP_BYTES,
      stepBytesPerJobMin: 0,
    });
    expect(await apply(again, result(job, 0, { next: ['d'], isLast: false }))).toEqual(['failed']);
  });
});

describe('the order of steps', () => {
  test('Lists are apart from pages, and the newest comes first', async () => {
    const store = extract();
    const job = await running(store, { steps: ['a'].map((key) => ({ key, state: {} })) });
    await apply(store, result(job, 0, { next: ['list:2', 'b', 'list:1'], isLast: false }));
    await apply(store, result(job, 0, { next: ['c', 'list:0'] }));
    expect(store.steps.from(job.number, 0, 10).map(({ key }) => key)).toEqual(['b', 'c']);
    expect(store.steps.lists(job.number, 10).map(({ key }) => key)).toEqual(['list:0', 'list:1', 'list:2']);
    expect(store.steps.lists(job.number, 1)).toMatchObject([{ key: 'list:0', stateJson: '{"key":"list:0"}' }]);
  });
});

describe('ending a job from outside', () => {
  test('A job that never started has no start time when it is ended', async () => {
    const store = extract();
    const { job } = await made(store);
    const ended = await value(store.extractions.end(job, { reason: 'cancelled', retryable: false }, [], 5_000));
    expect(ended.state).toMatchObject({ status: 'failed', startedAtMs: null, finishedAtMs: 5_000 });
    expect(state(store, job)).toEqual(ended.state);
  });

  test('A job is ended only once, and later results are dropped', async () => {
    const store = extract();
    const job = await running(store);
    const cancelled = { reason: 'cancelled', retryable: false } as const;
    expect(await value(store.extractions.end(job, cancelled, [], 4_000))).toMatchObject({ isEnd: true });
    expect(await value(store.extractions.end(job, { ...cancelled, reason: 'timeout' }, [], 5_000))).toMatchObject({
      isEnd: false,
    });
    expect(await apply(store, result(job, 0, { ids: ['1'] }))).toEqual(['dropped']);
    await value(store.extractions.begin([job.number], 6_000));
    expect(state(store, job)).toMatchObject({
      status: 'failed',
      failure: cancelled,
      finishedAtMs: 4_000,
      collected: 0,
    });
    expect([...store.extractions.open()]).toEqual([]);
  });
});

describe('an Idempotency-Key', () => {
  const request = { customer: customer(1), key: 'k-1', bodySha256: Buffer.alloc(32, 1) };
  const withKey = (bodySha256 = request.bodySha256): ReturnType<typeof newStoredJob> => ({
    ...newStoredJob(),
    idempotency: {
      encryptionKey: SEALING,
      request: { ...request, bodySha256 },
      newSecret: null,
      answer: ({ id }) => Buffer.from(JSON.stringify({ id, secret: 'whsec_abc' })),
    },
  });

  test('Concurrent requests with one Idempotency-Key create one job, and all get the first response', async () => {
    const store = extract();
    const outcomes = await Promise.all([1, 2, 3].map(() => value(store.extractions.create(withKey(), 1_000))));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['created', 'replay', 'replay']);
    const [first, second] = outcomes;
    const id = first?.kind === 'created' ? first.stored.job.id : '';
    expect(second?.kind === 'replay' ? JSON.parse(Buffer.from(second.answer).toString()) : null).toEqual({
      id,
      secret: 'whsec_abc',
    });
    expect([...store.extractions.open()]).toHaveLength(1);
  });

  test('An Idempotency-Key conflicts with another body, is separate per customer, and is new after a day', async () => {
    const store = extract();
    await value(store.extractions.create(withKey(), 1_000));
    expect((await value(store.extractions.create(withKey(Buffer.alloc(32, 2)), 1_000))).kind).toBe('conflict');
    expect(store.idempotency.find(SEALING, { ...request, customer: customer(2) }, 1_000).kind).toBe('new');
    expect(store.idempotency.find(SEALING, request, 1_000 + DAY_MS - 1).kind).toBe('replay');
    expect(store.idempotency.find(SEALING, request, 1_000 + DAY_MS).kind).toBe('new');
    expect(store.idempotency.find(Buffer.alloc(32, 8), request, 1_000).kind).toBe('conflict');
    expect(await value(store.idempotency.sweep(1_000 + DAY_MS, 10))).toBe(1);
    expect(store.idempotency.find(SEALING, request, 1_000).kind).toBe('new');
  });
});

describe('pages of jobs', () => {
  test('Pages of jobs are sorted newest first and match their filters', async () => {
    const store = extract();
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) {
      const { job } = await made(store, { connector: i % 2 === 0 ? 'made' : 'other' }, 1_000 + i);
      ids.unshift(job.id);
    }
    await made(store, { customer: 2 as CustomerNumber });
    const query = { after: null, limit: 3, status: null, connector: null, operation: null };
    const seen: string[] = [];
    for (let after: ExtractionId | null = null, more = true; more; more = after !== null) {
      const page = await pageOf(store, customer(1), { ...query, after });
      seen.push(...page.rows.map(({ id }) => id));
      after = page.next;
    }
    expect(seen).toEqual(ids);
    expect((await pageOf(store, customer(1), { ...query, limit: 10, connector: 'other' })).rows).toHaveLength(3);
    expect((await pageOf(store, customer(1), { ...query, status: 'failed' })).rows).toEqual([]);
  });
});

describe('retention of jobs', () => {
  test('An expired job is removed with all its rows, in bounded slices', async () => {
    const store = extract();
    const job = await running(store, { collect: { mode: 'all' } });
    const ids = Array.from({ length: 50 }, (_, i) => `r${i}`);
    const entries = [{ atMs: 1, reason: 'timeout' as const, step: 's', detail: 'd' }];
    await apply(store, result(job, 0, { ids, next: ids, outcome: { entries } }));
    for (let i = 1; i <= 50; i++) await apply(store, result(job, i, { ids: [`s${i}`] }));
    const { expiresAtMs } = state(store, job);
    expect(expiresAtMs).not.toBeNull();
    const atEnd = expiresAtMs ?? 0;
    expect(await value(store.extractions.prune(atEnd - 1, 10))).toBe(0);
    // Rows that only a running job needs are removed first: 51 keys of steps, 100 of records. The records stay.
    expect(await cleaned(store, 40)).toEqual([40, 40, 40, 31]);
    expect(lines(store, job)).toHaveLength(100);
    expect(await value(store.extractions.prune(atEnd, 10))).toBe(1);
    expect(store.extractions.find(job.customer, job.id)).toBeNull();
    expect(store.failures.find(job.requestId)).toBeNull();
    expect(await cleaned(store, 40)).toEqual([40, 11]);
    expect(lines(store, job)).toEqual([]);
    expect(await value(store.extractions.prune(atEnd * 2, 10))).toBe(0);
  });

  test('Open jobs are never removed, whatever their age, and the bytes of ended jobs are counted', async () => {
    const folder = tempFolder();
    const first = open(folder).extract;
    if (first === null) throw new Error('no store');
    const job = await running(first, { collect: { mode: 'limit', limit: 1 } });
    const other = await running(first);
    await apply(first, result(job, 0, { ids: ['1'] }));
    expect(first.extractions.endedBytes).toBe(state(first, job).recordBytes);
    await first.root.close();
    const again = open(folder);
    onTestFinished(() => again.close());
    if (again.extract === null) throw new Error('no store');
    expect(again.extract.extractions.endedBytes).toBeGreaterThan(0);
    expect(await value(again.extract.extractions.prune(Date.now() * 2, 10))).toBe(1);
    expect([...again.extract.extractions.open()].map(({ job }) => job.id)).toEqual([other.id]);
    expect(again.extract.extractions.endedBytes).toBe(0);
  });
});

test('A customer above its limit loses its own oldest jobs, and above the total limit the oldest of all are removed', async () => {
  const { extract: usual } = tempStore();
  if (usual === null) throw new Error('no store');
  const withBounds = (bounds: object): ExtractStore =>
    createExtractStore(
      usual.root,
      (name) => usual.root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' }),
      bounds,
    );
  const few = withBounds({ jobsPerCustomerMax: 2 });
  const other = await running(few, { customer: customer(2), collect: { mode: 'limit', limit: 1 } });
  await apply(few, result(other, 0, { ids: ['1'] }));
  const open = await running(few);
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) {
    const job = await running(few, { collect: { mode: 'limit', limit: 1 } }, 1_001 + i);
    await apply(few, result(job, 0, { ids: ['1'] }));
    ids.push(job.id);
  }
  while ((await value(few.extractions.prune(5_000, 10))) > 0);
  const left = async (store: ExtractStore, number: number): Promise<string[]> =>
    (await pageOf(store, customer(number), {})).rows.map(({ id }) => id).toReversed();
  expect(await left(few, 1)).toEqual([open.id, ...ids.slice(2)]);
  expect(await left(few, 2)).toEqual([other.id]);
  const small = withBounds({ bytesMax: 2 * state(few, other).recordBytes });
  while ((await value(small.extractions.prune(5_000, 10))) > 0);
  expect([await left(small, 2), await left(small, 1)]).toEqual([[], [open.id, ...ids.slice(2)]]);
});

test('Jobs with a pending delivery are removed last', async () => {
  const { extract: usual } = tempStore();
  if (usual === null) throw new Error('no store');
  const withBounds = (bounds: object): ExtractStore =>
    createExtractStore(
      usual.root,
      (name) => usual.root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' }),
      bounds,
    );
  const few = withBounds({ jobsPerCustomerMax: 1 });
  const webhook = { ...STORED, kind: 'webhook' } as const;
  const gone = async (store: ExtractStore): Promise<number[]> => {
    while ((await value(store.extractions.prune(5_000, 10))) > 0);
    return jobs.flatMap((job, i) => (store.extractions.find(job.customer, job.id) === null ? [i] : []));
  };
  const jobs: StoredJob['job'][] = [];
  for (const delivery of [webhook, STORED, webhook, STORED]) {
    const job = await running(few, { collect: { mode: 'limit', limit: 1 }, delivery }, 1_001 + jobs.length);
    await apply(few, result(job, 0, { ids: ['1'] }));
    jobs.push(job);
  }
  const { recordBytes } = state(few, jobs[0] as StoredJob['job']);
  expect(await gone(withBounds({ bytesMax: 3 * recordBytes }))).toEqual([1]);
  expect(await gone(withBounds({ bytesMax: recordBytes }))).toEqual([0, 1, 3]);
  // Jobs of one customer.
  for (const delivery of [webhook, STORED]) {
    const job = await running(few, { collect: { mode: 'limit', limit: 1 }, delivery }, 1_001 + jobs.length);
    await apply(few, result(job, 0, { ids: ['1'] }));
    jobs.push(job);
  }
  expect(await gone(withBounds({ jobsPerCustomerMax: 2 }))).toEqual([0, 1, 3, 5]);
  // The counts belong to a store instance, so each limit has a new one.
  expect(await gone(withBounds({ jobsPerCustomerMax: 1 }))).toEqual([0, 1, 2, 3, 5]);
});

async function cleaned(store: ExtractStore, rowsMax: number): Promise<number[]> {
  const counts: number[] = [];
  for (;;) {
    const count = await value(store.extractions.clean(rowsMax));
    if (count === 0) return counts;
    counts.push(count);
  }
}
