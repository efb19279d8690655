import type { ListEntry } from '../../state/tables/list-table.ts';
import { type Eraser, eraseInParts } from '../erasing.ts';
import type { FoundPerson } from '../find-person.ts';

/** Choice: entries of a page; some 3 ms, in slices. */
const PAGE_ENTRIES = 1_000;

/** Returns the entries of the customer's own list about the person. */
export async function listEntriesAbout(finding: FoundPerson): Promise<readonly ListEntry[]> {
  const { store, customer, untilMs, isMarked, slices, nowMs } = finding;
  const found: ListEntry[] = [];
  for (let after: ListEntry['fingerprintHash'] | null = null; ;) {
    const query = { after, limit: PAGE_ENTRIES, action: null };
    const page = await store.lists.page(customer, query, Math.floor(nowMs / 1_000), slices);
    for (const entry of page.entries)
      if (isMarked('list', entry.fingerprintHash) && entry.createdAtSeconds * 1_000 <= untilMs) found.push(entry);
    after = page.next;
    if (after === null) return found;
  }
}

/** An entry that blocks stays with `keepBlocks`: it is why the person is refused. */
export const eraseListEntries: Eraser = async (erasing) => {
  const { erasure, isShared, slices, eraseRows } = erasing;
  if (!isShared) return { erased: 0 };
  const found = await listEntriesAbout(erasing);
  const isKept = ({ action }: ListEntry): boolean => action === 'block' && erasure.keepBlocks;
  const keys = found.filter((entry) => !isKept(entry)).map(({ fingerprintHash }) => fingerprintHash);
  return {
    erased: await eraseInParts(keys, slices, (lists) => eraseRows({ lists })),
    kept: found.length - keys.length,
  };
};
