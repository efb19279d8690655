import { expect, test } from 'vitest';
import { hasPendingRoom } from '../../../src/deliver/pending-room.ts';
import {
  DELIVERIES_PENDING_MAX,
  DELIVERIES_PENDING_PER_CUSTOMER_MAX,
  DELIVERIES_PENDING_PER_ENDPOINT_MAX,
} from '../../../src/limits.ts';

/** Customers whose receivers take nothing, each with as many endpoints as it needs; gives what each holds in the end. */
function fill(customers: number): readonly number[] {
  const held = Array.from({ length: customers }, () => 0);
  let all = 0;
  // Many at a time, as long as the step does not change the outcome: each gets as much as the others.
  const step = 100;
  for (let isAdded = true; isAdded;) {
    isAdded = false;
    for (const [at, ofCustomer] of held.entries()) {
      if (!hasPendingRoom({ ofEndpoint: 0, ofCustomer, all })) continue;
      held[at] = ofCustomer + step;
      all += step;
      isAdded = true;
    }
  }
  return held;
}

test('five customers that do not keep up leave room for a sixth', () => {
  const held = fill(5);
  const all = held.reduce((sum, one) => sum + one, 0);
  expect(all).toBeLessThanOrEqual(0.84 * DELIVERIES_PENDING_MAX);
  expect(hasPendingRoom({ ofEndpoint: 0, ofCustomer: 0, all })).toBe(true);
  expect(hasPendingRoom({ ofEndpoint: 0, ofCustomer: 100_000, all })).toBe(true);
});

test('however many customers do not keep up, one more finds room', () => {
  for (const customers of [10, 100, 500]) {
    const all = fill(customers).reduce((sum, one) => sum + one, 0);
    expect(hasPendingRoom({ ofEndpoint: 0, ofCustomer: 0, all })).toBe(true);
  }
});

test('one customer that does not keep up has no less than its own bound, and its endpoint no more than that one’s', () => {
  expect(fill(1)).toEqual([DELIVERIES_PENDING_PER_CUSTOMER_MAX]);
  const full = { ofEndpoint: DELIVERIES_PENDING_PER_ENDPOINT_MAX, ofCustomer: DELIVERIES_PENDING_PER_ENDPOINT_MAX };
  expect(hasPendingRoom({ ...full, all: DELIVERIES_PENDING_PER_ENDPOINT_MAX })).toBe(false);
});
