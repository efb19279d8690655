import { expect, test } from 'vitest';
import { Batcher } from '../../../src/decide/batcher.ts';
import {
  BATCH_BODY_BYTES_MAX,
  BATCH_EAGER_REQUESTS,
  BATCH_REQUESTS_MAX,
  DECIDE_BODY_BYTES_MAX,
  QUEUE_PLACE_BYTES,
  QUEUE_REQUESTS_MAX,
} from '../../../src/kernel/limits.ts';
import { createBatchBuffer, REQUEST_PUBLIC_KEY } from '../../../src/frames/batch-buffer.ts';

test('A batch whose response handler throws does not stop the batcher: its buffer is released, and later batches are answered', async () => {
  const answered: string[] = [];
  const failures: unknown[] = [];
  let runs = 0;
  const batcher = new Batcher<string, string>({
    frames: [createBatchBuffer(), createBatchBuffer()],
    inFlightMax: 1,
    inFlightRequestsMax: 64,
    // The third batch fails in its worker and is then scored one request at a time.
    run: () => (++runs === 3 ? Promise.reject(new Error('worker')) : Promise.resolve()),
    attend: () => {},
    admit: (arrived) => arrived,
    onBatch: () => {},
    onAnswers(pending) {
      for (const name of pending) {
        if (name.startsWith('bad')) throw new Error(name);
        answered.push(name);
      }
    },
    onBatchFailed: (error) => void failures.push(error),
  });
  for (const name of ['bad 1', 'good 2', 'bad 3', 'good 4', 'good 5']) {
    expect(batcher.isFull()).toBe(false);
    batcher.add(Buffer.from('{}'), 1, 0, 0, name);
    await batcher.drain();
  }
  expect(answered).toEqual(['good 2', 'good 4', 'good 5']);
  expect(failures.map(String)).toEqual(['Error: bad 1', 'Error: worker', 'Error: bad 3']);
});

test("The batcher serves customers round-robin and keeps the order of each customer's requests", async () => {
  const batches: string[][] = [];
  const held: (() => void)[] = [];
  const batcher = new Batcher<string, string>({
    frames: Array.from({ length: 3 }, createBatchBuffer),
    inFlightMax: 1,
    inFlightRequestsMax: 64,
    run: () => new Promise((done) => held.push(done)),
    attend: () => {},
    admit: (arrived) => arrived,
    onBatch: () => {},
    onAnswers: (pending) => void batches.push([...pending]),
    onBatchFailed: () => {},
  });
  const add = (customer: number, name: string, bytes = 2): void =>
    batcher.add(Buffer.alloc(bytes, 0x20), customer, 0, 0, name);
  // One batch in flight and the next one; the rest is queued.
  for (let i = 0; i < 16; i++) add(1, 'first');
  for (let i = 0; i < BATCH_REQUESTS_MAX; i++) add(1, 'next');
  for (let i = 0; i < 100; i++) add(1, `a${i}`, i === 1 ? 60_000 : 2);
  add(2, 'b0');
  add(2, 'b1');
  add(3, 'c0');
  while (batches.length < 3) {
    held.shift()?.();
    await new Promise((done) => setImmediate(done));
  }
  expect(batches[2]?.slice(0, 8)).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3', 'a4']);
  const drained = batcher.drain();
  for (let i = 0; i < 10; i++) {
    held.shift()?.();
    await new Promise((done) => setImmediate(done));
  }
  await drained;
  expect(batches.flat().filter((name) => name.startsWith('a'))).toEqual(Array.from({ length: 100 }, (_, i) => `a${i}`));
});

test('One customer may fill half of the queue, the next one half of the rest, and a large body counts by its size', () => {
  const batcher = new Batcher<number, number>({
    frames: Array.from({ length: 2 }, createBatchBuffer),
    inFlightMax: 1,
    inFlightRequestsMax: 64,
    run: () => new Promise(() => {}),
    attend: () => {},
    admit: (arrived) => arrived,
    onBatch: () => {},
    onAnswers: () => {},
    onBatchFailed: () => {},
  });
  const fill = (customer: number, flags: number, bytes: number): number => {
    let added = 0;
    for (; batcher.hasShare(customer, flags, bytes); added++) batcher.add(Buffer.alloc(bytes), customer, flags, 0, 0);
    return added;
  };
  expect(fill(1, REQUEST_PUBLIC_KEY, 400)).toBe(BATCH_EAGER_REQUESTS + QUEUE_REQUESTS_MAX / 2);
  expect(fill(1, 0, 400)).toBe(QUEUE_REQUESTS_MAX / 4);
  expect(fill(2, 0, DECIDE_BODY_BYTES_MAX)).toBe(QUEUE_REQUESTS_MAX / 8 / (DECIDE_BODY_BYTES_MAX / QUEUE_PLACE_BYTES));
  expect(batcher.isFull()).toBe(false);
});

test('Three small batches may be in flight at a worker, but only two full ones or two of large bodies', async () => {
  const held: (() => void)[] = [];
  const batcher = new Batcher<number, number>({
    frames: Array.from({ length: 4 }, createBatchBuffer),
    inFlightMax: 3,
    inFlightRequestsMax: 2 * BATCH_REQUESTS_MAX,
    run: () => new Promise((done) => held.push(done)),
    attend: () => {},
    admit: (arrived) => arrived,
    onBatch: () => {},
    onAnswers: () => {},
    onBatchFailed: () => {},
  });
  const turns = async (): Promise<void> => {
    for (let n = 0; n < 4; n++) await new Promise((done) => setImmediate(done));
  };
  const add = (requests: number, bytes: number): void => {
    for (let i = 0; i < requests; i++) batcher.add(Buffer.alloc(bytes, 0x20), 1, 0, 0, i);
  };
  const finish = async (): Promise<void> => {
    for (const done of held.splice(0)) done();
    await turns();
  };
  add(3 * BATCH_EAGER_REQUESTS + 2 * BATCH_REQUESTS_MAX + 1, 100);
  await turns();
  expect(held.length).toBe(3);
  await finish();
  expect([held.length, batcher.queued]).toEqual([2, 1]);
  await finish();
  await finish();
  expect([held.length, batcher.queued]).toEqual([0, 0]);
  for (let batch = 0; batch < 3; batch++) {
    add(BATCH_BODY_BYTES_MAX / DECIDE_BODY_BYTES_MAX, DECIDE_BODY_BYTES_MAX);
    await turns();
  }
  expect(held.length).toBe(2);
  const drained = batcher.drain();
  await finish();
  await finish();
  await drained;
});
