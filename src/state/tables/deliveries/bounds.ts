import type { PageBounds } from './pages.ts';

export interface DeliveryBounds extends PageBounds {
  readonly endedPerCustomerMax: number;
  readonly keepMs: number;
  readonly perWrite: number;
}

export const DELIVERY_BOUNDS: DeliveryBounds = {
  /** Source: contract, 10.8. */
  endedPerCustomerMax: 10_000,
  /** Source: contract, 10.8. */
  keepMs: 30 * 86_400_000,
  /** Choice: one transaction holds the main thread for at most some 4 ms. */
  perWrite: 512,
  /** Choice: all rows that are kept for a customer, except pending ones. Measured: scanning 10,000 rows that do not match takes 17 ms. */
  scanRowsMax: 10_000,
  /** Choice: some 0.8 ms; a slice ends with its time, or with this number of rows if the clock stands still. */
  sliceRowsMax: 500,
};
