import { useEffect, useState } from 'preact/hooks';
import type { AuditRow, LoggedDecisionRow, WirePage } from '../../../../contract/wire-types.ts';
import { getJson, v1 } from '../../api.ts';

/** Choice: labels whose decisions are looked up, the newest ones: each is one request. */
const LABELS_MAX = 40;
const LOOKUPS_AT_ONCE = 4;

export interface Labelled {
  /** Stopped, and called legitimate later. */
  readonly falseAlarms: readonly LoggedDecisionRow[];
  /** Allowed, and called fraud later. */
  readonly missed: readonly LoggedDecisionRow[];
  readonly examined: number;
  readonly isTruncated: boolean;
}

/** Compares the newest labels of the range with the decisions they are about. null until they are loaded. */
export function useLabelled(from: number): Labelled | null {
  const [found, setFound] = useState<Labelled | null>(null);
  // The range moves every minute; labels of one more minute do not matter.
  const since = Math.floor(from / 3_600) * 3_600;
  useEffect(() => {
    const end = new AbortController();
    read(since, end.signal).then(setFound, () => undefined);
    return () => end.abort();
  }, [since]);
  return found;
}

async function read(since: number, signal: AbortSignal): Promise<Labelled> {
  const page = await getJson<WirePage<AuditRow>>(v1('/audit', { kind: 'label.set', since, limit: 200 }), { signal });
  const ids = [...new Set(page.data.flatMap(({ target }) => target ?? []))];
  const left = ids.slice(0, LABELS_MAX);
  const rows: LoggedDecisionRow[] = [];
  const work = async (): Promise<void> => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      // A decision that left the log: nothing is known about it any more.
      const row = await getJson<LoggedDecisionRow>(v1(`/decisions/${id}`), { signal }).catch(() => null);
      if (row !== null) rows.push(row);
    }
  };
  await Promise.all(Array.from({ length: LOOKUPS_AT_ONCE }, work));
  return {
    falseAlarms: rows.filter((row) => row.label === 'legitimate' && isStopped(row)),
    missed: rows.filter((row) => row.label === 'fraud' && !isStopped(row)),
    examined: rows.length,
    isTruncated: page.has_more || ids.length > LABELS_MAX,
  };
}

function isStopped({ decision }: LoggedDecisionRow): boolean {
  return decision !== 'ALLOW' && decision !== 'ALLOW_WATCH';
}
