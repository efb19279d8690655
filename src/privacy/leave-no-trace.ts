import type { CustomerNumber } from '../kernel/brand.ts';
import type { Store } from '../state/feed/open-store.ts';
import { overwriteFreePages, rewriteRows } from '../state/tables/overwrite-pages.ts';
import type { TableName } from '../state/tables/table-names.ts';
import type { Slices } from '../state/tables/turns.ts';

/** Tables from which erasers remove rows, or parts of rows. Blocks of the decision log are replaced as a whole. */
const OF_STATE: readonly TableName[] = [
  'lists',
  'named-list-items',
  'named-list-replaced',
  'deliveries',
  'labels',
  'shadow-reviews',
  'audit',
];
const OF_HOT: readonly TableName[] = ['learning-rows'];

/** Makes what erasers removed disappear from the files of the store, in slices. Throws if the store cannot be written. */
export async function leaveNoTrace(
  { state, hot }: Pick<Store, 'state' | 'hot'>,
  customer: CustomerNumber,
  slices: Slices,
): Promise<void> {
  for (const [root, filler, names] of [
    [state, 'filler', OF_STATE],
    [hot, 'hot-filler', OF_HOT],
  ] as const) {
    if (root === null) continue;
    // The memory in which LMDB makes pages is used again too: it must be clean before the rows move.
    const steps = [
      () => overwriteFreePages(root, filler, slices),
      ...names.map((name) => () => rewriteRows(root, name, customer, slices)),
      () => overwriteFreePages(root, filler, slices),
    ];
    for (const step of steps) {
      const fault = await step();
      if (fault !== null) throw new Error(fault.detail);
    }
  }
}
