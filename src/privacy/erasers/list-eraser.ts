import type { ListEntry } from '../../state/tables/list-table.ts';
import { type Eraser, eraseInParts } from '../erasing.ts';

/** Choice: entries of a page; some 3 ms, in slices. */
const PAGE_ENTRIES = 1_000;

/** Entries of the customer's own list. An entry that blocks stays with `keepBlocks`: it is why the person is refused. */
export const eraseListEntries: Eraser = async ({
  store,
  customer,
  erasure,
  isMarked,
  isShared,
  slices,
  nowMs,
  eraseRows,
}) => {
  if (!isShared) return { erased: 0 };
  const keys: string[] = [];
  let kept = 0;
  const take = (entry: ListEntry): void => {
    if (!isMarked('list', entry.fingerprintHash) || entry.createdAtSeconds * 1_000 > erasure.requestedAtMs) return;
    if (entry.action === 'block' && erasure.keepBlocks) kept++;
    else keys.push(entry.fingerprintHash);
  };
  for (let after: ListEntry['fingerprintHash'] | null = null; ;) {
    const query = { after, limit: PAGE_ENTRIES, action: null };
    const page = await store.lists.page(customer, query, Math.floor(nowMs / 1_000), slices);
    for (const entry of page.entries) take(entry);
    after = page.next;
    if (after === null) break;
  }
  return { erased: await eraseInParts(keys, slices, (lists) => eraseRows({ lists })), kept };
};
