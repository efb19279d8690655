import { hash } from 'node:crypto';
import { META } from '../contract/vocabulary.ts';
import { WATCH_RECORD_BYTES_MAX, WATCH_VALUES_BYTES_MAX, type WatchFinding, type WatchSettings } from './watch.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns what a watch compares of a record; null if the record has no value for its key, or one that is too long. */
export function findingOf(
  record: Fields,
  { key, compare }: Pick<WatchSettings, 'key' | 'compare'>,
): WatchFinding | null {
  const keyValues = valuesAt(record, key);
  if (Object.values(keyValues).every((value) => value === null)) return null;
  const keyJson = JSON.stringify(keyValues);
  if (keyJson.length > WATCH_VALUES_BYTES_MAX) return null;
  const { [META]: _meta, ...fields } = record;
  const recordJson = JSON.stringify(fields);
  const valuesJson = compare === null ? canonical(fields) : canonical(valuesAt(record, compare));
  return {
    keyHash: shortHash(canonical(keyValues)),
    record: {
      hash: shortHash(valuesJson),
      keyJson,
      valuesJson: Buffer.byteLength(valuesJson) <= WATCH_VALUES_BYTES_MAX ? valuesJson : null,
      recordJson: Buffer.byteLength(recordJson) <= WATCH_RECORD_BYTES_MAX ? recordJson : null,
    },
  };
}

/** Returns path → value; null where the record has none. */
function valuesAt(record: Fields, paths: readonly string[]): Fields {
  return Object.fromEntries(paths.map((path) => [path, valueAt(record, path)]));
}

function valueAt(record: Fields, path: string): unknown {
  // A flat record has names with dots.
  if (Object.hasOwn(record, path)) return record[path] ?? null;
  let value: unknown = record;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Fields)[name];
  }
  return value ?? null;
}

/** JSON with the members of each object in the order of their names. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** Choice: 128 bits, so that no two of a watch's records are taken for one. */
function shortHash(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}
