import type { ShadowReviewRow } from '../../../../contract/wire-types.ts';

/** Choice: decisions that are loaded before they are shown. */
const PRELOADED = 2;
/** Choice: decisions that a search by event type loads at a time; the service processes 8 calls of a customer. */
const SEARCH_AHEAD = 4;

export interface StackPlace {
  /** The decision that is shown; null: none, or it is still being searched. */
  readonly row: ShadowReviewRow | null;
  readonly next: ShadowReviewRow | null;
  readonly previous: ShadowReviewRow | null;
  /** Position of `row` among the rows, from 0. */
  readonly index: number;
  /** Ids of the decisions to load now. */
  readonly load: readonly string[];
  /** Decisions have to be loaded before it is known whether one matches. */
  readonly isSearching: boolean;
  /** The maximum was searched without a match. */
  readonly isStopped: boolean;
}

/**
 * Finds the decision to show: that of `at`, or the first one. The queue does not have event types, so with `event` the decisions are
 * loaded one after the other. `eventOf` returns null for a decision that has left the log, undefined for one that is not loaded.
 */
export function findPlace(
  rows: readonly ShadowReviewRow[],
  at: string,
  event: string,
  examinedMax: number,
  eventOf: (id: string) => string | null | undefined,
): StackPlace {
  const start = Math.max(
    0,
    rows.findIndex(({ request_id: id }) => id === at),
  );
  const unknown: string[] = [];
  /** Returns the first match from a position on; null if there is none or if one before it is not loaded yet. */
  const seek = (from: number, by: 1 | -1): number | null => {
    for (let n = from; rows[n] !== undefined && Math.abs(n - start) < examinedMax; n += by) {
      const id = rows[n]?.request_id ?? '';
      if (event === '') return n;
      const found = eventOf(id);
      if (found === undefined) {
        if (by === 1) unknown.push(...rows.slice(n, n + SEARCH_AHEAD).map(({ request_id }) => request_id));
        return null;
      }
      if (found === event) return n;
    }
    return null;
  };
  const index = seek(start, 1);
  const isSearching = index === null && unknown.length > 0;
  const next = index === null ? null : seek(index + 1, 1);
  const previous = index === null ? null : seek(index - 1, -1);
  const shown = index === null ? [] : rows.slice(index, index + 1 + PRELOADED).map(({ request_id: id }) => id);
  const rowAt = (n: number | null): ShadowReviewRow | null => (n === null ? null : (rows[n] ?? null));
  return {
    row: rowAt(index),
    next: rowAt(next),
    previous: rowAt(previous),
    index: index ?? 0,
    load: [...new Set([...shown, ...unknown])],
    isSearching,
    isStopped: index === null && !isSearching && rows.length - start > examinedMax,
  };
}
