import { expect, test } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import { Places } from '../../../../src/extract/sinks/sink-slots.ts';
import { settle } from '../../webhooks/virtual-time.ts';

const [ANN, BOB, CAT] = [1, 2, 3] as CustomerNumber[];

/** Callers that got a slot, in order. */
function begin(bounds = { all: 3, perCustomer: 2 }): {
  places: Places;
  got: (CustomerNumber | undefined)[];
  refused: number[];
  take: (customer: CustomerNumber | undefined) => void;
} {
  const places = new Places(bounds);
  const got: (CustomerNumber | undefined)[] = [];
  const refused: number[] = [];
  const take = (customer: CustomerNumber | undefined): void => {
    if (customer === undefined) return;
    void places.take(customer).then((isTaken) => (isTaken ? got : refused).push(customer));
  };
  return { places, got, refused, take };
}

test('a customer without free slots waits, and others overtake it', async () => {
  const { places, got, take } = begin();
  for (const customer of [ANN, ANN, ANN, BOB, CAT, BOB]) take(customer);
  await settle();
  expect(got).toEqual([ANN, ANN, BOB]);
  // Ann's third has waited longer, but has no free slot. Then all slots are taken again.
  places.give(BOB as CustomerNumber);
  await settle();
  expect(got).toEqual([ANN, ANN, BOB, CAT]);
  places.give(ANN as CustomerNumber);
  await settle();
  expect(got).toEqual([ANN, ANN, BOB, CAT, ANN]);
});

test('a stop rejects waiting and new callers', async () => {
  const { places, got, refused, take } = begin({ all: 1, perCustomer: 1 });
  take(ANN);
  take(BOB);
  places.stop();
  take(CAT);
  await settle();
  expect(got).toEqual([ANN]);
  expect(new Set(refused)).toEqual(new Set([BOB, CAT]));
});

test('free slots go to the waiting customers in turn, however many callers one of them has', async () => {
  const { places, got, take } = begin({ all: 1, perCustomer: 1 });
  for (const customer of [ANN, ANN, ANN, BOB, CAT]) take(customer);
  for (const customer of [ANN, ANN, BOB, CAT]) {
    await settle();
    places.give(customer as CustomerNumber);
  }
  await settle();
  expect(got).toEqual([ANN, ANN, BOB, CAT, ANN]);
});
