import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import type { SourceCookie, SourceSession } from '../../../../src/extract/base/source-session.ts';
import type { CookieChange } from '../../../../src/extract/fetch/session-cookies.ts';
import type { NewExtraction } from '../../../../src/extract/base/jobs-port.ts';
import type { SchedulerBounds } from '../../../../src/extract/engine/scheduler.ts';
import type { ExtractStore } from '../../../../src/state/tables/extract-store.ts';
import type { Job } from '../../../../src/state/tables/extractions/job-row.ts';
import { newStoredJob, result } from '../../../support/extraction-jobs.ts';
import { resultOf, SchedulerBench, SEALING } from '../../../support/extraction-scheduler.ts';
import { customer, tempStore, value } from '../../state/support.ts';

function extract(): ExtractStore {
  const { extract } = tempStore();
  if (extract === null) throw new Error('the store was opened to be read');
  return extract;
}

async function begin(bounds: Partial<SchedulerBounds> = {}): Promise<{ bench: SchedulerBench; store: ExtractStore }> {
  const store = extract();
  const bench = new SchedulerBench(store, bounds);
  bench.scheduler.workerReady();
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

const cookie = (name: string, value: string): SourceCookie => ({
  name,
  value,
  domain: null,
  hostOnly: false,
  path: '/',
  secure: true,
  httpOnly: true,
  expiresAtMs: null,
});
const set = (...cookies: SourceCookie[]): string =>
  JSON.stringify(cookies.map((cookie): CookieChange => ({ kind: 'set', cookie })));
const removed = (...cookies: SourceCookie[]): string =>
  JSON.stringify(cookies.map((cookie): CookieChange => ({ kind: 'removed', cookie })));

async function keepSession({ sessions }: ExtractStore, id: string, cookies: readonly SourceCookie[]): Promise<void> {
  const session = { id, customer: customer(1), host: 'shop.example', createdAtMs: 1_000, expiresAtMs: 9_000_000 };
  const content: SourceSession = { host: session.host, cookies, headers: {} };
  await value(sessions.create(SEALING, session, Buffer.from(JSON.stringify(content))));
}

function cookiesOf(content: string | null | undefined): string[] {
  const { cookies } = JSON.parse(content ?? '{"cookies":[]}') as SourceSession;
  return cookies.map(({ name, value }) => `${name}=${value}`);
}

/** The cookies sent with each message of a job. */
function toldCookies({ orders }: SchedulerBench): string[][] {
  return orders.flatMap((order) => (order.kind === 'job' ? [cookiesOf(order.job.sessionJson)] : []));
}

const failed = { reason: 'source_unavailable', retryable: true, detail: 'no answer' } as const;

describe('Scheduler', () => {
  test('a job runs step by step to its end, which is reported once', async () => {
    const at = await begin();
    const job = await add(at);
    await at.bench.answer(at.bench.take('first'), { ids: ['1'], next: ['second'] });
    expect(at.bench.leased).toMatchObject([{ key: 'second', recordsLeft: 99 }]);
    await at.bench.answer(at.bench.take('second'), { ids: ['2'] });
    expect(at.bench.ended.map(({ job: { id }, state }) => [id, state.status, state.collected])).toEqual([
      [job.id, 'succeeded', 2],
    ]);
    expect(at.bench.orders.at(-1)).toEqual({ kind: 'forget', job: job.number });
    expect([at.bench.scheduler.queue.running, at.bench.scheduler.stepsInFlight]).toEqual([0, 0]);
  });

  test('a job gets no more steps at once than allowed, and no more than it wants records', async () => {
    const keys = Array.from({ length: 50 }, (_, i) => `p${i}`);
    const many = await begin({ stepsPerJobMax: 8 });
    await add(many, { steps: stepsOf(...keys) });
    expect(many.bench.keys).toEqual(keys.slice(0, 8));
    const few = await begin({ stepsPerJobMax: 8 });
    await add(few, { steps: stepsOf(...keys), collect: { mode: 'limit', limit: 3 } });
    expect(few.bench.keys).toHaveLength(3);
  });

  test('lists are read when no page waits, two at a time, and a list within a list before the rest of the outer one', async () => {
    const at = await begin({ stepsPerJobMax: 3 });
    await add(at, { collect: { mode: 'all' }, steps: stepsOf('list:3', 'list:2', 'list:1', 'a') });
    expect(at.bench.keys).toEqual(['a', 'list:1', 'list:2']);
    await at.bench.answer(at.bench.take('list:1'), { next: ['list:1.2', 'list:1.1', 'b', 'c'] });
    expect(at.bench.keys).toEqual(['a', 'list:2', 'b']);
    await at.bench.answer(at.bench.take('a'));
    await at.bench.answer(at.bench.take('b'));
    expect(at.bench.keys).toEqual(['list:2', 'c', 'list:1.1']);
    await at.bench.answer(at.bench.take('list:1.1'));
    await at.bench.answer(at.bench.take('list:2'));
    expect(at.bench.keys).toEqual(['c', 'list:1.2', 'list:3']);
    for (const key of ['c', 'list:1.2', 'list:3']) await at.bench.answer(at.bench.take(key), { ids: [key] });
    expect(at.bench.ended.map(({ state }) => [state.status, state.collected, state.pages])).toEqual([
      ['succeeded', 3, 8],
    ]);
  });

  test('a list whose worker died is read again, once', async () => {
    const at = await begin();
    await add(at, { collect: { mode: 'all' }, steps: stepsOf('list:1') });
    at.bench.scheduler.workerEnded();
    at.bench.scheduler.workerReady();
    await at.bench.settle();
    expect(at.bench.keys).toEqual(['list:1', 'list:1']);
    await at.bench.answer(at.bench.leased.pop() ?? at.bench.take('list:1'), { ids: ['1'] });
    expect(at.bench.ended.map(({ state }) => [state.status, state.pages])).toEqual([['succeeded', 1]]);
  });

  test('the largest job can be ended, and its records stay', async () => {
    const at = await begin();
    const small = await add(at, { collect: { mode: 'all' }, steps: stepsOf('s') });
    const large = await add(at, { collect: { mode: 'all' }, steps: stepsOf('l') });
    await at.bench.answer(at.bench.take('l'), { ids: ['1', '2', '3'], next: ['m'] });
    at.bench.scheduler.endLargest('the disk is needed');
    await at.bench.settle();
    const { failure, status, collected } = at.store.extractions.stateOf(large.number) ?? {};
    expect([status, failure, collected]).toEqual(['failed', { reason: 'limit_reached', retryable: false }, 3]);
    expect(at.store.failures.find(large.requestId)?.entries).toMatchObject([{ detail: 'the disk is needed' }]);
    expect([...at.store.records.from(large.number, 0)]).toHaveLength(1);
    expect(at.store.extractions.stateOf(small.number)?.status).toBe('running');
  });

  test('customers take turns, however many jobs and steps one of them has', async () => {
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
    const begun = at.bench.orders.flatMap((order) => (order.kind === 'steps' ? order.steps : [])).slice(4);
    // Every second step was the other customer's.
    const isOther = begun.map(({ stateJson }) => stateJson.includes('z'));
    expect(isOther).toEqual(isOther.map((_, i) => i % 2 === 1));
    expect(isOther).toHaveLength(8);
  });

  test("a customer's running jobs are limited, and the next one starts when one ends", async () => {
    const at = await begin({ runningPerCustomerMax: 2 });
    for (const name of ['a', 'b', 'c']) await add(at, { steps: stepsOf(name) });
    await add(at, { customer: customer(2), steps: stepsOf('other') });
    expect(at.bench.keys).toEqual(['a', 'b', 'other']);
    expect(at.bench.scheduler.queue.queued).toBe(1);
    await at.bench.answer(at.bench.take('a'));
    expect(at.bench.keys).toEqual(['b', 'other', 'c']);
  });

  test("steps that wait for a domain's rate limiter are not counted as active, and their job gets only a few of them", async () => {
    const store = extract();
    const bench = new SchedulerBench(
      store,
      { stepsActiveMax: 2, stepsPerJobMax: 8 },
      { gapMs: 10_000, concurrency: 1 },
    );
    bench.scheduler.workerReady();
    const at = { bench, store };
    await add(at, { steps: stepsOf('a', 'b', 'c', 'd', 'e') });
    let permit = 1;
    for (let i = 0; i < 4; i++)
      for (const { lease } of bench.leased.slice()) {
        if (lease > i) bench.hear({ kind: 'permit', permit: permit++, lease, domain: 'slow.example' });
      }
    // One may fetch, two wait, and the rest stays in the store.
    expect(bench.keys.length).toBeLessThanOrEqual(4);
    await add(at, { customer: customer(2), steps: stepsOf('other') });
    expect(bench.keys).toContain('other');
  });

  test('a job waits as long as its source asks, and no longer', async () => {
    const at = await begin();
    await add(at);
    await at.bench.answer(at.bench.take('first'), { ids: ['1'], next: ['second'], pauseMs: 60_000 });
    await at.bench.pass(59_000);
    expect(at.bench.keys).toEqual([]);
    await at.bench.pass(1_000);
    expect(at.bench.keys).toEqual(['second']);
  });

  describe('steps whose source asks for a longer pause than a fetch waits for', () => {
    const asked = (waitMs: number): typeof failed & { waitMs: number } => ({ ...failed, waitMs });

    test('a postponed step runs again after its pause, and only what it finds then is charged', async () => {
      const at = await begin();
      const job = await add(at, { steps: stepsOf('a', 'b') });
      await at.bench.answer(at.bench.take('a'), { failure: asked(120_000) });
      await at.bench.answer(at.bench.take('b'), { ids: ['1'] });
      await at.bench.pass(119_000);
      expect([at.bench.keys, at.bench.ended]).toEqual([[], []]);
      expect(at.store.failures.find(job.requestId)?.entries).toMatchObject([{ step: 'a', detail: 'no answer' }]);
      await at.bench.pass(1_000);
      expect(at.bench.keys).toEqual(['a']);
      await at.bench.answer(at.bench.take('a'), { ids: ['2'] });
      expect(at.bench.ended[0]?.state).toMatchObject({ status: 'succeeded', collected: 2, pages: 2, errors: 0 });
    });

    test('a step is postponed at most three times, and for an hour in total', async () => {
      const often = await begin();
      await add(often);
      for (let i = 0; i < 4; i++) {
        expect(often.bench.ended).toEqual([]);
        await often.bench.answer(often.bench.take('first'), { failure: asked(61_000) });
        await often.bench.pass(61_000);
      }
      expect(often.bench.ended[0]?.state).toMatchObject({ failure: { reason: 'source_unavailable' }, errors: 1 });
      const long = await begin();
      await add(long, { steps: stepsOf('a') });
      await long.bench.answer(long.bench.take('a'), { failure: asked(3_000_000) });
      await long.bench.pass(3_000_000);
      await long.bench.answer(long.bench.take('a'), { failure: asked(700_000) });
      await add(long, { steps: stepsOf('b') });
      await long.bench.answer(long.bench.take('b'), { failure: asked(3_600_001) });
      expect(long.bench.ended.map(({ state }) => state.status)).toEqual(['failed', 'failed']);
    });

    test('a postponed step runs again at once after a restart of the process', async () => {
      const at = await begin();
      await add(at);
      await at.bench.answer(at.bench.take('first'), { failure: asked(3_000_000) });
      const again = new SchedulerBench(at.store);
      again.scheduler.resume();
      again.scheduler.workerReady();
      await again.settle();
      expect(again.keys).toEqual(['first']);
    });
  });

  describe('waiting_until of a job', () => {
    const domain = (name: string, permit: number, lease: number) =>
      ({ kind: 'permit', permit, lease, domain: name }) as const;
    const pause = (name: string, retryAfterMs: number) =>
      ({ kind: 'report', domain: name, wish: { retryAfterMs } }) as const;

    test('waiting_until reports the end of a pause between steps and of a postponed step', async () => {
      const at = await begin();
      const job = await add(at);
      const until = (): number | null => at.bench.scheduler.waitingUntilMs(job.id);
      expect(until()).toBeNull();
      await at.bench.answer(at.bench.take('first'), { next: ['second'], pauseMs: 5_000 });
      expect(until()).toBe(at.bench.nowMs + 5_000);
      await at.bench.pass(5_000);
      expect([at.bench.keys, until()]).toEqual([['second'], null]);
      const failure = { reason: 'rate_limited_by_source', retryable: true, detail: '429', waitMs: 90_000 } as const;
      await at.bench.answer(at.bench.take('second'), { failure });
      expect(until()).toBe(at.bench.nowMs + 90_000);
      await at.bench.pass(90_000);
      expect([at.bench.keys, until()]).toEqual([['second'], null]);
      await at.bench.answer(at.bench.take('second'));
      expect(until()).toBeNull();
    });

    test('waiting_until reports the end of a domain’s pause that another job caused', async () => {
      const at = await begin();
      const [own, other] = [await add(at, { steps: stepsOf('a') }), await add(at, { steps: stepsOf('b', 'c') })];
      const [a, b, c] = [at.bench.take('a'), at.bench.take('b'), at.bench.take('c')];
      at.bench.hear(domain('x.example', 1, a.lease), pause('x.example', 40_000));
      at.bench.hear(domain('x.example', 2, b.lease), domain('y.example', 3, c.lease));
      expect(at.bench.scheduler.waitingUntilMs(own.id)).toBe(at.bench.nowMs + 40_000);
      // Meanwhile it works at the other domain.
      expect(at.bench.scheduler.waitingUntilMs(other.id)).toBeNull();
      await at.bench.answer(c);
      expect(at.bench.scheduler.waitingUntilMs(other.id)).toBe(at.bench.nowMs + 40_000);
      await at.bench.pass(40_000);
      expect(at.bench.scheduler.waitingUntilMs(own.id)).toBeNull();
    });
  });

  test('requests to one domain are let through for its jobs in turn, however many one of them has', async () => {
    const store = extract();
    const bench = new SchedulerBench(store, {}, { gapMs: 0, concurrency: 1 });
    bench.scheduler.workerReady();
    await add({ bench, store }, { steps: stepsOf('a', 'b', 'c') });
    await add({ bench, store }, { steps: stepsOf('d') });
    const ask = (permit: number, key: string) =>
      ({ kind: 'permit', permit, lease: bench.take(key).lease, domain: 'x.example' }) as const;
    bench.hear(ask(1, 'a'), ask(2, 'b'), ask(3, 'c'), ask(4, 'd'));
    for (const permit of [1, 4, 2]) bench.hear({ kind: 'release', permit });
    const granted = bench.orders.flatMap((order) => (order.kind === 'permitted' ? order.permits : []));
    expect(granted).toEqual([1, 4, 2, 3]);
  });

  test('a crawl fails when the worker died often at a list, because an unknown remainder is lost with it', async () => {
    const at = await begin();
    await add(at, { steps: stepsOf('list', 'page'), collect: { mode: 'all' } });
    await at.bench.answer(at.bench.take('page'), { ids: ['1'] });
    for (let i = 0; i < 3; i++) {
      at.bench.take('list');
      at.bench.scheduler.workerEnded();
      at.bench.scheduler.workerReady();
      await at.bench.settle();
    }
    expect(at.bench.ended[0]?.state).toMatchObject({ status: 'failed', failure: { reason: 'internal_error' } });
  });

  test('jobs continue where the previous run of the process stopped', async () => {
    const at = await begin();
    const job = await add(at, { steps: stepsOf('a', 'b', 'c') });
    await add(at, { customer: customer(2) });
    await at.bench.answer(at.bench.take('b'), { ids: ['1'], next: ['d'] });
    const again = new SchedulerBench(at.store);
    again.scheduler.resume();
    again.scheduler.workerReady();
    await again.settle();
    expect(again.keys.toSorted()).toEqual(['a', 'c', 'd', 'first']);
    for (const key of ['a', 'c', 'd']) await again.answer(again.take(key), { ids: [key] });
    expect(again.ended.map(({ job: { id }, state }) => [id, state.collected])).toEqual([[job.id, 4]]);
    // The store ignores results that the previous run still delivers.
    await at.bench.answer(at.bench.take('a'), { ids: ['late'] });
    expect(at.store.extractions.stateOf(job.number)?.collected).toBe(4);
  });

  test('results after a cancellation are ignored, and the worker is notified', async () => {
    const at = await begin();
    const job = await add(at);
    const leased = at.bench.take('first');
    await value(at.store.extractions.end(job, { reason: 'cancelled', retryable: false }, [], 5));
    at.bench.scheduler.drop(job);
    expect(at.bench.orders.at(-1)).toEqual({ kind: 'forget', job: job.number });
    await at.bench.answer(leased, { ids: ['1'], next: ['x'] });
    expect(at.store.extractions.stateOf(job.number)).toMatchObject({ status: 'failed', collected: 0, pages: 0 });
    expect([at.bench.leased, at.bench.ended]).toEqual([[], []]);
  });

  test('a job that reaches its maximum duration ends', async () => {
    const at = await begin({ jobMsMax: 60_000 });
    const job = await add(at, { collect: { mode: 'all' } });
    await at.bench.pass(59_999);
    expect(at.bench.ended).toEqual([]);
    await at.bench.pass(1);
    expect(at.bench.ended[0]?.state.failure).toEqual({ reason: 'limit_reached', retryable: false });
    expect(at.store.failures.find(job.requestId)?.entries).toHaveLength(1);
  });

  test('a job whose session is gone fails at its next step', async () => {
    const at = await begin();
    const id = newId('ses', 1_000);
    await keepSession(at.store, id, [cookie('sid', '1')]);
    await add(at, { session: id });
    const first = at.bench.take('first');
    await at.bench.answer(first, { ids: ['1'], next: ['second'], sessionJson: set(cookie('sid', '2')) });
    expect(toldCookies(at.bench)).toEqual([['sid=1'], ['sid=2']]);
    await value(at.store.sessions.remove(customer(1), id));
    await at.bench.answer(at.bench.take('second'), { next: ['third'] });
    expect(at.bench.ended[0]?.state.failure?.reason).toBe('session_expired');
    expect(at.bench.leased).toEqual([]);
  });

  test("each concurrent step's changes to the session are kept, without overwriting others", async () => {
    const at = await begin();
    const id = newId('ses', 1_000);
    await keepSession(at.store, id, [cookie('sid', 'old'), cookie('view', 'old'), cookie('once', 'old')]);
    await add(at, { session: id, steps: stepsOf('a', 'b', 'c'), collect: { mode: 'all' } });
    const [a, b, c] = [at.bench.take('a'), at.bench.take('b'), at.bench.take('c')];
    await at.bench.answer(a, { sessionJson: set(cookie('sid', 'new')) });
    await at.bench.answer(b, { sessionJson: set(cookie('view', 'new')), next: ['d'] });
    expect(toldCookies(at.bench).at(-1)).toEqual(['sid=new', 'view=new', 'once=old']);
    await at.bench.answer(c, { sessionJson: removed(cookie('once', '')), next: ['e'] });
    expect(toldCookies(at.bench).at(-1)).toEqual(['sid=new', 'view=new']);
  });

  test('changes of two jobs to one session are kept and passed on, even in one transaction', async () => {
    const at = await begin();
    const id = newId('ses', 1_000);
    await keepSession(at.store, id, [cookie('sid', 'old'), cookie('view', 'old')]);
    await add(at, { session: id, steps: stepsOf('a'), collect: { mode: 'all' } });
    const other = await add(at, { session: id, steps: stepsOf('b', 'c'), collect: { mode: 'all' } });
    const [a, b, c] = [at.bench.take('a'), at.bench.take('b'), at.bench.take('c')];
    at.bench.hear(
      resultOf(a.lease, { sessionJson: set(cookie('sid', 'new')) }),
      resultOf(b.lease, { sessionJson: set(cookie('view', 'new')) }),
    );
    await at.bench.settle();
    expect(cookiesOf(at.store.sessions.contentOf(SEALING, customer(1), id, 1_000)?.toString())).toEqual([
      'sid=new',
      'view=new',
    ]);
    await at.bench.answer(c, { next: ['d'] });
    expect(at.bench.orders.findLast((order) => order.kind === 'job')).toMatchObject({
      job: { job: other.number },
    });
    expect(toldCookies(at.bench).at(-1)).toEqual(['sid=new', 'view=new']);
  });

  test('the worker gets the session of a job as another job changed it', async () => {
    const at = await begin();
    const id = newId('ses', 1_000);
    await keepSession(at.store, id, [cookie('sid', 'old')]);
    await add(at, { session: id, steps: stepsOf('a'), collect: { mode: 'all' } });
    await add(at, { session: id, steps: stepsOf('b'), collect: { mode: 'all' } });
    await at.bench.answer(at.bench.take('a'), { sessionJson: set(cookie('sid', 'new')) });
    await at.bench.answer(at.bench.take('b'), { next: ['c'] });
    expect(toldCookies(at.bench)).toEqual([['sid=old'], ['sid=old'], ['sid=new']]);
  });

  test('a session renewed by a step is kept even if the step found more than the job wants', async () => {
    const at = await begin();
    const id = newId('ses', 1_000);
    await keepSession(at.store, id, [cookie('sid', 'old')]);
    await add(at, { session: id, collect: { mode: 'limit', limit: 10 } });
    const ids = Array.from({ length: 600 }, (_, i) => `r${i}`);
    await at.bench.answer(at.bench.take('first'), { ids, sessionJson: set(cookie('sid', 'new')) });
    expect(at.bench.ended[0]?.state).toMatchObject({ status: 'succeeded', collected: 10 });
    const held = at.store.sessions.contentOf(SEALING, customer(1), id, 1_000)?.toString();
    expect(cookiesOf(held)).toEqual(['sid=new']);
  });

  test('the worker gets the origins named by a job with a session, and none for a job without', async () => {
    const at = await begin();
    const id = newId('ses', 1_000);
    await keepSession(at.store, id, []);
    await add(at, { session: id, input: { url: 'http://shop.example:8080/a?b' } });
    await add(at, { input: { url: 'http://shop.example/' } });
    const told = at.bench.orders.flatMap((order) => (order.kind === 'job' ? [order.job.sessionOrigins] : []));
    expect(told).toEqual([['http://shop.example:8080'], []]);
  });

  test('no more steps of a job are read than it needs', async () => {
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

  test('a stop writes the results that have arrived, and leaves the rest to the next start', async () => {
    const at = await begin();
    const job = await add(at, { steps: stepsOf('a', 'b') });
    const [a, b] = [at.bench.take('a'), at.bench.take('b')];
    at.bench.hear(resultOf(a.lease, { ids: ['1'] }));
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
  test('the steps of a worker that dies go to the next one, and none before it is up', async () => {
    const at = await begin();
    const job = await add(at, { steps: stepsOf('a', 'b') });
    at.bench.scheduler.workerEnded();
    await at.bench.settle();
    expect([at.bench.keys, at.bench.scheduler.stepsInFlight]).toEqual([['a', 'b'], 0]);
    at.bench.scheduler.workerReady();
    expect([at.bench.keys, at.bench.scheduler.stepsInFlight]).toEqual([['a', 'b', 'a', 'b'], 2]);
    const jobs = at.bench.orders.flatMap((order) => (order.kind === 'job' ? [order.job.job] : []));
    expect(jobs).toEqual([job.number, job.number]);
  });

  test('the worker is not kept for a step that crashes workers once its job has ended', async () => {
    const at = await begin();
    await add(at, { customer: customer(2), steps: stepsOf('x') });
    await at.bench.answer(at.bench.take('x'), { next: ['a', 'b', 'c'], pauseMs: 5_000 });
    const job = await add(at, { steps: stepsOf('killer') });
    for (let deaths = 0; deaths < 2; deaths++) {
      at.bench.take('killer');
      at.bench.scheduler.workerEnded();
      if (deaths === 0) at.bench.scheduler.workerReady();
    }
    await at.bench.pass(5_000);
    at.bench.scheduler.workerReady();
    // From here on the worker is kept for the step that crashed it twice.
    expect(at.bench.keys).toEqual(['a']);
    await value(at.store.extractions.end(job, { reason: 'cancelled', retryable: false }, [], 5));
    at.bench.scheduler.drop(job);
    for (const key of ['a', 'b', 'c']) await at.bench.answer(at.bench.take(key));
    expect(at.bench.ended.map(({ state }) => state.status)).toEqual(['succeeded']);
  });

  test('a step that crashes three workers fails, and no other step does', async () => {
    const at = await begin();
    const job = await add(at, { steps: stepsOf('killer', 'a', 'b') });
    const die = async (): Promise<string[]> => {
      const had = at.bench.leased.splice(0).map(({ key }) => key);
      at.bench.scheduler.workerEnded();
      at.bench.scheduler.workerReady();
      await at.bench.settle();
      return had;
    };
    await die();
    expect(await die()).toEqual(['killer', 'a', 'b']);
    // From the second crash on, each step runs alone in its worker, to find out which one is the cause.
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

  test('a worker that has steps and is silent for a minute is replaced', async () => {
    const at = await begin();
    await at.bench.pass(120_000);
    expect(at.bench.restarts).toBe(0);
    await add(at);
    at.bench.scheduler.workerAlive();
    await at.bench.pass(60_000);
    expect(at.bench.restarts).toBe(0);
    await at.bench.pass(1_000);
    expect(at.bench.restarts).toBe(1);
  });
});

describe('a store that rejects writes', () => {
  test('a result is written later when the store rejects it at first', async () => {
    const at = await begin();
    const job = await add(at);
    const apply = at.store.extractions.apply.bind(at.store.extractions);
    at.store.extractions.apply = () =>
      Promise.resolve({ kind: 'fault', code: 'store_write_failed', detail: 'no space' });
    at.bench.scheduler.hear([resultOf(at.bench.take('first').lease, { ids: ['1'] })]);
    await new Promise((done) => setTimeout(done, 5));
    expect(at.bench.faults).toHaveLength(1);
    at.store.extractions.apply = apply;
    await at.bench.pass(1_000);
    expect(at.store.extractions.stateOf(job.number)).toMatchObject({ status: 'succeeded', collected: 1 });
  });
});

describe('a shared store that does not answer', () => {
  test.each(['cluster_unavailable', 'change_unconfirmed'] as const)(
    'results wait for it, however long (%s)',
    async (code) => {
      const at = await begin();
      const job = await add(at);
      const { extractions } = at.store;
      const [apply, end] = [extractions.apply.bind(extractions), extractions.end.bind(extractions)];
      const fault = { kind: 'fault', code, detail: 'no answer' } as const;
      extractions.apply = () => Promise.resolve(fault);
      extractions.end = () => Promise.resolve(fault);
      at.bench.scheduler.hear([resultOf(at.bench.take('first').lease, { ids: ['1'] })]);
      for (let i = 0; i < 8; i++) {
        await new Promise((done) => setTimeout(done, 5));
        await at.bench.pass(1_000);
      }
      Object.assign(extractions, { apply, end });
      await at.bench.pass(1_000);
      expect(extractions.stateOf(job.number)).toMatchObject({ status: 'succeeded', collected: 1 });
      expect(at.bench.leased).toEqual([]);
    },
  );
});

describe('reports of stored results to the worker', () => {
  /** For each lease that the worker got: the stored leases reported with it. */
  const toldOf = ({ bench }: { bench: SchedulerBench }): (readonly (readonly number[])[])[] =>
    bench.orders.flatMap((order) =>
      order.kind === 'steps' ? [order.steps.map(({ lease, written }) => [lease, ...written])] : [],
    );
  const refuse = (store: ExtractStore): (() => void) => {
    const apply = store.extractions.apply.bind(store.extractions);
    const end = store.extractions.end.bind(store.extractions);
    const fault = { kind: 'fault', code: 'store_write_failed', detail: 'no space' } as const;
    store.extractions.apply = () => Promise.resolve(fault);
    store.extractions.end = () => Promise.resolve(fault);
    return () => {
      store.extractions.apply = apply;
      store.extractions.end = end;
    };
  };

  test('a stored result is reported once, with the next step of its job', async () => {
    const at = await begin({ stepsPerJobMax: 2 });
    await add(at, { steps: stepsOf('a', 'b', 'c', 'd', 'e') });
    await at.bench.answer(at.bench.take('a'), { next: ['x', 'y'] });
    for (const key of ['b', 'c', 'd', 'e', 'x', 'y']) await at.bench.answer(at.bench.take(key));
    // The next step is sent while the result is written, so the one after it carries the report.
    expect(toldOf(at).flat()).toEqual([[1], [2], [3], [4, 1], [5, 2], [6, 3], [7, 4]]);
  });

  test('a result is not reported before the store has accepted it', async () => {
    const at = await begin({ stepsPerJobMax: 2 });
    await add(at, { steps: stepsOf('a', 'b', 'c', 'd', 'e') });
    const apply = at.store.extractions.apply.bind(at.store.extractions);
    let take: () => void = () => {};
    const taken = new Promise<void>((resolve) => {
      take = resolve;
    });
    at.store.extractions.apply = async (...results) => {
      await taken;
      return apply(...results);
    };
    for (const key of ['a', 'b', 'c']) await at.bench.answer(at.bench.take(key));
    expect(toldOf(at).flat()).toEqual([[1], [2], [3], [4], [5]]);
    take();
    await at.bench.settle();
    await at.bench.answer(at.bench.take('d'), { next: ['x', 'y'] });
    expect(toldOf(at).flat().at(-1)).toEqual([6, 1, 2, 3, 4]);
  });

  test('a failed result is not reported', async () => {
    const at = await begin({ stepsPerJobMax: 1 });
    await add(at, { steps: stepsOf('a', 'b', 'c') });
    await at.bench.answer(at.bench.take('a'), { failure: failed });
    await at.bench.answer(at.bench.take('b'));
    expect(toldOf(at).flat()).toEqual([[1], [2], [3]]);
  });

  test('a result that the store rejects permanently is never reported, and its step runs again under a new lease', async () => {
    const at = await begin();
    const job = await add(at);
    const take = refuse(at.store);
    at.bench.hear(resultOf(at.bench.take('first').lease, { next: ['x'] }));
    for (let i = 0; i < 6; i++) {
      await new Promise((done) => setTimeout(done, 5));
      await at.bench.pass(1_000);
    }
    take();
    for (let i = 0; i < 3; i++) await at.bench.pass(1_000);
    // Meanwhile the worker has dropped the job, including everything it knew about its steps.
    const kinds = at.bench.orders.map((order) => order.kind);
    expect(kinds.slice(kinds.indexOf('forget'), kinds.indexOf('forget') + 3)).toEqual(['forget', 'job', 'steps']);
    expect(toldOf(at).flat()).toEqual([[1], [2]]);
    await at.bench.answer(at.bench.take('first'), { next: ['x'] });
    expect(at.store.steps.from(job.number, 0, 10).map(({ key }) => key)).toEqual(['x']);
  });

  test('a result of a step that was done before is not reported', async () => {
    const at = await begin({ stepsPerJobMax: 1 });
    const job = await add(at, { steps: stepsOf('a', 'b') });
    await value(at.store.extractions.apply([result(job, 0, { next: ['other'] })], at.bench.nowMs));
    await at.bench.answer(at.bench.take('a'), { next: ['x'] });
    await at.bench.answer(at.bench.take('b'));
    expect(toldOf(at).flat()).toEqual([[1], [2], [3, 2]]);
    expect(at.store.steps.from(job.number, 0, 10).map(({ key }) => key)).toEqual(['other']);
  });

  test('a result of a worker that died before it was written is not reported', async () => {
    const at = await begin({ stepsPerJobMax: 1 });
    await add(at, { steps: stepsOf('a', 'b') });
    at.bench.leased.splice(0);
    at.bench.scheduler.workerEnded();
    at.bench.hear(resultOf(1, { next: ['x'] }));
    at.bench.scheduler.workerReady();
    await at.bench.settle();
    expect(toldOf(at).flat()).toEqual([[1], [2]]);
    await at.bench.answer(at.bench.take('a'), { next: ['x'] });
    await at.bench.answer(at.bench.take('b'));
    expect(toldOf(at).flat()).toEqual([[1], [2], [3], [4, 2]]);
  });
});
