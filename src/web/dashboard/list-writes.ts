import type { ListEntryRow, WirePage } from '../../contract/wire-types.ts';
import { getJson, readJson, request, send, v1 } from './api.ts';
import { toast } from './components/toast.tsx';
import { formatCount, shortHash } from './format.ts';
import type { ListChange } from './list-actions.ts';

/** Writes to the list that can be taken back: what was there before returns, not only its absence. */

function entryUrl(hash: string): string {
  return v1(`/lists/${encodeURIComponent(hash)}`);
}

/** Returns the present entry of a fingerprint; null if there is none. Errors as for `request`. */
export async function findEntry(hash: string): Promise<ListEntryRow | null> {
  const response = await request(entryUrl(hash), { accept: [404] });
  return response.status === 404 ? null : readJson<ListEntryRow>(response);
}

/** Puts back what `findEntry` returned. Errors as for `request`. */
export async function restoreEntry(hash: string, before: ListChange | null): Promise<void> {
  if (before === null) await request(entryUrl(hash), { method: 'DELETE', accept: [404] });
  else await writeEntry(before);
}

/** Errors as for `request`. */
export function writeEntry({ fingerprint_hash, action, note, expires_at }: ListChange): Promise<ListEntryRow> {
  return send<ListEntryRow>('POST', v1('/lists'), { fingerprint_hash, action, note, expires_at });
}

/** Shows what was done for 10 s, with a button that restores `before`. `onUndone` reloads what the page shows. */
export function offerUndo(text: string, hash: string, before: ListChange | null, onUndone?: () => void): void {
  toast(text, () => {
    restoreEntry(hash, before).then(
      () => {
        toast(`${shortHash(hash)} is as it was before`);
        onUndone?.();
      },
      () => toast(`${shortHash(hash)} could not be restored: try again on the page of lists`),
    );
  });
}

/** Removes an entry and offers to put it back. Errors as for `request`. */
export async function removeEntry(entry: ListEntryRow, onChanged: () => void): Promise<void> {
  const { fingerprint_hash: hash } = entry;
  await restoreEntry(hash, null);
  offerUndo(`Removed ${shortHash(hash)} from the list`, hash, entry, onChanged);
  onChanged();
}

/** What the service warns of, as a sentence; '' if it does not. */
export function warningOf({ warning, networks_24h: networks }: Pick<ListEntryRow, 'warning' | 'networks_24h'>): string {
  if (warning === undefined) return '';
  const from = networks === undefined ? 'many networks' : `${formatCount(networks)} networks in 24 h`;
  return ` Warning: it came from ${from}, so many devices share it.`;
}

/** Reads all entries, at most `rowsMax`, without their usage. Errors as for `request`. */
export async function readListEntries(query: { readonly action?: string }, rowsMax: number): Promise<ListEntryRow[]> {
  const rows: ListEntryRow[] = [];
  let cursor: string | null = null;
  do {
    const url: string = v1('/lists', { ...query, limit: Math.min(1_000, rowsMax - rows.length), cursor });
    const page: WirePage<ListEntryRow> = await getJson(url);
    rows.push(...page.data);
    cursor = page.has_more ? page.next_cursor : null;
  } while (cursor !== null && rows.length < rowsMax);
  return rows;
}
