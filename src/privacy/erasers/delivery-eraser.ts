import { type Eraser, writtenValue } from '../erasing.ts';

/** Deliveries about the person's decisions. One that is still to be sent stays until then. */
export const eraseDeliveries: Eraser = async ({ store, customer, requestIds, slices }) => {
  if (requestIds.size === 0) return { erased: 0 };
  const { removed, waiting } = writtenValue(await store.deliveries.erase(customer, requestIds, slices));
  return { erased: removed, kept: waiting };
};
