import { type Eraser, eraseInParts } from '../erasing.ts';

/** What people wrote about the person's decisions, beside labels and reviews. The label and the verdict stay. */
export const eraseNotes: Eraser = async ({ store, customer, requestIds, slices, eraseRows }) => {
  const withNotes: string[] = [];
  for (const id of requestIds) {
    if (slices.isOver) await slices.begin();
    const hasNote =
      (store.labels.find(customer, id)?.note ?? null) !== null ||
      (store.shadowReviews.stored(customer, id)?.work.note ?? null) !== null;
    if (hasNote) withNotes.push(id);
  }
  return { erased: await eraseInParts(withNotes, slices, (notes) => eraseRows({ notes })) };
};
