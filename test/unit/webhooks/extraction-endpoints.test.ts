import { expect, onTestFinished, test, vi } from 'vitest';
import { unreachable } from '../../../src/kernel/brand.ts';
import { newId } from '../../../src/kernel/ids.ts';
import type { Delivery } from '../../../src/work/webhook.ts';
import { OWN_HELD_MAX } from '../../../src/webhooks/own-endpoints.ts';
import type { DeliverOrder } from '../../../src/webhooks/deliver-messages.ts';
import { delivery } from '../state/deliveries-support.ts';
import { tempStore, value } from '../state/support.ts';
import { CUSTOMER, DispatcherBench } from './dispatcher-support.ts';
import { RunnerBench } from './runner-support.ts';

const MINUTE = 60_000;

/** Returns a new row to the endpoint of a job. */
function extractionRow(bench: DispatcherBench, extra: Partial<Delivery> = {}): Delivery {
  const endpointId = newId('ext', bench.nowMs);
  const secrets = { current: 'whsec_AAAA', previous: [] };
  bench.extractionEndpoints.set(endpointId, { url: 'https://jobs.test/hook', secrets });
  const more = { endpointId, event: 'extraction.records', trigger: 'extraction' } as const;
  return delivery(CUSTOMER, { ...more, url: 'https://jobs.test/hook', ...extra }, bench.nowMs);
}

/** Returns a row's fields with failed attempts and this remaining wait. */
function waiting(bench: DispatcherBench, waitMs: number): Partial<Delivery> {
  const startedAtMs = bench.nowMs - 10;
  const made = [1, 2].map((attempt) => ({ attempt, startedAtMs, durationMs: 5, statusCode: 500 }));
  return {
    attempts: made.map((attempt) => ({ ...attempt, error: 'http_status' as const })),
    nextAttemptAtMs: bench.nowMs + waitMs,
  };
}

function kindsOf(bench: DispatcherBench, endpointId: string): DeliverOrder['kind'][] {
  return bench.orders.flatMap((order) => {
    switch (order.kind) {
      case 'endpoint':
        return order.endpoint.endpointId === endpointId ? order.kind : [];
      case 'deliver':
        return order.tasks.some((task) => task.endpointId === endpointId) ? order.kind : [];
      case 'forget':
      case 'skip':
        return order.endpointId === endpointId ? order.kind : [];
      case 'listening':
      case 'lease':
      case 'drop':
      case 'stop':
        return [];
      default:
        return unreachable(order);
    }
  });
}

test("A job's endpoint is registered by its id and forgotten when its delivery has ended", async () => {
  const bench = await new DispatcherBench(tempStore()).start();
  const row = extractionRow(bench);
  expect(bench.dispatcher.add(row)).toBe(true);
  const [task] = await bench.handedOut(1);
  expect(bench.orders.find(({ kind }) => kind === 'endpoint')).toMatchObject({
    endpoint: { endpointId: row.endpointId, url: 'https://jobs.test/hook', secrets: { current: 'whsec_AAAA' } },
  });
  const ended = bench.dispatcher.ended(row.id);
  if (task !== undefined) bench.tell(task, { kind: 'succeeded' });
  await ended;
  bench.dispatcher.forget(row.endpointId);
  expect(kindsOf(bench, row.endpointId)).toEqual(['endpoint', 'deliver', 'forget']);
  expect(bench.dispatcher.windows.held).toBe(0);
});

test('An ended extraction delivery has no body and cannot be retried', async () => {
  const bench = await new DispatcherBench(tempStore()).start();
  const row = extractionRow(bench, { body: Buffer.alloc(100_000, 'x') });
  bench.dispatcher.add(row);
  const [task] = await bench.handedOut(1);
  expect((await bench.dispatcher.find(CUSTOMER, row.id))?.body).toHaveLength(100_000);
  expect(await bench.control.retry(CUSTOMER, row.id)).toEqual({ kind: 'pending' });
  if (task !== undefined) bench.fail(task);
  await bench.until('failed', 1);
  expect(await bench.dispatcher.find(CUSTOMER, row.id)).toEqual({
    ...row,
    status: 'failed',
    error: 'http_status',
    elapsedMs: 5,
    completedAtMs: bench.nowMs,
    attempts: [{ attempt: 1, startedAtMs: bench.nowMs, durationMs: 5, statusCode: 500, error: 'http_status' }],
    body: Buffer.alloc(0),
  });
  expect(await bench.control.retry(CUSTOMER, row.id)).toEqual({ kind: 'endpoint_gone' });
});

test('A row whose job has no pending delivery any more is skipped', async () => {
  const bench = await new DispatcherBench(tempStore()).start();
  const row = extractionRow(bench);
  bench.extractionEndpoints.clear();
  const ended = bench.dispatcher.ended(row.id);
  bench.dispatcher.add(row);
  await ended;
  expect(bench.rows('skipped')).toMatchObject([{ id: row.id, error: 'gone' }]);
});

