import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Extraction } from '../../../../src/work/extraction-job.ts';
import type { Delivery, DeliveryId } from '../../../../src/work/webhook.ts';
import {
  type DeliveryLine,
  type DeliveryState,
  ResultDeliveries,
  type ResultDeliveriesParts,
} from '../../../../src/extract/sinks/result-deliveries.ts';
import type { SentPart } from '../../../../src/extract/sinks/s3.ts';
import { settle, VirtualTime } from '../../webhooks/virtual-time.ts';
import { chunksOf, CUSTOMER, deliveryOf, jobOf, JOB_ID, readerOf } from './support.ts';

const REF = { customer: CUSTOMER, id: JOB_ID };

interface Payload {
  readonly sequence: number;
  readonly final: boolean;
  readonly records: readonly { readonly id: string }[];
}

/** State that survives the end of a process, and the part that runs in one. */
class World {
  readonly time = new VirtualTime();
  job: Extraction;
  state: DeliveryState | null = null;
  /** The log of deliveries. */
  readonly rows = new Map<DeliveryId, Delivery>();
  readonly lines: DeliveryLine[] = [];
  readonly uploads: { atMs: number; uploadId: string | null }[] = [];
  /** The result of an upload. */
  send: (attempt: number, saveUpload: (uploadId: string | null) => Promise<void>) => Promise<SentPart> = () =>
    Promise.resolve({ kind: 'sent', bytes: 10 });
  /** Jobs whose endpoints get nothing more. */
  readonly forgotten: string[] = [];
  hasRoom = true;
  storeFaults = 0;
  /** Turns of the event loop to wait for; null if each comes at once. */
  turns: (() => void)[] | null = null;
  /** The process ends at this call of a part; Infinity for never. */
  killAt = Infinity;
  #calls = 0;
  #ids = 0;
  #endings = new Map<DeliveryId, () => void>();
  readonly #chunks = chunksOf([4, 9, 10]);

  constructor(more: Partial<Extraction> = {}) {
    this.job = jobOf(23, { delivery: deliveryOf({ url: 'https://hooks.example/x', batchSize: 10 }), ...more });
  }

  /** Calls of a dead process never settle. */
  async #call(): Promise<void> {
    if (++this.#calls > this.killAt) await new Promise(() => {});
  }

