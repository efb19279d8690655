import type { RowRetention } from '../../risk/policy/row-retention.ts';
import type { Coverage } from '../../ports/decision-history.ts';
import { type Decision, DECISIONS } from '../../risk/decision.ts';
import type { Stream } from './block.ts';
import { AllMatch, FieldMatch, type RecordFields, type RecordMatch } from './field-match.ts';
import type { FingerprintPage } from './fingerprints.ts';
import { TextMatch } from './match.ts';
import { comparePlaces, type LogPlace } from './order.ts';
import type { LinkTarget } from './row-links.ts';
import type { Scanned } from './scan.ts';
import type { RawRow, SearchPage, WantedRows } from './search.ts';

/** What searches of the log are asked, and the rows that they want. */

export interface SearchQuery {
  /** null for all. */
  readonly decision: Decision | null;
  /** Part of the address, the country code or a reason, case-insensitive; null or '' for all. */
  readonly text: string | null;
  /** Position where the previous page ended; null for the first page. */
  readonly after: LogPlace | null;
  /** At least 1. */
  readonly limit: number;
  readonly nowMs: number;
  readonly filter?: Partial<SearchFilter>;
  readonly coverage?: Coverage;
}

/** Further criteria; what is absent or null restricts nothing. */
export interface SearchFilter extends RecordFields {
  /** Decisions of this time and later. */
  readonly sinceMs: number | null;
  /** Decisions before this time. */
  readonly untilMs: number | null;
  readonly links: readonly LinkTarget[];
  /** Decisions logged after this one, as `positionOf` returns it. */
  readonly loggedAfter: LogPlace | null;
}

/** A page whose records are still bytes. */
export type RawOutcome =
  | { readonly kind: 'page'; readonly rows: readonly RawRow[]; readonly next: LogPlace | null }
  | { readonly kind: 'busy' };

/** `busy`: the maximum number of searches is running; retry in a second. */
export type SearchOutcome = ({ readonly kind: 'page' } & SearchPage) | { readonly kind: 'busy' };

export interface ScanQuery {
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
  readonly nowMs: number;
  readonly rowsMax: number;
  /** Absent for all. */
  readonly decision?: Decision | null;
  readonly text?: string | null;
  /** Only decisions that are kept as flagged ones. */
  readonly isFlaggedOnly?: boolean;
  readonly coverage?: Coverage;
}

export type ScanOutcome = ({ readonly kind: 'scanned' } & Scanned) | { readonly kind: 'busy' };

export interface FingerprintQuery extends SearchQuery {
  /** Value that the first page returned, so that later pages scan the same rows; null for the first page. */
  readonly arrivalEnd: number | null;
}

export type FingerprintOutcome =
  | ({ readonly kind: 'page'; readonly arrivalEnd: number } & FingerprintPage)
  | { readonly kind: 'busy' };

/** Returns the rows of these streams that a query asks for, among those that arrived before `arrivalEnd`. */
export function wantedBy(
  query: SearchQuery,
  streams: readonly Stream[],
  arrivalEnd: number,
  [allows, flagged]: EndedMs,
): WantedRows {
  const { sinceMs = null, untilMs = null, links = [], loggedAfter = null } = query.filter ?? {};
  const since = (sinceMs ?? 0) - 1;
  return {
    streams,
    decision: query.decision === null ? null : DECISIONS.indexOf(query.decision),
    text: matchOf(query),
    links,
    only: null,
    before: olderOf(query.after, untilMs === null ? null : { occurredAtMs: untilMs, arrival: 0 }),
    arrivalEnd,
    afterArrival: loggedAfter?.arrival ?? 0,
    endedMs: [Math.max(allows, since), Math.max(flagged, since)],
  };
}

function matchOf({ text, filter = {} }: SearchQuery): RecordMatch | null {
  const { eventType = null, reason = null, scoreMin = null, scoreMax = null } = filter;
  const { asn = null, path = null, emailDomain = null } = filter;
  const all: RecordMatch[] = [];
  if (text !== null && text !== '') all.push(new TextMatch(text));
  const fields = { eventType, reason, scoreMin, scoreMax, asn, path, emailDomain };
  if (Object.values(fields).some((wanted) => wanted !== null)) all.push(new FieldMatch(fields));
  const [only] = all;
  return all.length > 1 ? new AllMatch(all) : (only ?? null);
}

/** Null is newer than everything. */
function olderOf(a: LogPlace | null, b: LogPlace | null): LogPlace | null {
  if (a === null || b === null) return a ?? b;
  return comparePlaces(a, b) < 0 ? a : b;
}

/** By stream: decisions of this time and older have expired. */
export type EndedMs = readonly [allows: number, flagged: number];

export function endedAt(nowMs: number, { allow, flagged }: Pick<RowRetention, 'allow' | 'flagged'>): EndedMs {
  return [nowMs - allow, nowMs - flagged];
}
