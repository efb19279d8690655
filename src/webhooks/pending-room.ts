import { hasShare } from '../kernel/capacity-share.ts';
import {
  DELIVERIES_PENDING_BYTES_PER_ENDPOINT_MAX,
  DELIVERIES_PENDING_MAX,
  DELIVERIES_PENDING_PER_CUSTOMER_MAX,
  DELIVERIES_PENDING_PER_ENDPOINT_MAX,
} from '../kernel/delivery-limits.ts';

/** Pending deliveries, including those whose row is not written yet. */
export interface PendingDeliveries {
  readonly ofEndpoint: number;
  readonly ofCustomer: number;
  readonly all: number;
  /** Bytes of the body of the one more. */
  readonly bodyBytes: number;
}

/**
 * Returns whether one more delivery may be pending: for the endpoint, for its customer, and in total. The more are pending in total, the
 * fewer one customer may have, so that any number of slow customers leaves room for those that keep up.
 */
export function hasPendingRoom({ ofEndpoint, ofCustomer, all, bodyBytes }: PendingDeliveries): boolean {
  if (ofEndpoint >= DELIVERIES_PENDING_PER_ENDPOINT_MAX || ofCustomer >= DELIVERIES_PENDING_PER_CUSTOMER_MAX)
    return false;
  if (ofEndpoint * bodyBytes > DELIVERIES_PENDING_BYTES_PER_ENDPOINT_MAX) return false;
  return hasShare(ofCustomer, all, DELIVERIES_PENDING_MAX);
}
