import { describe, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import { decodeFirst } from '../../../../src/extract/base/first-answer.ts';
import { JobControl } from '../../../../src/extract/engine/job-control.ts';
import { JobReading } from '../../../../src/extract/engine/job-reading.ts';
import type { NewExtraction, RecordPage } from '../../../../src/extract/base/jobs-port.ts';
import type { StoredJob } from '../../../../src/state/tables/extractions/job-rows.ts';
import type { Extraction, ExtractionId } from '../../../../src/work/extraction-job.ts';
import { newExtraction } from '../../../support/extraction-jobs.ts';
import { SchedulerBench, SEALING } from '../../../support/extraction-scheduler.ts';
import { customer, tempStore } from '../../state/support.ts';
import { freeSlices } from '../../../support/slices.ts';

function begin(bounds = {}): {
  bench: SchedulerBench;
  control: JobControl;
  reading: JobReading;
  cancelled: StoredJob[];
} {
  const { extract: store } = tempStore();
  if (store === null) throw new Error('the store was opened to be read');
  const bench = new SchedulerBench(store, bounds);
  const cancelled: StoredJob[] = [];
  const shared = { store, encryptionKey: SEALING, nowMs: () => bench.nowMs };
  const control = new JobControl({
    ...shared,
    scheduler: bench.scheduler,
    onCancelled: (stored) => void cancelled.push(stored),
  });
  const reading = new JobReading({
    ...shared,
    waitingUntilMs: (id) => bench.scheduler.waitingUntilMs(id),
    refresh: () => {},
  });
  bench.scheduler.workerReady();
  onTestFinished(() => bench.scheduler.stop());
  return { bench, control, reading, cancelled };
}

async function create(
  { control, bench }: ReturnType<typeof begin>,
  overrides: Partial<NewExtraction> = {},
): Promise<Extraction> {
  const made = await control.create(newExtraction(overrides));
  if (made.kind !== 'created') throw new Error(made.kind);
  await bench.settle();
  return made.job;
}

const me = customer(1);
const textOf = ({ chunks }: RecordPage): string[] =>
  chunks.flatMap(({ bytes, records, firstSeq }) => {
    const lines = Buffer.from(bytes).toString('utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(records);
    return lines.map((line, i) => `${firstSeq + i}:${(JSON.parse(line) as { id: string }).id}`);
  });

describe('JobControl.cancel', () => {
  test('a cancellation is counted by connector and reported to the operator, for running and for queued jobs', async () => {
    const at = begin({ runningPerCustomerMax: 1 });
    const jobs = [await create(at), await create(at)];
    for (const { id, requestId } of jobs.toReversed()) {
      await at.control.cancel(me, id);
      expect(at.reading.failureOf(requestId)?.entries).toMatchObject([
        { reason: 'cancelled', detail: 'cancelled by the customer' },
      ]);
    }
    await at.control.cancel(me, jobs[0]?.id as ExtractionId);
    expect(at.bench.scheduler.counts.ends).toEqual([{ labels: ['made', 'cancelled'], count: 2 }]);
    expect(jobs.map(({ id }) => at.reading.find(me, id)?.startedAtMs)).toEqual([1_000, null]);
  });
});

describe('JobControl.create', () => {
  test('a new job is queued in its response and found at once', async () => {
    const at = begin();
    const made = await at.control.create(newExtraction());
    expect(made).toMatchObject({
      kind: 'created',
      job: { status: 'queued', usage: { credits: 0, tier: 'basic' }, counts: { target: 100 } },
    });
    const id = made.kind === 'created' ? made.job.id : ('' as ExtractionId);
    expect(at.reading.find(me, id)?.id).toBe(id);
    expect(at.reading.find(customer(2), id)).toBeNull();
  });

  test('the pause of a waiting job is shown when it is fetched by id and in the list', async () => {
    const at = begin();
    const { id } = await create(at);
    expect(at.reading.find(me, id)).toMatchObject({ status: 'running', waitingUntilMs: null });
    await at.bench.answer(at.bench.take('first'), { next: ['second'], pauseMs: 5_000 });
    const waitingUntilMs = at.bench.nowMs + 5_000;
    expect(at.reading.find(me, id)).toMatchObject({ waitingUntilMs });
    const query = { after: null, limit: 10, status: null, connector: null, operation: null };
    expect((await at.reading.page(me, query, freeSlices())).rows).toMatchObject([{ id, waitingUntilMs }]);
  });

  test('a new job is rejected when the queue is full, even if several arrive together', async () => {
    const at = begin({ runningPerCustomerMax: 1, queuedPerCustomerMax: 3 });
    await create(at);
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => at.control.create(newExtraction())));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['created', 'created', 'created', 'queue_full', 'queue_full']);
    expect(outcomes[3]).toMatchObject({ retryAfterSeconds: 15 });
    expect((await at.control.create(newExtraction({ customer: customer(2) }))).kind).toBe('created');
    at.bench.scheduler.isPaused = true;
    expect((await at.control.create(newExtraction({ customer: customer(2) }))).kind).toBe('queue_full');
  });

  test('a new job with a missing, expired or foreign session is rejected', async () => {
    const at = begin();
    const made = await at.control.sessions.create({
      customer: me,
      session: { host: 'shop.example', cookies: [], headers: { 'x-key': 'secret' } },
      expiresAtMs: at.bench.nowMs + 60_000,
    });
    const id = made.kind === 'created' ? made.session.id : '';
    const kind = async (overrides: Partial<NewExtraction>): Promise<string> =>
      (await at.control.create(newExtraction(overrides))).kind;
    expect(await kind({ session: id })).toBe('created');
    expect(await kind({ session: id, customer: customer(2) })).toBe('unknown_session');
    expect(await kind({ session: newId('ses', 5) })).toBe('unknown_session');
    at.bench.nowMs += 60_000;
    expect(await kind({ session: id })).toBe('unknown_session');
  });

  test('a repeated Idempotency-Key creates no second job and returns the first response, even with a full queue', async () => {
    const at = begin({ runningPerCustomerMax: 0, queuedPerCustomerMax: 1 });
    const idempotency = { key: 'k', bodySha256: Buffer.alloc(32), newSecret: 'whsec_1' };
    const first = await at.control.create(newExtraction({ idempotency }));
    const again = await at.control.create(newExtraction({ idempotency }));
    expect(again).toMatchObject({ kind: 'replay' });
    const { id, body } = again.kind === 'replay' ? decodeFirst(again.answer) : { id: null, body: '' };
    expect(id).toBe(first.kind === 'created' ? first.job.id : '');
    expect(body).toContain(`"id":"${id}"`);
    const other = { ...idempotency, bodySha256: Buffer.alloc(32, 1) };
    expect((await at.control.create(newExtraction({ idempotency: other }))).kind).toBe('conflict');
  });

  test("the secrets of a job's delivery can be read only by their owner", async () => {
    const at = begin();
    const { id } = await create(at, { deliverySecrets: { secret: 'whsec_1' } });
    expect(at.reading.deliverySecretsOf(me, id)).toEqual({ secret: 'whsec_1' });
    expect(at.reading.deliverySecretsOf(customer(2), id)).toBeNull();
    expect(JSON.stringify(at.reading.find(me, id))).not.toContain('whsec_1');
  });
});

