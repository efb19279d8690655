import { expect, test } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import { JobQueue } from '../../../../src/extract/engine/job-queue.ts';

const [ANN, BOB] = [1, 2] as [CustomerNumber, CustomerNumber];

const createQueue = (): JobQueue<string> =>
  new JobQueue({ runningPerCustomerMax: 2, runningMax: 3, queuedPerCustomerMax: 3, queuedMax: 4 });

test('Customers take turns, and a customer at its limit of running jobs is passed until one ends', () => {
  const queue = createQueue();
  for (const [number, customer] of [ANN, ANN, ANN, BOB].entries()) queue.add(customer, number, `job ${number}`);
  expect([queue.take(), queue.take(), queue.take(), queue.take()]).toEqual(['job 0', 'job 3', 'job 1', null]);
  queue.ended(BOB);
  expect([queue.take(), queue.queued, queue.running]).toEqual([null, 1, 2]);
  queue.ended(ANN);
  expect([queue.take(), queue.queued, queue.running]).toEqual(['job 2', 0, 2]);
});

test('The queue has room up to its limits, per customer and in total, including jobs that are being written', () => {
  const queue = createQueue();
  const none = { own: 0, all: 0 };
  for (const number of [1, 2]) queue.add(ANN, number, '');
  expect([
    queue.hasRoom(ANN, none),
    queue.hasRoom(ANN, { own: 1, all: 1 }),
    queue.hasRoom(BOB, { own: 0, all: 2 }),
  ]).toEqual([true, false, false]);
  queue.add(ANN, 3, '');
  expect([queue.hasRoom(ANN, none), queue.hasRoom(BOB, none)]).toEqual([false, true]);
});

test('A removed job frees its position and never runs', () => {
  const queue = createQueue();
  for (const number of [1, 2]) queue.add(ANN, number, `job ${number}`);
  expect([queue.remove(1), queue.remove(1), queue.remove(7)]).toEqual([true, false, false]);
  expect([queue.take(), queue.take()]).toEqual(['job 2', null]);
  expect(queue.remove(2)).toBe(false);
});
