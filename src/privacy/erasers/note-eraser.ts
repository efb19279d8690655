import { type Eraser, eraseInParts } from '../erasing.ts';

/** What people wrote about the person's decisions, beside labels and reviews. The label and the verdict stay. */
export const eraseNotes: Eraser = async ({ requestIds, eraseRows }) => ({
  erased: await eraseInParts([...requestIds], (notes) => eraseRows({ notes })),
});
