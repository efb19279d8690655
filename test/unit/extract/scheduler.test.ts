import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/base/ids.ts';
import type { NewExtraction } from '../../../src/extract/jobs-port.ts';
import type { SchedulerBounds } from '../../../src/extract/scheduler.ts';
import type { ExtractStore } from '../../../src/store/extract-store.ts';
import type { Job } from '../../../src/store/extractions/job-row.ts';
import { newStoredJob } from '../../support/extraction-jobs.ts';
import { resultOf, SchedulerBench, SEALING } from '../../support/extraction-scheduler.ts';
import { customer, tempStore, value } from '../store/support.ts';

function extract(): ExtractStore {
  const { extract } = tempStore();
  if (extract === null) throw new Error('the store was opened to be read');
  return extract;
}

async function begin(
  bounds: Partial<SchedulerBounds> = {},
  workers = 1,
): Promise<{ bench: SchedulerBench; store: ExtractStore }> {
  const store = extract();
  const bench = new SchedulerBench(store, bounds);
  for (let worker = 0; worker < workers; worker++) bench.scheduler.workerReady(worker);
  return { bench, store };
}

const stepsOf = (...keys: string[]): NewExtraction['steps'] => keys.map((key) => ({ key, state: {} }));

async function add(
  { bench, store }: { bench: SchedulerBench; store: ExtractStore },
  overrides: Partial<NewExtraction> = {},
): Promise<Job> {
  const created = await value(store.extractions.create(newStoredJob(overrides, bench.nowMs), bench.nowMs));
  if (created.kind !== 'created') throw new Error(created.kind);
  bench.scheduler.enqueue(created.stored.job);
  await bench.settle();
  return created.stored.job;
}

const failed = { reason: 'source_unavailable', retryable: true, detail: 'no answer' } as const;

