import { hash } from 'node:crypto';
import type { Position } from '../../ports/decision-history.ts';
import type { SearchQuery } from '../../history/decision-log/log-query.ts';
import type { LogPlace } from '../../history/decision-log/order.ts';

/** The order of decisions of all nodes, newest first: by time, then by source, then by arrival there. The same seen from any node. */

/**
 * Choice: a decision is logged well within this time of its arrival, and clocks of nodes differ by less. A caller that follows the log
 * from any node misses no decision of another; a row of this last second may come twice.
 */
const LATE_MS = 1_000;

/** Returns the number of a node in positions: 48 bits of a hash of its id, at least 1. */
export function sourceOf(nodeId: string): number {
  return hash('sha256', nodeId, 'buffer').readUIntBE(0, 6) + 1;
}

/** Returns a value above 0 if `a` is newer. */
export function comparePositions(a: Position, b: Position): number {
  return a.occurredAtMs - b.occurredAtMs || (a.source ?? 0) - (b.source ?? 0) || a.arrival - b.arrival;
}

/** Returns the place before which a node's own rows are older than the position. */
export function placeAt(position: Position, source: number): LogPlace {
  const { occurredAtMs, arrival } = position;
  const there = position.source ?? 0;
  if (there === source) return { occurredAtMs, arrival };
  // Among rows of one time those of the larger source are newer.
  return { occurredAtMs, arrival: source < there ? Number.MAX_SAFE_INTEGER : 0 };
}

/** Returns the query with its positions as those of one node. */
export function queryAt(query: SearchQuery, source: number): SearchQuery {
  const { after, filter = {} } = query;
  const { loggedAfter = null, sinceMs = null } = filter;
  const own = { ...query, after: after === null ? null : placeAt(after, source) };
  if (loggedAfter === null) return own;
  const there = (loggedAfter as Position).source ?? 0;
  if (there === source) return { ...own, filter: { ...filter, loggedAfter } };
  const newerMs = loggedAfter.occurredAtMs - LATE_MS;
  return { ...own, filter: { ...filter, loggedAfter: null, sinceMs: Math.max(sinceMs ?? 0, newerMs) } };
}

export interface SourcePage<Row extends LogPlace> {
  readonly source: number;
  readonly rows: readonly Row[];
  /** Rows of this source that are older than this follow; null at its end. */
  readonly next: LogPlace | null;
}

/**
 * Merges a page of each source. A source whose page ends before the others' bounds what can be shown: its next rows may be newer than
 * theirs. So pages have no gaps, and the next one begins at one position for all sources.
 */
export function mergePages<Row extends LogPlace>(
  pages: readonly SourcePage<Row>[],
  limit: number,
): { readonly rows: readonly Row[]; readonly next: Position | null } {
  let bound: Position | null = null;
  const all: { readonly row: Row; readonly position: Position }[] = [];
  for (const { source, rows, next } of pages) {
    for (const row of rows) {
      const { occurredAtMs, arrival } = row;
      all.push({ row, position: { occurredAtMs, arrival, source } });
    }
    const end = next && { ...next, source };
    if (end !== null && (bound === null || comparePositions(end, bound) > 0)) bound = end;
  }
  const from = bound;
  const shown = all
    .filter(({ position }) => from === null || comparePositions(position, from) >= 0)
    .sort((a, b) => comparePositions(b.position, a.position));
  const rows = shown.slice(0, limit).map(({ row }) => row);
  return { rows, next: shown.length > limit ? (shown[limit - 1]?.position ?? null) : bound };
}
