import type { Committer, ExpiringTable } from './changes.ts';
import type { StoreFault } from '../tables/durable.ts';
import { WATCH_CHANGE_KEEP_MS } from '../../work/watch.ts';
import { AUDIT_KEEP_SECONDS, LABELS_KEEP_SECONDS, SHADOW_REVIEWS_KEEP_SECONDS } from '../../kernel/limits.ts';
import type { KeptMsOf } from '../tables/request-rows.ts';
import type { StateTables } from '../tables/state-tables.ts';

/** Scans at most `rowsMax` rows of a table and returns the keys of expired ones; the next call continues. */
type Scan = (tables: StateTables, nowSeconds: number, rowsMax: number, kept: KeptRows) => readonly Buffer[];

/** How long rows of a customer are kept, ms. */
export interface KeptRows {
  readonly audit: KeptMsOf;
  readonly labels: KeptMsOf;
  readonly reviews: KeptMsOf;
}

const LONGEST: KeptRows = {
  audit: () => AUDIT_KEEP_SECONDS * 1_000,
  labels: () => LABELS_KEEP_SECONDS * 1_000,
  reviews: () => SHADOW_REVIEWS_KEEP_SECONDS * 1_000,
};

const SCANS: Readonly<Record<ExpiringTable, Scan>> = {
  audit: ({ audit }, now, rowsMax, kept) => audit.expired(now * 1_000, kept.audit, rowsMax),
  lists: ({ lists }, now, rowsMax) => lists.expired(now, rowsMax),
  shadowReviews: ({ shadowReviews }, now, rowsMax, kept) => shadowReviews.expired(now * 1_000, kept.reviews, rowsMax),
  labels: ({ labels }, now, rowsMax, kept) => labels.expired(now * 1_000, kept.labels, rowsMax),
  sightings: ({ sightings }, now, rowsMax) => sightings.expired(now, rowsMax),
  namedListItems: ({ namedLists }, now, rowsMax) => namedLists.expired(now, rowsMax),
  namedListVersions: ({ namedListVersions }, _now, rowsMax) => namedListVersions.unneeded(rowsMax),
  watchSeen: ({ watches }, _now, rowsMax) => watches.unneeded(rowsMax),
  watchChanges: ({ watches }, now, rowsMax) => watches.expired(now * 1_000 - WATCH_CHANGE_KEEP_MS, rowsMax),
  registry: ({ registry }, now, rowsMax) => registry.faded(now, rowsMax),
};

/** Removes expired rows among the next `rowsMax` of every table, or of one. Writes only where there are any. Returns their number. */
export async function pruneState(
  {
    tables,
    changes,
    kept = LONGEST,
  }: { readonly tables: StateTables; readonly changes: Committer; readonly kept?: KeptRows },
  nowMs: number,
  rowsMax: number,
  only: readonly ExpiringTable[] = Object.keys(SCANS) as ExpiringTable[],
): Promise<{ readonly removed: number; readonly faults: readonly StoreFault[] }> {
  const faults: StoreFault[] = [];
  let removed = 0;
  // Sequentially, so that the write lock is free in between.
  for (const table of only) {
    const keys = SCANS[table](tables, Math.floor(nowMs / 1000), rowsMax, kept);
    if (keys.length === 0) continue;
    const done = await changes.commit({ kind: 'rows.expired', table, keys }, { by: 'service', nowMs });
    if (done.kind === 'fault') faults.push(done);
    else removed += done.value;
  }
  return { removed, faults };
}