describe('the scheduler', () => {
  test('runs a job step by step to its end, and tells of it once', async () => {
    const at = await begin();
    const job = await add(at);
    await at.bench.answer(at.bench.take('first'), { ids: ['1'], next: ['second'] });
    expect(at.bench.leased).toMatchObject([{ key: 'second', recordsLeft: 99 }]);
    await at.bench.answer(at.bench.take('second'), { ids: ['2'] });
    expect(at.bench.ended.map(({ job: { id }, state }) => [id, state.status, state.collected])).toEqual([
      [job.id, 'succeeded', 2],
    ]);
    expect(at.bench.orders.at(-1)).toEqual({ worker: 0, order: { kind: 'forget', job: job.number } });
    expect([at.bench.scheduler.queue.running, at.bench.scheduler.stepsInFlight]).toEqual([0, 0]);
  });

  test('gives a job no more steps at once than it may have, nor than it wants records', async () => {
    const keys = Array.from({ length: 50 }, (_, i) => `p${i}`);
    const many = await begin({ stepsPerJobMax: 8 });
    await add(many, { steps: stepsOf(...keys) });
    expect(many.bench.keys).toEqual(keys.slice(0, 8));
    const few = await begin({ stepsPerJobMax: 8 });
    await add(few, { steps: stepsOf(...keys), collect: { mode: 'limit', limit: 3 } });
    expect(few.bench.keys).toHaveLength(3);
  });

  test('lets customers have turns, however many jobs and steps one of them has', async () => {
    const at = await begin({ stepsActiveMax: 4, stepsPerJobMax: 4 });
    const keys = (name: string): NewExtraction['steps'] =>
      stepsOf(...Array.from({ length: 20 }, (_, i) => `${name}${i}`));
    for (const name of ['a', 'b', 'c']) await add(at, { steps: keys(name) });
    expect(at.bench.leased).toHaveLength(4);
    await add(at, { customer: customer(2), steps: keys('z') });
    for (let i = 0; i < 8; i++) {
      const [first] = at.bench.keys;
      await at.bench.answer(at.bench.take(first ?? ''));
    }
    const begun = at.bench.orders.flatMap(({ order }) => (order.kind === 'steps' ? order.steps : [])).slice(4);
    // Every second one was the other customer's.
    const isOther = begun.map(({ stateJson }) => stateJson.includes('z'));
    expect(isOther).toEqual(isOther.map((_, i) => i % 2 === 1));
    expect(isOther).toHaveLength(8);
  });

  test('lets one customer run so many jobs at a time, and begins the next when one ends', async () => {
    const at = await begin({ runningPerCustomerMax: 2 });
    for (const name of ['a', 'b', 'c']) await add(at, { steps: stepsOf(name) });
    await add(at, { customer: customer(2), steps: stepsOf('other') });
    expect(at.bench.keys).toEqual(['a', 'b', 'other']);
    expect(at.bench.scheduler.queue.queued).toBe(1);
    await at.bench.answer(at.bench.take('a'));
    expect(at.bench.keys).toEqual(['b', 'other', 'c']);
  });

  test('does not count steps that wait for their turn at a domain, and gives such a job no more of them', async () => {
    const store = extract();
    const bench = new SchedulerBench(
      store,
      { stepsActiveMax: 2, stepsPerJobMax: 8 },
      { gapMs: 10_000, concurrency: 1 },
    );
    bench.scheduler.workerReady(0);
    const at = { bench, store };
    await add(at, { steps: stepsOf('a', 'b', 'c', 'd', 'e') });
    let permit = 1;
    for (let i = 0; i < 4; i++)
      for (const { lease, worker } of bench.leased.slice()) {
        if (lease > i) bench.hear(worker, { kind: 'permit', permit: permit++, lease, domain: 'slow.example' });
      }
    // One may fetch, two wait, and the rest stays in the store.
    expect(bench.keys.length).toBeLessThanOrEqual(4);
    await add(at, { customer: customer(2), steps: stepsOf('other') });
    expect(bench.keys).toContain('other');
  });

  test('waits as long as a source asks for, and no longer', async () => {
    const at = await begin();
    await add(at);
    await at.bench.answer(at.bench.take('first'), { ids: ['1'], next: ['second'], pauseMs: 60_000 });
    await at.bench.pass(59_000);
    expect(at.bench.keys).toEqual([]);
    await at.bench.pass(1_000);
    expect(at.bench.keys).toEqual(['second']);
  });

  test('goes on where the last run of the process stood', async () => {
    const at = await begin();
    const job = await add(at, { steps: stepsOf('a', 'b', 'c') });
    await add(at, { customer: customer(2) });
    await at.bench.answer(at.bench.take('b'), { ids: ['1'], next: ['d'] });
    const again = new SchedulerBench(at.store);
    again.scheduler.resume();
    again.scheduler.workerReady(0);
    await again.settle();
    expect(again.keys.toSorted()).toEqual(['a', 'c', 'd', 'first']);
    for (const key of ['a', 'c', 'd']) await again.answer(again.take(key), { ids: [key] });
    expect(again.ended.map(({ job: { id }, state }) => [id, state.collected])).toEqual([[job.id, 4]]);
    // What the run before still holds is nothing to the store.
    await at.bench.answer(at.bench.take('a'), { ids: ['late'] });
    expect(at.store.extractions.stateOf(job.number)?.collected).toBe(4);
  });

  test('passes over what comes after a cancel, and tells the worker', async () => {
    const at = await begin();
    const job = await add(at);
    const leased = at.bench.take('first');
    await value(at.store.extractions.end(job, { reason: 'cancelled', retryable: false }, [], 5));
    at.bench.scheduler.drop(job);
    expect(at.bench.orders.at(-1)?.order).toEqual({ kind: 'forget', job: job.number });
    await at.bench.answer(leased, { ids: ['1'], next: ['x'] });
    expect(at.store.extractions.stateOf(job.number)).toMatchObject({ status: 'failed', collected: 0, pages: 0 });
    expect([at.bench.leased, at.bench.ended]).toEqual([[], []]);
  });

  test('ends a job that ran for as long as one may', async () => {
    const at = await begin({ jobMsMax: 60_000 });
    const job = await add(at, { collect: { mode: 'all' } });
    await at.bench.pass(59_999);
    expect(at.bench.ended).toEqual([]);
    await at.bench.pass(1);
    expect(at.bench.ended[0]?.state.failure).toEqual({ reason: 'limit_reached', retryable: false });
    expect(at.store.failures.find(job.requestId)?.entries).toHaveLength(1);
  });

  test('fails a job whose session is gone with its next step', async () => {
    const at = await begin();
    const id = newId('ses', 1_000);
    const session = { id, customer: customer(1), host: 'shop.example', createdAtMs: 1_000, expiresAtMs: 9_000_000 };
    await value(at.store.sessions.create(SEALING, session, Buffer.from('{"host":"shop.example"}')));
    await add(at, { session: id });
    expect(at.bench.orders[0]?.order).toMatchObject({ kind: 'job', job: { sessionJson: '{"host":"shop.example"}' } });
    await at.bench.answer(at.bench.take('first'), {
      ids: ['1'],
      next: ['second'],
      sessionJson: '{"host":"shop.example","n":2}',
    });
    expect(at.bench.orders.flatMap(({ order }) => (order.kind === 'job' ? [order.job.sessionJson] : []))).toEqual([
      '{"host":"shop.example"}',
      '{"host":"shop.example","n":2}',
    ]);
    await value(at.store.sessions.remove(customer(1), id));
    await at.bench.answer(at.bench.take('second'), { next: ['third'] });
    expect(at.bench.ended[0]?.state.failure?.reason).toBe('session_expired');
    expect(at.bench.leased).toEqual([]);
  });

  test('never reads more steps of a job than it needs', async () => {
    const at = await begin();
    await add(at, { collect: { mode: 'all' } });
    const reads: number[] = [];
    const from = at.store.steps.from.bind(at.store.steps);
    at.store.steps.from = (job, step, limit) => {
      const steps = from(job, step, limit);
      reads.push(steps.length);
      return steps;
    };
    await at.bench.answer(at.bench.take('first'), { next: Array.from({ length: 20_000 }, (_, i) => `p${i}`) });
    for (let i = 0; i < 100; i++) await at.bench.answer(at.bench.take(`p${i}`));
    expect(Math.max(...reads)).toBe(32);
    expect(reads.length).toBeLessThan(8);
    expect(at.bench.keys[0]).toBe('p100');
  });

  test('ends with what has arrived written, and leaves the rest to the next start', async () => {
    const at = await begin();
    const job = await add(at, { steps: stepsOf('a', 'b') });
    const [a, b] = [at.bench.take('a'), at.bench.take('b')];
    at.bench.hear(0, resultOf(a.lease, { ids: ['1'] }));
    await at.bench.scheduler.stop();
    await at.bench.answer(b, { failure: { ...failed, detail: 'the client is closed' } });
    expect(at.store.extractions.stateOf(job.number)).toMatchObject({
      status: 'running',
      collected: 1,
      errors: 0,
      openSteps: 1,
    });
  });
});

