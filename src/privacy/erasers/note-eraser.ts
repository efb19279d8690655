import { type Eraser, eraseInParts } from '../erasing.ts';
import type { FoundPerson } from '../find-person.ts';

/** What people wrote about a decision of the person. */
export interface DecisionNotes {
  readonly requestId: string;
  readonly label: string | null;
  readonly labelNote: string | null;
  readonly verdict: string | null;
  readonly reviewNote: string | null;
}

/** Returns the labels and reviews of the person's decisions. */
export async function notesAbout({
  store,
  customer,
  requestIds,
  slices,
}: FoundPerson): Promise<readonly DecisionNotes[]> {
  const found: DecisionNotes[] = [];
  for (const requestId of requestIds) {
    if (slices.isOver) await slices.begin();
    const label = store.labels.find(customer, requestId);
    const review = store.shadowReviews.stored(customer, requestId);
    if (label === null && review === null) continue;
    found.push({
      requestId,
      label: label?.label ?? null,
      labelNote: label?.note ?? null,
      verdict: review?.verdict ?? null,
      reviewNote: review?.work.note ?? null,
    });
  }
  return found;
}

/** The label and the verdict stay. */
export const eraseNotes: Eraser = async (erasing) => {
  const found = await notesAbout(erasing);
  const ids = found.flatMap(({ requestId, labelNote, reviewNote }) =>
    labelNote === null && reviewNote === null ? [] : requestId,
  );
  return { erased: await eraseInParts(ids, erasing.slices, (notes) => erasing.eraseRows({ notes })) };
};
