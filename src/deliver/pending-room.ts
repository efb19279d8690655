import { hasShare } from '../base/share.ts';
import {
  DELIVERIES_PENDING_MAX,
  DELIVERIES_PENDING_PER_CUSTOMER_MAX,
  DELIVERIES_PENDING_PER_ENDPOINT_MAX,
} from '../limits.ts';

/** Pending deliveries, those that still wait for their row included. */
export interface PendingDeliveries {
  readonly ofEndpoint: number;
  readonly ofCustomer: number;
  readonly all: number;
}

/**
 * Whether one more may be pending: of the endpoint, of its customer, and of all. The more is pending, the less of it may be one
 * customer's, so that however many do not keep up there is room for those that do.
 */
export function hasPendingRoom({ ofEndpoint, ofCustomer, all }: PendingDeliveries): boolean {
  if (ofEndpoint >= DELIVERIES_PENDING_PER_ENDPOINT_MAX || ofCustomer >= DELIVERIES_PENDING_PER_CUSTOMER_MAX)
    return false;
  return hasShare(ofCustomer, all, DELIVERIES_PENDING_MAX);
}
