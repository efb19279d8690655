import type { RootDatabase } from 'lmdb';
import { committed, durably, type StoreWrite } from './durable.ts';
import type { Slices } from './turns.ts';

/**
 * Runs `change` for each item, `itemsPerPart` of them per transaction, and resolves when all are on the disk: the last part's flush covers
 * the earlier ones. A fault ends it; earlier parts stay. With `slices`, each part waits for its turn.
 */
export async function durablyInParts<Item, Result>(
  root: RootDatabase<Buffer, Buffer>,
  items: readonly Item[],
  itemsPerPart: number,
  change: (item: Item) => Result,
  slices: Slices | null,
): Promise<StoreWrite<readonly Result[]>> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += itemsPerPart) {
    if (slices !== null && from > 0) await slices.begin();
    const part = items.slice(from, from + itemsPerPart);
    const write = from + itemsPerPart < items.length ? committed : durably;
    const written = await write(root, () => part.map(change));
    if (written.kind === 'fault') return written;
    results.push(...written.value);
  }
  return { kind: 'ok', value: results };
}
