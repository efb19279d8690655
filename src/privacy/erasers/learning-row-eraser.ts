import type { KeptRow } from '../../state/tables/learning-row-table.ts';
import { type Eraser, writtenValue } from '../erasing.ts';
import type { FoundPerson } from '../find-person.ts';

/** Returns whether a feature row is of a decision about the person, also of one that has left the decision log. */
export function isLearningRowAbout(
  { untilMs, requestIds, isMarked }: FoundPerson,
  { requestId, occurredAtMs, accounts }: KeptRow,
): boolean {
  return occurredAtMs <= untilMs && (requestIds.has(requestId) || accounts.some((hash) => isMarked('link', hash)));
}

export const eraseLearningRows: Eraser = async (erasing) => {
  const { store, customer, slices, nowMs } = erasing;
  if (store.learningRows === null) return { erased: 0 };
  const isAbout = (row: KeptRow): boolean => isLearningRowAbout(erasing, row);
  return { erased: writtenValue(await store.learningRows.erase(customer, isAbout, slices, nowMs)) };
};
