import { expect, test } from 'vitest';
import { hasPendingRoom as hasRoomFor, type PendingDeliveries } from '../../../src/webhooks/pending-room.ts';
import {
  DELIVERIES_PENDING_BYTES_PER_ENDPOINT_MAX,
  DELIVERIES_PENDING_MAX,
  DELIVERIES_PENDING_PER_CUSTOMER_MAX,
  DELIVERIES_PENDING_PER_ENDPOINT_MAX,
} from '../../../src/kernel/delivery-limits.ts';

const hasPendingRoom = (pending: Omit<PendingDeliveries, 'bodyBytes'>): boolean =>
  hasRoomFor({ ...pending, bodyBytes: 600 });

/**
 * Fills the pending limits with customers whose receivers accept nothing, each with as many endpoints as it needs. Returns how many
 * deliveries each customer has in the end.
 */
function fill(customers: number): readonly number[] {
  const held = Array.from({ length: customers }, () => 0);
  let all = 0;
  // In steps as large as possible without changing the outcome: each customer gets as much as the others.
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

test('Five customers that cannot keep up leave room for a sixth', () => {
  const held = fill(5);
  const all = held.reduce((sum, one) => sum + one, 0);
  expect(all).toBeLessThanOrEqual(0.84 * DELIVERIES_PENDING_MAX);
  expect(hasPendingRoom({ ofEndpoint: 0, ofCustomer: 0, all })).toBe(true);
  expect(hasPendingRoom({ ofEndpoint: 0, ofCustomer: 100_000, all })).toBe(true);
});

test('Any number of customers that cannot keep up leaves room for one more', () => {
  for (const customers of [10, 100, 500]) {
    const all = fill(customers).reduce((sum, one) => sum + one, 0);
    expect(hasPendingRoom({ ofEndpoint: 0, ofCustomer: 0, all })).toBe(true);
  }
});

test('A single customer that cannot keep up gets its own maximum, and its endpoint that of one endpoint', () => {
  expect(fill(1)).toEqual([DELIVERIES_PENDING_PER_CUSTOMER_MAX]);
  const full = { ofEndpoint: DELIVERIES_PENDING_PER_ENDPOINT_MAX, ofCustomer: DELIVERIES_PENDING_PER_ENDPOINT_MAX };
  expect(hasPendingRoom({ ...full, all: DELIVERIES_PENDING_PER_ENDPOINT_MAX })).toBe(false);
});

test('An endpoint has room for at most 256 MiB of bodies like the next one', () => {
  const bodyBytes = 16_384;
  const most = DELIVERIES_PENDING_BYTES_PER_ENDPOINT_MAX / bodyBytes;
  const pending = (ofEndpoint: number): PendingDeliveries => ({
    ofEndpoint,
    ofCustomer: ofEndpoint,
    all: ofEndpoint,
    bodyBytes,
  });
  expect([hasRoomFor(pending(most)), hasRoomFor(pending(most + 1))]).toEqual([true, false]);
});