test('A delivery with a long wait holds no slot: it goes back to the store and is handed out again when it is due', async () => {
  const bench = await new DispatcherBench(tempStore()).start();
  const row = extractionRow(bench);
  bench.dispatcher.add(row);
  const [task] = await bench.handedOut(1);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  if (task !== undefined) bench.tell(task, { kind: 'parked', nextAttemptAtMs: bench.nowMs + MINUTE }, 'http_status');
  while (bench.dispatcher.windows.held > 0) await turn();
  expect(await bench.dispatcher.find(CUSTOMER, row.id)).toMatchObject({
    status: 'pending',
    nextAttemptAtMs: bench.nowMs + MINUTE,
    attempts: [{ error: 'http_status' }],
  });
  vi.advanceTimersByTime(MINUTE - 1);
  await turn();
  expect(kindsOf(bench, row.endpointId)).toEqual(['endpoint', 'deliver', 'forget']);
  bench.nowMs += MINUTE;
  vi.advanceTimersByTime(1);
  vi.useRealTimers();
  const [, again] = await bench.handedOut(2);
  expect(again).toMatchObject({ deliveryId: row.id, attemptsMade: 1, notBeforeMs: 0 });
  expect(kindsOf(bench, row.endpointId)).toEqual(['endpoint', 'deliver', 'forget', 'endpoint', 'deliver']);
});

test('After a start, deliveries due much later stay in the store, and those due soon go to the worker', async () => {
  const store = tempStore();
  const bench = new DispatcherBench(store);
  const [far, near] = [extractionRow(bench, waiting(bench, MINUTE)), extractionRow(bench, waiting(bench, 4_000))];
  await value(store.deliveries.insert([far, near], 0));
  await bench.start();
  const [task] = await bench.handedOut(1);
  expect(task).toMatchObject({ deliveryId: near.id, attemptsMade: 2, notBeforeMs: bench.nowMs + 4_000 });
  await turn();
  expect(bench.tasks()).toHaveLength(1);
  expect(bench.dispatcher.windows.held).toBe(1);
  expect(bench.rows('pending')).toHaveLength(2);
});

test('The worker holds a bounded number of extraction payloads, and the others follow in turn, even after it died', async () => {
  const bench = await new DispatcherBench(tempStore()).start();
  const rows = Array.from({ length: OWN_HELD_MAX + 40 }, () => extractionRow(bench));
  for (const row of rows) expect(bench.dispatcher.add(row)).toBe(true);
  const first = await bench.handedOut(OWN_HELD_MAX);
  await turn();
  expect(bench.tasks()).toHaveLength(OWN_HELD_MAX);
  for (const task of first.slice(0, 10)) bench.tell(task, { kind: 'succeeded' });
  for (const task of first.slice(10, 20))
    bench.tell(task, { kind: 'parked', nextAttemptAtMs: bench.nowMs + MINUTE }, 'timeout');
  await bench.handedOut(OWN_HELD_MAX + 20);
  await turn();
  expect(bench.tasks()).toHaveLength(OWN_HELD_MAX + 20);
  // Deliveries of decisions have their own slots.
  await bench.webhook('BLOCK');
  bench.decide('BLOCK', 5);
  await bench.handedOut(OWN_HELD_MAX + 25);
  bench.kill();
  bench.revive();
  const again = await bench.handedOut(OWN_HELD_MAX + 5);
  for (const task of again) bench.tell(task, { kind: 'succeeded' });
  const rest = (await bench.handedOut(OWN_HELD_MAX + 25)).slice(again.length);
  for (const task of rest) bench.tell(task, { kind: 'succeeded' });
  await bench.until('succeeded', rows.length - 10 + 5);
  expect(bench.rows('pending')).toHaveLength(10);
  await vi.waitFor(() => expect(bench.dispatcher.windows.held).toBe(0), 5_000);
});

test('The worker releases deliveries that wait for minutes and keeps those that wait for seconds', async () => {
  const bench = new RunnerBench(() => ({ status: 503 }));
  bench.meet('a');
  bench.deliver('a', 1, { trigger: 'extraction' });
  await bench.time.pass(10 * MINUTE);
  expect(bench.attemptsOf('a/0')).toEqual([0, 5_000]);
  const waits = bench.results.map(({ outcome }) => outcome);
  expect(waits).toEqual([
    { kind: 'waiting', nextAttemptAtMs: expect.any(Number) as number },
    { kind: 'parked', nextAttemptAtMs: bench.time.nowMs - 10 * MINUTE + 65_000 },
  ]);
  expect(bench.runner.stats().held).toBe(0);
  bench.deliver('a', 1, { trigger: 'extraction', attemptsMade: 5 });
  await bench.time.pass(1_000);
  expect(bench.results.at(-1)?.outcome).toEqual({ kind: 'failed', error: 'http_status' });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
