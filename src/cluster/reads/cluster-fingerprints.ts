import type { CustomerNumber } from '../../kernel/brand.ts';
import { DECISION_SCAN_ROWS_MAX } from '../../kernel/history-limits.ts';
import type { FingerprintRow } from '../../history/decision-log/fingerprints.ts';
import type { FingerprintOutcome, FingerprintQuery } from '../../history/decision-log/log-query.ts';
import type { RowPlace } from '../../history/decision-log/scan.ts';
import type { DecisionReader } from '../../history/decision-reader.ts';
import type { Slices } from '../../state/tables/turns.ts';

interface Seen {
  occurredAtMs: number;
  place: RowPlace;
  decisions: number;
}

/** Choice: fingerprints between two checks of the clock. */
const COMPARED_AT_ONCE = 256;

/**
 * Returns a page of the fingerprints of flagged decisions of all nodes, ordered by their newest decision, then by the fingerprint. Every
 * page scans the decisions up to the time of the first page, which is the `arrivalEnd` of its cursor, so a fingerprint is on one page only.
 * The latency of the newest decision is not known here.
 */
export async function pageOfFingerprints(
  reader: Pick<DecisionReader, 'scan' | 'readAt'>,
  customer: CustomerNumber,
  query: FingerprintQuery,
  slices: Slices,
): Promise<FingerprintOutcome> {
  const { decision, text, nowMs, limit, coverage } = query;
  const arrivalEnd = query.arrivalEnd ?? nowMs + 1;
  const range = { sinceMs: null, untilMs: arrivalEnd, nowMs, rowsMax: DECISION_SCAN_ROWS_MAX, isFlaggedOnly: true };
  const seen = new Map<string, Seen>();
  const asked = { ...range, decision, text, ...(coverage !== undefined && { coverage }) };
  const scanned = await reader.scan(customer, asked, (record, _bytes, at, end, occurredAtMs, block) => {
    if (record.fingerprint !== null) note(seen, record.fingerprint, { block, at, end }, occurredAtMs);
    return false;
  });
  if (scanned.kind === 'busy') return scanned;
  await slices.begin();
  const newest = await olderThan(seen, query, limit + 1, slices);
  const rows: FingerprintRow[] = [];
  for (const { place, decisions } of newest.slice(0, limit)) {
    const record = reader.readAt(place);
    if (record !== null) rows.push({ newest: { record, latencyMs: 0 }, decisions });
  }
  const last = newest[limit - 1];
  return {
    kind: 'page',
    arrivalEnd,
    rows,
    next: newest.length > limit && last !== undefined ? positionOf(last) : null,
  };
}

function note(seen: Map<string, Seen>, fingerprint: string, place: RowPlace, occurredAtMs: number): void {
  const known = seen.get(fingerprint);
  if (known === undefined) {
    seen.set(fingerprint, { occurredAtMs, place, decisions: 1 });
    return;
  }
  known.decisions++;
  if (occurredAtMs < known.occurredAtMs) return;
  known.occurredAtMs = occurredAtMs;
  known.place = place;
}

interface Ranked extends Seen {
  readonly rank: number;
}

/** Returns the newest fingerprints after the query's position. Never sorts all of them at once. */
async function olderThan(
  seen: ReadonlyMap<string, Seen>,
  { after }: FingerprintQuery,
  count: number,
  slices: Slices,
): Promise<readonly Ranked[]> {
  let newest: Ranked[] = [];
  let compared = 0;
  const keep = (): void => {
    newest = newest.sort((a, b) => b.occurredAtMs - a.occurredAtMs || b.rank - a.rank).slice(0, count);
  };
  for (const [fingerprint, one] of seen) {
    if (++compared % COMPARED_AT_ONCE === 0 && slices.isOver) await slices.begin();
    const rank = Buffer.from(fingerprint, 'latin1').readUIntBE(0, 6);
    const isOlder =
      after === null ||
      one.occurredAtMs < after.occurredAtMs ||
      (one.occurredAtMs === after.occurredAtMs && rank < after.arrival);
    if (!isOlder) continue;
    newest.push({ ...one, rank });
    if (newest.length === 2 * count) keep();
  }
  keep();
  return newest;
}

/** In the order of fingerprints of one time the first bytes of the fingerprint count. */
function positionOf({ occurredAtMs, rank }: Ranked): { readonly occurredAtMs: number; readonly arrival: number } {
  return { occurredAtMs, arrival: rank };
}