describe('cancelling twice', () => {
  test('A job is cancelled once, and only by its owner', async () => {
    const at = begin();
    const { id } = await create(at);
    expect(await at.control.cancel(customer(2), id)).toEqual({ kind: 'not_found' });
    expect(await at.control.cancel(me, id)).toMatchObject({
      kind: 'cancelled',
      job: { status: 'failed', failure: { reason: 'cancelled', retryable: false } },
    });
    expect(at.cancelled).toHaveLength(1);
    expect(await at.control.cancel(me, id)).toMatchObject({ kind: 'ended' });
  });
});

describe('JobReading.records', () => {
  test('pages of records are limited by number and bytes across chunks, and always make progress', async () => {
    const at = begin();
    const job = await create(at, { collect: { mode: 'all' } });
    await at.bench.answer(at.bench.take('first'), { ids: ['a', 'b', 'c'], next: ['x'] });
    await at.bench.answer(at.bench.take('x'), { ids: ['d', 'e', 'f', 'g'] });
    const read = (fromSeq: number, recordsMax: number, bytesMax = 10_000): RecordPage =>
      at.reading.records(me, job.id, { fromSeq, recordsMax, bytesMax });
    expect(textOf(read(0, 100))).toEqual(['0:a', '1:b', '2:c', '3:d', '4:e', '5:f', '6:g']);
    expect(textOf(read(2, 3))).toEqual(['2:c', '3:d', '4:e']);
    expect(read(2, 3).nextSeq).toBe(5);
    expect(textOf(read(5, 100))).toEqual(['5:f', '6:g']);
    expect(read(5, 2).nextSeq).toBeNull();
    expect(read(7, 10)).toEqual({ chunks: [], nextSeq: null });
    expect(textOf(read(0, 100, 1))).toEqual(['0:a']);
    expect(read(0, 100, 1).nextSeq).toBe(1);
    const line = Buffer.byteLength('{"id":"a","_meta":{"id":"a"}}\n');
    expect(textOf(read(1, 100, 3 * line))).toEqual(['1:b', '2:c', '3:d']);
    expect(at.reading.records(customer(2), job.id, { fromSeq: 0, recordsMax: 9, bytesMax: 9 }).chunks).toEqual([]);
  });
});
