import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DeliveryWorker } from '../../../src/webhooks/delivery-worker.ts';
import { LATER_PER_ENDPOINT_MAX } from '../../../src/webhooks/later-deliveries.ts';
import { tempStore } from '../state/support.ts';
import { CUSTOMER, DispatcherBench } from './dispatcher-support.ts';

/** A patient webhook, with the real worker on simulated time. */

const HOUR_MS = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Sent {
  readonly deliveryId: string;
  readonly atMs: number;
  readonly status: number;
}

class PatientBench extends DispatcherBench {
  readonly sent: Sent[] = [];
  /** The receiver's answer. */
  statusOf: (deliveryId: string) => number = () => 200;
  #orders = 0;
  #worker = this.#newWorker();

  constructor() {
    super(tempStore());
    Object.defineProperty(this, 'nowMs', { get: () => Date.now() });
  }

  #newWorker(): DeliveryWorker {
    return new DeliveryWorker({
      attemptsInFlightMax: 512,
      nowMs: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      after: (ms, then) => {
        const timer = setTimeout(then, ms);
        return () => clearTimeout(timer);
      },
      endOfTurn: (then) => void setTimeout(then, 0),
      headersFor: ({ deliveryId }) => ({ 'webhook-id': deliveryId }),
      send: ({ headers }) => {
        const deliveryId = headers['webhook-id'] ?? '';
        const status = this.statusOf(deliveryId);
        this.sent.push({ deliveryId, atMs: this.nowMs, status });
        return Promise.resolve({ outcome: { kind: 'response', status }, statusCode: status, durationMs: 1 });
      },
      connections: () => ({ connectionsOpened: 0, connectionsReused: 0, blockedAddresses: 0 }),
      onResults: (results) => this.report(results),
      onStopped: () => {},
      onFault: (error) => {
        throw error;
      },
    });
  }

  /** Lets the time pass, one timer at a time, with what the store and the worker do meanwhile. */
  async pass(ms: number): Promise<void> {
    const untilMs = Date.now() + ms;
    setTimeout(() => {}, ms);
    await this.#turns();
    while (Date.now() < untilMs) {
      await vi.advanceTimersToNextTimerAsync();
      await this.#turns();
    }
  }

  async #turns(): Promise<void> {
    for (let turn = 0; turn < 4; turn++) {
      await nextTurn();
      for (const order of this.orders.slice(this.#orders)) if (order.kind !== 'listening') this.#worker.order(order);
      this.#orders = this.orders.length;
    }
    await this.store.deliveries.settled();
    await this.dispatcher.health.save();
  }

  /** Everything that the worker held is lost. */
  async restartWorker(): Promise<void> {
    this.kill();
    this.revive();
    this.#orders = 0;
    this.#worker = this.#newWorker();
    await this.#turns();
  }

  get delivered(): readonly string[] {
    return this.sent.filter(({ status }) => status < 300).map(({ deliveryId }) => deliveryId);
  }
}

const setUp = async (): Promise<PatientBench> => {
  const bench = new PatientBench();
  await bench.start();
  return bench;
};

test('A receiver that is down for six hours gets everything, once and in order', { timeout: 120_000 }, async () => {
  const bench = await setUp();
  const webhook = await bench.subscribed({ retry: 'patient' });
  bench.statusOf = () => 503;
  for (let minute = 0; minute < 6 * 60; minute += 2) {
    bench.decide('BLOCK', 2);
    await bench.pass(120_000);
  }
  expect(bench.health(webhook).status).toBe('unhealthy');
  expect(bench.delivered).toEqual([]);
  expect([bench.rows('pending').length, bench.rows('skipped').length, bench.rows('failed').length]).toEqual([
    360, 0, 0,
  ]);
  // One trial a minute, and the fast attempts of those that made it unhealthy.
  expect(bench.sent.length).toBeLessThan(6 * 60 + 60);
  // A worker that dies with a trial in flight.
  await bench.restartWorker();
  bench.statusOf = () => 200;
  await bench.pass(120_000);
  expect(bench.health(webhook).status).toBe('healthy');
  const waiting = bench.rows('pending').length;
  // Those that had begun wait for their own retry.
  expect(waiting).toBeLessThanOrEqual(12);
  const order = bench.delivered.slice(1);
  expect(order).toEqual([...order].sort());
  await bench.pass(3 * HOUR_MS);
  expect(bench.rows('succeeded')).toHaveLength(360);
  expect(new Set(bench.delivered).size).toBe(360);
  expect(bench.delivered).toHaveLength(360);
});

test('Deliveries that wait for a fast retry when the webhook becomes unhealthy are kept', async () => {
  const bench = await setUp();
  const webhook = await bench.subscribed({ retry: 'patient' });
  bench.statusOf = () => 500;
  bench.decide('BLOCK', 10);
  await bench.pass(13_000);
  bench.decide('BLOCK', 5);
  await bench.pass(10_000);
  expect(bench.health(webhook).status).toBe('unhealthy');
  expect([bench.rows('pending').length, bench.rows('skipped').length]).toEqual([15, 0]);
});

