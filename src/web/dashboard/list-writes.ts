import type { ListBatchBody, ListEntryRow, WirePage } from '../../contract/wire-types.ts';
import { getJson, readJson, request, send, v1 } from './api.ts';
import { toast } from './components/toast.tsx';
import { formatCount } from './format.ts';
import { type ListChange, type ListedSubject, shortSubject } from './list-actions.ts';

/** Writes to the list that can be taken back: what was there before returns, not only its absence. */

function entryUrl({ kind, value }: ListedSubject): string {
  return v1(`/lists/${encodeURIComponent(kind)}/${encodeURIComponent(value)}`);
}

/** Returns the present entry; null if there is none. Errors as for `request`. */
export async function findEntry(subject: ListedSubject): Promise<ListEntryRow | null> {
  const response = await request(entryUrl(subject), { accept: [404] });
  return response.status === 404 ? null : readJson<ListEntryRow>(response);
}

/** Puts back what `findEntry` returned. Errors as for `request`. */
export async function restoreEntry(subject: ListedSubject, before: ListChange | null): Promise<void> {
  if (before === null) await request(entryUrl(subject), { method: 'DELETE', accept: [404] });
  else await writeEntry(before, true);
}

/** `confirm`: the person has seen how many it hits. Errors as for `request`. */
export function writeEntry(change: ListChange, confirm: boolean): Promise<ListEntryRow> {
  return send<ListEntryRow>('POST', v1('/lists'), { ...bodyOfChange(change), confirm });
}

/** Returns the body of a write for a change, which may be a whole row. */
export function bodyOfChange({ kind, value, action, note, expires_at, event_types }: ListChange): ListChange {
  return { kind, value, action, note, expires_at, ...(event_types === undefined ? {} : { event_types }) };
}

/** Returns what an entry would concern, and writes nothing. Errors as for `request`. */
export async function readSubjectUse(subject: ListedSubject): Promise<ListBatchBody['results'][number] | undefined> {
  const entries = [{ ...subject, action: 'watch' }];
  return (await send<ListBatchBody>('POST', v1('/lists/batch', { dry_run: true }), { entries })).results[0];
}

/** Shows what was done for 10 s, with a button that restores `before`. `onUndone` reloads what the page shows. */
export function offerUndo(
  text: string,
  subject: ListedSubject,
  before: ListChange | null,
  onUndone?: () => void,
): void {
  toast(text, () => {
    restoreEntry(subject, before).then(
      () => {
        toast(`${shortSubject(subject)} is as it was before`);
        onUndone?.();
      },
      () => toast(`${shortSubject(subject)} could not be restored: try again on the page of lists`),
    );
  });
}

/** Removes an entry and offers to put it back. Errors as for `request`. */
export async function removeEntry(entry: ListEntryRow, onChanged: () => void): Promise<void> {
  await restoreEntry(entry, null);
  offerUndo(`Removed ${shortSubject(entry)} from the list`, entry, entry, onChanged);
  onChanged();
}

/** Returns the warning of the service as a sentence; '' without one. */
export function warningOf({ warning, networks_24h: networks }: Pick<ListEntryRow, 'warning' | 'networks_24h'>): string {
  if (warning === undefined) return '';
  if (warning === 'no_asn_data') return ' Warning: no database here knows the autonomous systems of addresses.';
  if (warning === 'broad_entry') return " Warning: it concerns over 1 % of the day's sessions.";
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