describe('a worker that dies', () => {
  test('leaves its steps to another', async () => {
    const at = await begin({}, 2);
    await add(at, { steps: stepsOf('a', 'b') });
    expect(at.bench.leased.map(({ worker }) => worker)).toEqual([0, 1]);
    at.bench.scheduler.workerEnded(0);
    await at.bench.settle();
    expect(at.bench.leased.filter(({ key }) => key === 'a').map(({ worker }) => worker)).toEqual([0, 1]);
    expect(at.bench.scheduler.stepsInFlight).toBe(2);
  });

  test('three times with one step fails that step, and no other', async () => {
    const at = await begin();
    const job = await add(at, { steps: stepsOf('killer', 'a', 'b') });
    const die = async (): Promise<string[]> => {
      const had = at.bench.leased.splice(0).map(({ key }) => key);
      at.bench.scheduler.workerEnded(0);
      at.bench.scheduler.workerReady(0);
      await at.bench.settle();
      return had;
    };
    await die();
    expect(await die()).toEqual(['killer', 'a', 'b']);
    // From the second time on each is alone with the worker, so that it is known which of them it was.
    expect(at.bench.keys).toHaveLength(1);
    for (let i = 0; i < 3; i++) {
      const [key = ''] = at.bench.keys;
      if (key === 'killer') await die();
      else await at.bench.answer(at.bench.take(key), { ids: [key] });
    }
    expect(at.bench.ended.map(({ state }) => [state.status, state.collected, state.errors])).toEqual([
      ['succeeded', 2, 1],
    ]);
    expect(at.store.failures.find(job.requestId)?.entries).toMatchObject([
      { step: 'killer', reason: 'internal_error' },
    ]);
  });

  test('is ended when it has something to do and says nothing for a minute', async () => {
    const at = await begin();
    await at.bench.pass(120_000);
    expect(at.bench.restarted).toEqual([]);
    await add(at);
    at.bench.scheduler.workerAlive(0);
    await at.bench.pass(60_000);
    expect(at.bench.restarted).toEqual([]);
    await at.bench.pass(1_000);
    expect(at.bench.restarted).toEqual([0]);
  });
});

describe('a store that refuses writes', () => {
  test('costs no result: it is written when the store takes it', async () => {
    const at = await begin();
    const job = await add(at);
    const apply = at.store.extractions.apply.bind(at.store.extractions);
    at.store.extractions.apply = () =>
      Promise.resolve({ kind: 'fault', code: 'store_write_failed', detail: 'no space' });
    at.bench.scheduler.hear(0, [resultOf(at.bench.take('first').lease, { ids: ['1'] })]);
    await new Promise((done) => setTimeout(done, 5));
    expect(at.bench.faults).toHaveLength(1);
    at.store.extractions.apply = apply;
    await at.bench.pass(1_000);
    expect(at.store.extractions.stateOf(job.number)).toMatchObject({ status: 'succeeded', collected: 1 });
  });
});