  start(): ResultDeliveries {
    this.#calls = 0;
    this.#endings = new Map();
    const endings = this.#endings;
    const reader = readerOf(this.#chunks);
    const parts: ResultDeliveriesParts = {
      find: () => this.job,
      stateOf: ({ id }) => (id === JOB_ID ? this.state : null),
      save: async ({ id }, state) => {
        await this.#call();
        if (this.storeFaults-- > 0) throw new Error('the store refused it');
        if (id === JOB_ID) this.state = structuredClone(state);
        await this.#call();
      },
      finish: async (_ref, status) => {
        await this.#call();
        this.job = { ...this.job, delivery: { ...this.job.delivery, status } };
        await this.#call();
      },
      reader: () => reader,
      log: {
        find: async (_customer, id) => {
          await this.#call();
          return this.rows.get(id) ?? null;
        },
        add: (row) => {
          if (this.#calls > this.killAt || !this.hasRoom) return false;
          expect(this.rows.has(row.id)).toBe(false);
          this.rows.set(row.id, row);
          return true;
        },
        ended: (_customer, id) => new Promise((resolve) => endings.set(id, resolve)),
        forget: (id) => void this.forgotten.push(id),
      },
      upload: async (_job, uploadId, saveUpload) => {
        await this.#call();
        this.uploads.push({ atMs: this.time.nowMs, uploadId });
        return this.send(this.uploads.length, saveUpload);
      },
      newDeliveryId: () => `dlv_${String(++this.#ids).padStart(26, '0')}` as DeliveryId,
      nowMs: () => this.time.nowMs,
      after: (ms, run) => this.time.after(ms, run),
      pause: async () => {
        if (this.turns !== null) await new Promise<void>((resolve) => this.turns?.push(resolve));
      },
      note: (line) => this.lines.push(line),
    };
    const deliveries = new ResultDeliveries(parts);
    deliveries.add(REF);
    return deliveries;
  }

  /** Ends all pending rows. */
  async endRows(status: 'succeeded' | 'failed' = 'succeeded'): Promise<void> {
    for (const row of this.rows.values()) {
      if (row.status !== 'pending') continue;
      const attempt = { attempt: 6, startedAtMs: 0, durationMs: 1, statusCode: 500, error: 'http_status' } as const;
      this.rows.set(row.id, { ...row, status, attempts: status === 'failed' ? [attempt] : [] });
      this.#endings.get(row.id)?.();
    }
    await settleAll();
  }

  payloads(): Payload[] {
    return [...this.rows.values()].map(({ body }) => JSON.parse(body.toString()) as Payload);
  }

  get pending(): number {
    return [...this.rows.values()].filter(({ status }) => status === 'pending').length;
  }
}

async function settleAll(): Promise<void> {
  for (let i = 0; i < 10; i++) await settle();
}

describe('ResultDeliveries to a webhook', () => {
  test('batches are sent one at a time and in order, and the job is delivered after the last one', async () => {
    const world = new World();
    const deliveries = world.start();
    for (let sequence = 1; sequence <= 4; sequence++) {
      await settleAll();
      expect(world.pending).toBe(1);
      expect(world.payloads().at(-1)?.sequence).toBe(sequence);
      expect(world.job.delivery.status).toBe('pending');
      await world.endRows();
    }
    expect(world.job.delivery.status).toBe('delivered');
    expect(world.payloads().map(({ records }) => records.length)).toEqual([10, 10, 3, 0]);
    expect([...world.rows.values()][0]).toMatchObject({
      endpointId: JOB_ID,
      trigger: 'extraction',
      event: 'extraction.records',
      url: 'https://hooks.example/x',
      status: 'succeeded',
    });
    expect(world.lines).toMatchObject([{ event: 'extraction_delivered', kind: 'webhook', detail: '23 records' }]);
    expect(deliveries.size).toBe(0);
    expect(world.time.timers).toBe(0);
    expect(world.forgotten).toEqual([JOB_ID]);
  });

  test('a customer has at most 128 deliveries in progress, and the next one starts when one ends', async () => {
    const world = new World();
    const deliveries = world.start();
    const ids = Array.from({ length: 130 }, (_, other) => `ext_${other}` as typeof REF.id);
    for (const id of ids) deliveries.add({ ...REF, id });
    for (let turn = 0; turn < 40; turn++) await settleAll();
    expect([world.rows.size, deliveries.size]).toEqual([128, 131]);
    const other = { customer: 8 as typeof REF.customer, id: 'ext_other' as typeof REF.id };
    deliveries.add(other);
    await settleAll();
    expect(world.rows.size).toBe(129);
    await deliveries.stop();
    expect(deliveries.size).toBe(0);
  });

  test('a batch that failed permanently ends the delivery, and later batches are not sent', async () => {
    const world = new World();
    world.start();
    await settleAll();
    await world.endRows();
    await world.endRows('failed');
    expect(world.job.delivery.status).toBe('failed');
    expect(world.payloads().map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(world.lines).toMatchObject([
      { event: 'extraction_delivery_failed', error: 'http_status', detail: 'batch 2 failed after 1 attempts' },
    ]);
  });

  test('a failed job notifies its webhook, which completes the delivery', async () => {
    const world = new World({ status: 'failed', failure: { reason: 'timeout', retryable: true } });
    world.start();
    await settleAll();
    await world.endRows();
    expect(world.payloads()).toMatchObject([{ event: 'extraction.failed', final: true, records: [] }]);
    expect(world.job.delivery.status).toBe('delivered');
  });

  test('a full log is retried with the same delivery id', async () => {
    const world = new World();
    world.hasRoom = false;
    world.start();
    await world.time.pass(11_000);
    expect(world.rows.size).toBe(0);
    world.hasRoom = true;
    await world.time.pass(5_000);
    expect([...world.rows.keys()]).toEqual(['dlv_00000000000000000000000001']);
  });

  test('a failed store operation is retried', async () => {
    const world = new World();
    world.storeFaults = 2;
    world.start();
    await world.time.pass(12_000);
    expect(world.payloads().map(({ sequence }) => sequence)).toEqual([1]);
    expect(world.lines).toHaveLength(2);
  });

  test('the end of a row is detected in time even without a notification', async () => {
    const world = new World();
    world.start();
    await settleAll();
    for (const row of world.rows.values()) world.rows.set(row.id, { ...row, status: 'succeeded' });
    await world.time.pass(300_000);
    expect(world.payloads().map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  test('the payloads of many jobs are built one per turn of the event loop', async () => {
    const world = new World();
    const turns: (() => void)[] = [];
    world.turns = turns;
    const deliveries = world.start();
    for (let other = 1; other < 4; other++) deliveries.add({ ...REF, id: `ext_${other}` as typeof REF.id });
    for (let made = 0; made < 4; made++) {
      await settleAll();
      expect([world.rows.size, turns.length]).toEqual([made, 1]);
      turns.shift()?.();
    }
  });

  test('every batch is in the log once and in order, wherever the process is killed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 12 }), async (kills) => {
        const world = new World();
        for (const killAt of [...kills, Infinity]) {
          world.killAt = killAt;
          const deliveries = world.start();
          await settleAll();
          for (let turn = 0; turn < 8; turn++) await world.endRows();
          if (killAt === Infinity) expect(deliveries.size).toBe(0);
        }
        expect(world.job.delivery.status).toBe('delivered');
        const payloads = world.payloads();
        expect(payloads.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
        const ids = payloads.flatMap(({ records }) => records.map(({ id }) => id));
        expect(ids).toEqual(Array.from({ length: 23 }, (_, seq) => `r${seq}`));
      }),
      { seed: 3, numRuns: 100 },
    );
  });
});

const FAILED: SentPart = { kind: 'failed', error: 'http_status', detail: 'PUT answered 503', isFinal: false };
const TO_S3 = {
  delivery: deliveryOf({ kind: 's3', s3: { endpoint: 'https://s3.example', bucket: 'b', region: 'r', prefix: '' } }),
};

describe('ResultDeliveries to a destination', () => {
  test('failed attempts are repeated after 5 s, 1 min, 5 min, 30 min and 2 h, and then the delivery fails', async () => {
    const world = new World(TO_S3);
    world.send = () => Promise.resolve(FAILED);
    const startMs = world.time.nowMs;
    world.start();
    await world.time.pass(24 * 3_600_000);
    expect(world.uploads.map(({ atMs }) => (atMs - startMs) / 1_000)).toEqual([0, 5, 65, 365, 2_165, 9_365]);
    expect(world.job.delivery.status).toBe('failed');
    expect(world.lines.map(({ event }) => event)).toEqual([
      ...Array.from({ length: 5 }, () => 'extraction_delivery_waits'),
      'extraction_delivery_failed',
    ]);
    expect(world.lines.at(-1)).toMatchObject({ error: 'http_status', detail: 'PUT answered 503', kind: 's3' });
  });

  test('the schedule continues where it stopped after the end of the process', async () => {
    const world = new World(TO_S3);
    world.send = () => Promise.resolve(FAILED);
    const startMs = world.time.nowMs;
    const first = world.start();
    await world.time.pass(100_000);
    await first.stop();
    expect(world.time.timers).toBe(0);
    await world.time.pass(100_000);
    world.send = () => Promise.resolve({ kind: 'sent', bytes: 42 });
    world.start();
    await world.time.pass(3_600_000);
    expect(world.uploads.map(({ atMs }) => (atMs - startMs) / 1_000)).toEqual([0, 5, 65, 365]);
    expect(world.job.delivery.status).toBe('delivered');
    expect(world.lines.at(-1)).toMatchObject({ event: 'extraction_delivered', detail: '42 bytes at attempt 4' });
  });

  test('a clock that was set back makes no wait longer than the longest planned one', async () => {
    const world = new World(TO_S3);
    world.state = { kind: 'upload', attemptsMade: 1, nextAttemptAtMs: world.time.nowMs + 1e12, uploadId: null };
    world.start();
    await world.time.pass(7_200_000);
    expect(world.uploads).toHaveLength(0);
    world.state = { ...world.state, nextAttemptAtMs: 0 };
    await world.time.pass(7_200_000);
    expect(world.uploads).toHaveLength(1);
  });

  test('a permanent failure ends the delivery', async () => {
    const world = new World(TO_S3);
    world.send = () => Promise.resolve({ ...FAILED, isFinal: true });
    world.start();
    await settleAll();
    expect(world.job.delivery.status).toBe('failed');
    expect(world.uploads).toHaveLength(1);
  });

  test('an unfinished upload is passed to the next attempt, even in another process', async () => {
    const world = new World(TO_S3);
    world.send = async (_attempt, saveUpload) => {
      await saveUpload('open-1');
      return new Promise(() => {});
    };
    world.start();
    await settleAll();
    world.send = async (_attempt, saveUpload) => {
      await saveUpload(null);
      return FAILED;
    };
    world.start();
    await settleAll();
    expect(world.uploads.map(({ uploadId }) => uploadId)).toEqual([null, 'open-1']);
    expect(world.state).toMatchObject({ attemptsMade: 1, uploadId: null });
  });

  test('an attempt that the stop of the service interrupts does not count', async () => {
    const world = new World(TO_S3);
    world.send = () => Promise.resolve({ ...FAILED, error: 'shutdown' });
    const deliveries = world.start();
    await settleAll();
    expect(world.job.delivery.status).toBe('pending');
    expect(world.state).toBeNull();
    expect(deliveries.size).toBe(0);
  });

  test('a failed job has nothing to upload', async () => {
    const world = new World({ ...TO_S3, status: 'failed', failure: { reason: 'timeout', retryable: true } });
    world.start();
    await settleAll();
    expect(world.uploads).toHaveLength(0);
    expect(world.job.delivery.status).toBe('failed');
    expect(world.lines).toMatchObject([{ error: 'job_failed', detail: 'the job failed: timeout' }]);
  });

  test('at most two results are uploaded at once', async () => {
    const world = new World(TO_S3);
    let running = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    world.send = async () => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running--;
      return { ...FAILED, isFinal: true };
    };
    const deliveries = world.start();
    for (let other = 1; other < 5; other++) deliveries.add({ ...REF, id: `ext_${other}` as typeof REF.id });
    for (let turn = 0; turn < 6; turn++) {
      await settleAll();
      ends.shift()?.();
    }
    await settleAll();
    expect(most).toBe(2);
    expect(deliveries.size).toBe(0);
  });
});

test('a job whose records stay in the store needs no further delivery', async () => {
  const world = new World({ delivery: deliveryOf({ kind: 'store' }) });
  world.start();
  await settleAll();
  expect(world.job.delivery.status).toBe('delivered');
});

test('a job that is running or delivered is ignored', async () => {
  for (const more of [{ status: 'running' } as const, { delivery: deliveryOf({ status: 'delivered' }) }]) {
    const world = new World(more);
    const deliveries = world.start();
    await settleAll();
    expect([world.rows.size, world.lines.length, deliveries.size]).toEqual([0, 0, 0]);
  }
});