test('A delivery is retried 10 times within 35 hours, and has failed only then', { timeout: 120_000 }, async () => {
  const bench = await setUp();
  const webhook = await bench.subscribed({ retry: 'patient' });
  bench.statusOf = () => 500;
  bench.decide('BLOCK');
  const beganMs = bench.nowMs;
  await bench.pass(11 * HOUR_MS);
  expect([bench.rows('pending').length, bench.health(webhook).consecutiveFailures]).toEqual([1, 1]);
  await bench.pass(24 * HOUR_MS);
  const minutes = bench.sent.map(({ atMs }) => Math.round((atMs - beganMs) / 60_000));
  expect(minutes).toEqual([0, 0, 0, 0, 1, 6, 36, 156, 636, 2076]);
  expect(bench.rows('failed')).toMatchObject([{ error: 'http_status', attempts: { length: 10 } }]);
  expect(bench.health(webhook).consecutiveFailures).toBe(2);
});

test(
  'A delivery that fails on its own does not hold up the others, over a restart too',
  { timeout: 60_000 },
  async () => {
    const bench = await setUp();
    await bench.subscribed({ retry: 'patient' });
    let isPoisoned = true;
    let poison = '';
    bench.statusOf = (id) => {
      poison ||= id;
      return isPoisoned && id === poison ? 500 : 200;
    };
    bench.decide('BLOCK');
    await bench.pass(30_000);
    expect(bench.sent).toHaveLength(4);
    for (let i = 0; i < 3; i++) bench.decide('BLOCK', 30);
    await bench.pass(10_000);
    expect(bench.rows('succeeded')).toHaveLength(90);
    await bench.restartWorker();
    isPoisoned = false;
    await bench.pass(60_000);
    expect(bench.rows('succeeded')).toHaveLength(91);
  },
);

test('A webhook that is fast again skips what waited, and a retry by hand does not wait', async () => {
  const bench = await setUp();
  const webhook = await bench.subscribed({ retry: 'patient' });
  bench.statusOf = () => 500;
  bench.decide('BLOCK', 12);
  await bench.pass(60_000);
  expect([bench.health(webhook).status, bench.rows('pending').length]).toEqual(['unhealthy', 12]);
  const sent = bench.sent.length;
  const [ended] = bench.rows('pending');
  if (ended === undefined) throw new Error('nothing is pending');
  await bench.control.change(CUSTOMER, webhook.id, { retry: 'fast' }, 'service');
  await bench.pass(2_000);
  expect(bench.rows('skipped')).toHaveLength(12);
  const retried = bench.control.retry(CUSTOMER, ended.id);
  await bench.pass(2_000);
  expect((await retried).kind).toBe('queued');
  await bench.pass(2_000);
  expect(bench.sent.length).toBeGreaterThan(sent);
});

test('A delivery whose late retry is due is read by its id, without a scan of those that wait', async () => {
  const bench = await setUp();
  await bench.subscribed({ retry: 'patient' });
  bench.statusOf = () => 500;
  bench.decide('BLOCK', 3);
  await bench.pass(40_000);
  const scans = vi.spyOn(bench.store.deliveries, 'pendingOf');
  bench.statusOf = () => 200;
  await bench.pass(60_000);
  expect([bench.rows('succeeded').length, scans.mock.calls.length]).toEqual([3, 0]);
});

test('Nothing is delivered again while deliveries are only in the journal', async () => {
  const bench = await setUp();
  const webhook = await bench.subscribed({ retry: 'patient' });
  const again = {
    requestId: 'req_01KAJ8Q5W0V4T0M2Y8Z3N6R7DC',
    event: 'BLOCK',
    body: Buffer.from('{}'),
    before: 1,
  } as const;
  expect(bench.control.redeliver(CUSTOMER, webhook.id, again)).toBe(true);
  bench.dispatcher.rows.resume(9_999);
  expect(bench.control.redeliver(CUSTOMER, webhook.id, again)).toBe(false);
});

test('At most 10,000 deliveries of an endpoint wait for a late retry', async () => {
  const bench = await setUp();
  const webhook = await bench.subscribed({ retry: 'patient' });
  for (let i = 0; i < LATER_PER_ENDPOINT_MAX; i++)
    bench.dispatcher.prefetch.later.add(webhook.id, `dlv_${i}` as never, bench.nowMs + HOUR_MS);
  bench.statusOf = () => 500;
  bench.decide('BLOCK');
  await bench.pass(30_000);
  expect(bench.rows('failed')).toMatchObject([{ attempts: { length: 4 } }]);
});
