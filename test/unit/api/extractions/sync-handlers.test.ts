import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { GOOD, line, setUp, SUCCEEDED } from './support.ts';

const SYNC = { ...GOOD, delivery: { type: 'sync' } };
const OVER = { status: 'failed', failure: { reason: 'limit_reached', retryable: false } } as const;

/** Resolves once the call has created its job and waits. */
async function waiting({ jobs, waiters }: Pick<ReturnType<typeof setUp>, 'jobs' | 'waiters'>) {
  await vi.waitFor(() => expect(waiters.size).toBeGreaterThan(0));
  const [job] = jobs;
  if (job === undefined) throw new Error('no job was made');
  return job;
}

describe('deliveries of type sync', () => {
  test('an inline response has a cursor of the records endpoint if its page is cut', async () => {
    const world = setUp();
    const asked = world.ask('POST', '/v1/extractions', SYNC);
    const job = await waiting(world);
    world.records.set(job.id, [line(1), line(2), line(3)]);
    const { records } = world.control;
    world.control.records = (customer, id, query) => records(customer, id, { ...query, recordsMax: 2 });
    world.change(job.id, SUCCEEDED);
    const { json } = await asked;
    expect(json['records']).toHaveLength(2);
    const rest = await world.ask('GET', `/v1/extractions/${job.id}/records?cursor=${String(json['next_cursor'])}`);
    expect((rest.json['records'] as { id: string }[]).map(({ id }) => id)).toEqual(['3']);
  });

  test('an inline job that reaches another limit first is a failed job', async () => {
    const world = setUp();
    const asked = world.ask('POST', '/v1/extractions', { ...SYNC, collect: { mode: 'all' } });
    const job = await waiting(world);
    world.change(job.id, { ...OVER, counts: { ...job.counts, collected: 500, target: 999 } });
    const { status, json } = await asked;
    expect([status, json['status'], json['failure']]).toEqual([200, 'failed', OVER.failure]);
  });
});

/** Resolves when this many calls wait for a job. Turns of the event loop are real here; time is not. */
async function held({ waiters }: ReturnType<typeof setUp>, count: number): Promise<void> {
  while (waiters.size < count) await new Promise((done) => setImmediate(done));
}

describe('waiting calls', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('a sync delivery waits 30 s by default', async () => {
    const world = setUp();
    let ended = false;
    const asked = world.ask('POST', '/v1/extractions', SYNC).then(() => (ended = true));
    await held(world, 1);
    await vi.advanceTimersByTimeAsync(29_900);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    await asked;
  });

  test('calls beyond the maximum number do not wait', async () => {
    const world = setUp();
    const job = world.given({ status: 'running' });
    const calls = Array.from({ length: 100 }, () => world.ask('GET', `/v1/extractions/${job.id}?wait=2`));
    await held(world, 100);
    expect((await world.ask('GET', `/v1/extractions/${job.id}?wait=120`)).json['status']).toBe('running');
    expect(world.waiters.size).toBe(100);
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 200));
    const asked = world.ask('GET', `/v1/extractions/${job.id}?wait=120`);
    await held(world, 1);
    world.change(job.id, SUCCEEDED);
    await asked;
  });
});
