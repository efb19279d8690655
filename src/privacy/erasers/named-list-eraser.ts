import type { NamedItem, NamedList } from '../../state/tables/named-list-table.ts';
import { type Eraser, eraseInParts } from '../erasing.ts';
import type { FoundPerson } from '../find-person.ts';

const PAGE_ITEMS = 1_000;

/** Items of named lists, and the earlier versions of a list that had the person. */
export const eraseNamedItems: Eraser = async (erasing) => {
  const { store, customer, isShared, slices, eraseRows } = erasing;
  if (!isShared) return { erased: 0 };
  const namedItems: { readonly list: number; readonly key: string }[] = [];
  const versions: number[] = [];
  for (const list of store.namedLists.of(customer)) {
    for (const { key } of await namedItemsAbout(erasing, list)) namedItems.push({ list: list.number, key });
    if (await isInVersions(erasing, list)) versions.push(list.number);
  }
  const items = await eraseInParts(namedItems, slices, (part) => eraseRows({ namedItems: part }));
  // The versions of a list are many rows.
  const parts = await eraseInParts(versions, slices, (part) => eraseRows({ versions: part }), 1);
  return { erased: items + parts };
};

/** Returns the items of a named list about the person. */
export async function namedItemsAbout(
  { store, customer, untilMs, isMarked, slices, nowMs }: FoundPerson,
  { number }: NamedList,
): Promise<readonly NamedItem[]> {
  const items: NamedItem[] = [];
  for (let after: string | null = null; ;) {
    const query = { after, limit: PAGE_ITEMS };
    const page = await store.namedLists.page(customer, number, query, Math.floor(nowMs / 1_000), slices);
    for (const item of page.items)
      if (isMarked('list', item.key) && item.createdAtSeconds * 1_000 <= untilMs) items.push(item);
    after = page.next;
    if (after === null) return items;
  }
}

async function isInVersions(
  { store, customer, isMarked, slices }: FoundPerson,
  { number: list }: NamedList,
): Promise<boolean> {
  for (const { version, parts } of store.namedListVersions.of(customer, list).versions) {
    for (let part = 0; part < parts; part++) {
      if (slices.isOver) await slices.begin();
      const replaced = store.namedListVersions.part({ customer, list, version, part });
      if (replaced?.some(({ key }) => isMarked('list', key)) === true) return true;
    }
  }
  return false;
}
