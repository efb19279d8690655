import { type Eraser, eraseInParts, type Erasing } from '../erasing.ts';
import type { NamedList } from '../../state/tables/named-list-table.ts';

const PAGE_ITEMS = 1_000;

/** Items of named lists, and the earlier versions of a list that had the person. */
export const eraseNamedItems: Eraser = async (erasing) => {
  const { store, customer, isShared, slices, eraseRows } = erasing;
  if (!isShared) return { erased: 0 };
  const namedItems: { readonly list: number; readonly key: string }[] = [];
  const versions: number[] = [];
  for (const list of store.namedLists.of(customer)) {
    for (const key of await itemsAbout(erasing, list)) namedItems.push({ list: list.number, key });
    if (await isInVersions(erasing, list)) versions.push(list.number);
  }
  const items = await eraseInParts(namedItems, slices, (part) => eraseRows({ namedItems: part }));
  // The versions of a list are many rows.
  const parts = await eraseInParts(versions, slices, (part) => eraseRows({ versions: part }), 1);
  return { erased: items + parts };
};

async function itemsAbout(
  { store, customer, erasure, isMarked, slices, nowMs }: Erasing,
  { number }: NamedList,
): Promise<readonly string[]> {
  const keys: string[] = [];
  for (let after: string | null = null; ;) {
    const query = { after, limit: PAGE_ITEMS };
    const page = await store.namedLists.page(customer, number, query, Math.floor(nowMs / 1_000), slices);
    for (const { key, createdAtSeconds } of page.items) {
      if (isMarked('list', key) && createdAtSeconds * 1_000 <= erasure.requestedAtMs) keys.push(key);
    }
    after = page.next;
    if (after === null) return keys;
  }
}

async function isInVersions(
  { store, customer, isMarked, slices }: Erasing,
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
