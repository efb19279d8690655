import type { ListBatchBody } from '../../../../contract/wire-types.ts';
import { ApiFault, send, v1 } from '../../api.ts';
import type { ListChange, ListedSubject } from '../../list-actions.ts';
import { findEntry, restoreEntry } from '../../list-writes.ts';
import { toBodies } from './list-bodies.ts';

/** Many entries at once: tried first, then written. Source: contract, 7.2. */

/** Choice: calls at a time; the service processes 8 of a customer. */
const AT_A_TIME = 4;
/** Choice: more could not be taken back while somebody waits. */
export const UNDO_ENTRIES_MAX = 200;

type BatchResult = ListBatchBody['results'][number];

export interface TriedEntry {
  readonly entry: ListChange;
  readonly result: BatchResult;
}

/** Returns what writing would do, and writes nothing. Errors as for `send`. */
export async function tryEntries(entries: readonly ListChange[]): Promise<TriedEntry[]> {
  const tried: TriedEntry[] = [];
  for (const body of toBodies(entries)) {
    const answer = await send<ListBatchBody>('POST', v1('/lists/batch', { dry_run: true }), { entries: body });
    if (answer.dry_run !== true)
      throw new ApiFault(200, { code: 'unexpected_response', title: 'The service did not make a dry run' });
    tried.push(
      ...body.flatMap((entry, n) => (answer.results[n] === undefined ? [] : { entry, result: answer.results[n] })),
    );
  }
  return tried;
}

/** Writes what was tried, without what would be refused, and returns a function that takes it back; null if that is too much. */
export async function writeTried(tried: readonly TriedEntry[]): Promise<(() => Promise<void>) | null> {
  const valid = tried.filter(({ result }) => result.status !== 422);
  const changes = valid.filter(({ result }) => result.change !== 'unchanged');
  const before: (readonly [ListedSubject, ListChange | null])[] = [];
  const canUndo = changes.length <= UNDO_ENTRIES_MAX;
  if (canUndo)
    await each(changes, async ({ entry, result: { change } }) => {
      before.push([entry, change === 'created' ? null : await findEntry(entry)]);
    });
  for (const body of toBodies(valid.map(({ entry }) => entry)))
    await send('POST', v1('/lists/batch'), { entries: body });
  return canUndo ? () => each(before, ([subject, entry]) => restoreEntry(subject, entry)) : null;
}

async function each<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
}
