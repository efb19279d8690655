import type { WatchChangeRow, WatchRow } from '../../../../contract/wire-types.ts';
import { asWords, countOf } from '../../format.ts';

/** Watches and their changes in words, without a page. */

export function watchPathOf({ id }: Pick<WatchRow, 'id'>): string {
  return `/watches/${encodeURIComponent(id)}`;
}

/** The operation that a watch repeats: `generic page.select`. */
export function operationOf({ extraction: { connector, operation } }: Pick<WatchRow, 'extraction'>): string {
  return `${textOf(connector)} ${textOf(operation)}`;
}

export function scheduleOf({ every, cron }: Pick<WatchRow, 'every' | 'cron'>): string {
  return every === null ? `${cron ?? ''} (UTC)` : `every ${every}`;
}

/** State as a sign and a word; `why` says what a failed run failed with. */
export function watchState({ status, last_run: last, baseline }: WatchRow): {
  readonly tone: 'good' | 'warn' | 'bad' | 'idle';
  readonly word: string;
  readonly why: string | null;
} {
  const failed = last?.status === 'failed';
  const why = failed ? failureWords(last.reason) : null;
  if (status !== 'waiting') return { tone: 'idle', word: status === 'running' ? 'Running' : 'Paused', why };
  if (failed) return { tone: 'bad', word: 'Failed', why };
  if (last === null) return { tone: 'idle', word: 'No run yet', why };
  if (!last.complete) return { tone: 'warn', word: 'Incomplete', why };
  return baseline ? { tone: 'good', word: 'Watching', why } : { tone: 'idle', word: 'No baseline yet', why };
}

const FAILURES: Readonly<Record<string, string>> = {
  not_accepted: 'The extraction is no longer valid, or there are too many jobs',
  job_removed: 'Its records could not be read to the end',
  too_many_records: 'It has more than 5,000 records',
};

function failureWords(reason: string | null): string {
  return FAILURES[reason ?? ''] ?? asWords(reason ?? 'unknown');
}

/** What the last run found: `2 new, 1 changed`. */
export function foundWords({ last_run: last }: Pick<WatchRow, 'last_run'>): string | null {
  if (last?.status !== 'succeeded') return null;
  const { records, new: added, changed, gone } = last;
  const parts = Object.entries({ new: added, changed, gone }).filter(([, count]) => count > 0);
  const found = parts.map(([kind, count]) => `${count} ${kind}`).join(', ');
  return `${found === '' ? 'nothing changed' : found} in ${countOf(records, 'record')}`;
}

export interface ValueChange {
  readonly path: string;
  /** JSON or text; null for a value that is absent. */
  readonly before: string | null;
  readonly after: string | null;
}

/**
 * Returns the values that differ, for a changed record; what it is, for a new one; what it was, for one that is gone. Empty if the service
 * kept no values, because they take too many bytes. `compare`: the paths that the watch compares; null: the whole record.
 */
export function differencesOf(
  { kind, record, before }: WatchChangeRow,
  compare: readonly string[] | null,
): readonly ValueChange[] {
  if (kind === 'changed' && (before === undefined || record === null)) return [];
  const was: Values = before ?? {};
  const is: Values = record ?? {};
  const paths = kind === 'new' ? Object.keys(is) : (compare ?? Object.keys({ ...was, ...is }));
  return paths
    .map((path) => ({ path, before: shown(was[path]), after: shown(valueAt(is, path)) }))
    .filter((change) => change.before !== change.after);
}

type Values = Readonly<Record<string, unknown>>;

/** As the service reads a path: names of a flat record may have dots. */
function valueAt(record: Values, path: string): unknown {
  if (Object.hasOwn(record, path)) return record[path];
  return path.split('.').reduce<unknown>((value, name) => {
    return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Values)[name] : null;
  }, record);
}

function shown(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value, inOrder);
}

/** The service keeps the members of objects in the order of their names. */
function inOrder(_name: string, part: unknown): unknown {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '?';
}

/** Returns the lines of a text without those that are empty. */
export function filledLines(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}
