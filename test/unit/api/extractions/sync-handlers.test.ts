import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FAILED, GOOD, line, setUp, SUCCEEDED } from './support.ts';

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
  test('an inline response is 200 with the job, its records and next_cursor once the job has succeeded', async () => {
    const world = setUp();
    const asked = world.ask('POST', '/v1/extractions', SYNC);
    const job = await waiting(world);
    world.records.set(job.id, [line(1), line(2), line(3)]);
    world.change(job.id, SUCCEEDED);
    const { status, json, fields } = await asked;
    expect(status).toBe(200);
    expect(json).toMatchObject({ id: job.id, status: 'succeeded', delivery: { type: 'sync' }, next_cursor: null });
    const records = json['records'] as { id: string; _meta: { seq: number } }[];
    expect(records.map(({ id, _meta }) => [id, _meta.seq])).toEqual([
      ['1', 1],
      ['2', 2],
      ['3', 3],
    ]);
    const told = await world.ask('GET', `/v1/extractions/${job.id}`);
    expect({ ...told.json, records, next_cursor: null }).toEqual(json);
    expect(fields).toContain(`\r\nLocation: /v1/extractions/${job.id}`);
  });

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

  test('a job that fails while the caller waits is 200 with status failed and no records', async () => {
    const world = setUp();
    const asked = world.ask('POST', '/v1/extractions', SYNC);
    const job = await waiting(world);
    world.records.set(job.id, [line(1)]);
    world.change(job.id, FAILED);
    const { status, json } = await asked;
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: 'failed', failure: { reason: 'source_unavailable' }, records: [] });
    expect(json['next_cursor']).toBeNull();
  });

  test('an inline job that finds more than 1,000 records is 422', async () => {
    const world = setUp();
    const asked = world.ask('POST', '/v1/extractions', { ...SYNC, collect: { mode: 'all' } });
    const job = await waiting(world);
    world.change(job.id, { ...OVER, counts: { ...job.counts, collected: 1_000, target: 1_000 } });
    expect((await asked).json).toMatchObject({ status: 422, code: 'sync_limit_exceeded' });
  });

  test('an inline job that reaches another limit first is a failed job', async () => {
    const world = setUp();
    const asked = world.ask('POST', '/v1/extractions', { ...SYNC, collect: { mode: 'all' } });
    const job = await waiting(world);
    world.change(job.id, { ...OVER, counts: { ...job.counts, collected: 500, target: 999 } });
    const { status, json } = await asked;
    expect([status, json['status'], json['failure']]).toEqual([200, 'failed', OVER.failure]);
  });

  test('an inline job with a limit over 1,000 is 422 before a job is created', async () => {
    const { ask, created } = setUp();
    const refused = await ask('POST', '/v1/extractions', { ...SYNC, collect: { mode: 'limit', limit: 1_001 } });
    expect(refused.json).toMatchObject({ status: 422, code: 'sync_limit_exceeded' });
    expect(created).toEqual([]);
  });

  test('a repeated Idempotency-Key returns the same inline response again', async () => {
    const world = setUp();
    const once = { idempotencyKey: 'k' };
    const asked = [1, 2].map(() => world.ask('POST', '/v1/extractions', SYNC, once));
    const job = await waiting(world);
    world.records.set(job.id, [line(1)]);
    world.change(job.id, SUCCEEDED);
    const answers = [...(await Promise.all(asked)), await world.ask('POST', '/v1/extractions', SYNC, once)];
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(world.created).toHaveLength(1);
  });
});

/** Resolves when this many calls wait for a job. Turns of the event loop are real here; time is not. */
async function held({ waiters }: ReturnType<typeof setUp>, count: number): Promise<void> {
  while (waiters.size < count) await new Promise((done) => setImmediate(done));
}

describe('waiting calls', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('a sync delivery that waits too briefly responds with 202 and Retry-After, and its job continues', async () => {
    const world = setUp();
    const body = { ...GOOD, delivery: { type: 'sync', wait_seconds: 3 } };
    const asked = world.ask('POST', '/v1/extractions', body);
    await held(world, 1);
    await vi.advanceTimersByTimeAsync(3_000);
    const { status, json, fields } = await asked;
    expect([status, json['status']]).toEqual([202, 'queued']);
    expect(fields).toMatch(/\r\nRetry-After: [1-9]/);
    expect(fields).toContain(`\r\nLocation: /v1/extractions/${String(json['id'])}`);
    expect(world.jobs[0]?.status).toBe('queued');
  });

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

  test('a waiting status call ends with the job', async () => {
    const world = setUp();
    const job = world.given();
    const asked = world.ask('GET', `/v1/extractions/${job.id}?wait=120`);
    await held(world, 1);
    await vi.advanceTimersByTimeAsync(60_000);
    world.change(job.id, SUCCEEDED);
    expect((await asked).json['status']).toBe('succeeded');
  });

  test('a status call that waits too briefly returns the current state of the job', async () => {
    const world = setUp();
    const job = world.given({ status: 'running' });
    const asked = world.ask('GET', `/v1/extractions/${job.id}?wait=5`);
    await held(world, 1);
    await vi.advanceTimersByTimeAsync(5_000);
    expect((await asked).json['status']).toBe('running');
  });

  test('a wait ends at once when the service stops, and later calls do not wait', async () => {
    const world = setUp();
    const job = world.given({ status: 'running' });
    const asked = world.ask('GET', `/v1/extractions/${job.id}?wait=120`);
    await held(world, 1);
    await vi.advanceTimersByTimeAsync(1_000);
    await world.endpoint.drain();
    expect((await asked).json['status']).toBe('running');
    expect((await world.ask('GET', `/v1/extractions/${job.id}?wait=120`)).json['status']).toBe('running');
  });

  test('a wait ends soon after the client has disconnected', async () => {
    const world = setUp();
    const job = world.given({ status: 'running' });
    const exchange = { aborted: false };
    const asked = world.ask('GET', `/v1/extractions/${job.id}?wait=120`, undefined, { exchange });
    await held(world, 1);
    await vi.advanceTimersByTimeAsync(1_000);
    exchange.aborted = true;
    await vi.advanceTimersByTimeAsync(2_000);
    await asked;
    expect(world.waiters.size).toBe(0);
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

  test.each(['', '-1', '121', '1.5', '1e1', 'x', '0x1', ' 1'])('a wait of "%s" is 400', async (wait) => {
    const world = setUp();
    const job = world.given();
    const refused = await world.ask('GET', `/v1/extractions/${job.id}?wait=${encodeURIComponent(wait)}`);
    expect(refused.json).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ pointer: '?wait' }] });
  });
});
