import { type Eraser, writtenValue } from '../erasing.ts';

/** Feature rows of the person's decisions, also of those that have left the decision log. */
export const eraseLearningRows: Eraser = async ({ store, customer, erasure, requestIds, isMarked, slices, nowMs }) => {
  if (store.learningRows === null) return { erased: 0 };
  const erased = await store.learningRows.erase(
    customer,
    ({ requestId, occurredAtMs, accounts }) =>
      occurredAtMs <= erasure.requestedAtMs &&
      (requestIds.has(requestId) || accounts.some((hash) => isMarked('link', hash))),
    slices,
    nowMs,
  );
  return { erased: writtenValue(erased) };
};
