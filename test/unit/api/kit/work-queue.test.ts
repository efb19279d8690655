import { expect, test } from 'vitest';
import { type QueuePlace, type WorkBounds, WorkQueue } from '../../../../src/api/kit/work-queue.ts';
import { customer } from '../../state/support.ts';

const BOUNDS: WorkBounds = {
  inWorkMax: 3,
  inWorkPerCustomerMax: 2,
  waitingMax: 10,
  waitingPerCustomerMax: 6,
  waitingBytesMax: 1_000,
  waitingBytesPerCustomerMax: 500,
  unsentBytesMax: 100,
};

function setUp(bounds: Partial<WorkBounds> = {}) {
  const queue = new WorkQueue({ ...BOUNDS, ...bounds });
  const begun: number[] = [];
  const places: QueuePlace[] = [];
  /** Lets resolved promises settle before it checks. */
  const enter = async (...numbers: readonly number[]): Promise<void> => {
    for (const number of numbers) {
      expect(queue.isFull(customer(number), 10)).toBe(false);
      void queue.enter(customer(number), 10).then((place) => {
        begun.push(number);
        places.push(place);
      });
    }
    await settle();
  };
  const leave = async (): Promise<void> => {
    places.shift()?.leave();
    await settle();
  };
  return { queue, begun, places, enter, leave };
}

const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

test('The queue limits the calls in work per customer and in total', async () => {
  const { queue, begun, enter } = setUp();
  await enter(1, 1, 1, 1, 2, 3);
  expect(begun).toEqual([1, 1, 2]);
  expect([queue.inWork, queue.waiting]).toEqual([3, 3]);
});

test('The queue serves customers in turn, regardless of how many calls each has waiting', async () => {
  const { begun, enter, leave } = setUp({ inWorkMax: 1 });
  await enter(1, 1, 1, 1, 1, 2, 3, 2);
  for (let n = 0; n < 7; n++) await leave();
  expect(begun).toEqual([1, 1, 2, 3, 1, 2, 1, 1]);
});

test('The queue is full for a customer at its limit of waiting calls or bytes, and not for another customer', async () => {
  const { queue, enter } = setUp();
  await enter(1, 1, 1, 1, 1, 1, 1, 1);
  expect(queue.isFull(customer(1), 10)).toBe(true);
  expect(queue.isFull(customer(2), 10)).toBe(false);
  const bytes = setUp().queue;
  for (let n = 0; n < 4; n++) void bytes.enter(customer(1), 240);
  expect([bytes.isFull(customer(1), 20), bytes.isFull(customer(1), 21), bytes.isFull(customer(2), 501)]).toEqual([
    false,
    true,
    false,
  ]);
});

test('The queue frees a slot while a call is suspended, and resumes that call before calls that never began', async () => {
  const { queue, begun, places, enter, leave } = setUp({ inWorkMax: 1 });
  await enter(1, 1, 1);
  let end = (): void => {};
  const out = places[0]?.whileOut(() => new Promise<void>((done) => (end = done))).then(() => begun.push(0));
  await settle();
  expect(begun).toEqual([1, 1]);
  end();
  await settle();
  places.push(...places.splice(0, 1));
  await leave();
  await out;
  expect(begun).toEqual([1, 1, 0]);
  expect([queue.inWork, queue.waiting]).toEqual([1, 1]);
});

test('The queue begins no call of a customer that does not receive its responses, and goes on with others', async () => {
  const { queue, begun, places, enter, leave } = setUp();
  await enter(1);
  const unsent = places[0]?.sending(100);
  await leave();
  await enter(1, 2);
  expect(begun).toEqual([1, 2]);
  unsent?.received();
  await settle();
  expect(begun).toEqual([1, 2, 1]);
  expect(queue.inWork).toBe(2);
});
