import { expect, test } from 'vitest';
import type { CustomerNumber } from '../../../../src/base/brand.ts';
import { Places } from '../../../../src/extract/deliver/places.ts';
import { settle } from '../../deliver/virtual-time.ts';

const [ANN, BOB, CAT] = [1, 2, 3] as CustomerNumber[];

/** Who has got a place, in order. */
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

test('a customer that has all of its own waits, and others pass it by', async () => {
  const { places, got, take } = begin();
  for (const customer of [ANN, ANN, ANN, BOB, CAT, BOB]) take(customer);
  await settle();
  expect(got).toEqual([ANN, ANN, BOB]);
  // Ann's third waits longer, but has no room; then all is full again.
  places.give(BOB as CustomerNumber);
  await settle();
  expect(got).toEqual([ANN, ANN, BOB, CAT]);
  places.give(ANN as CustomerNumber);
  await settle();
  expect(got).toEqual([ANN, ANN, BOB, CAT, ANN]);
});

test('a stop refuses who waits and who comes', async () => {
  const { places, got, refused, take } = begin({ all: 1, perCustomer: 1 });
  take(ANN);
  take(BOB);
  places.stop();
  take(CAT);
  await settle();
  expect(got).toEqual([ANN]);
  expect(new Set(refused)).toEqual(new Set([BOB, CAT]));
});
