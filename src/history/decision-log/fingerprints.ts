import type { RowView } from './block.ts';
import type { BlockReader } from './block-reader.ts';
import { BlockWalk } from './block-walk.ts';
import type { CustomerLog } from './log-index.ts';
import { unpackRecord } from './match.ts';
import { comparePlaces, type LogPlace } from './order.ts';
import { readFingerprint } from './record-head.ts';
import { isWantedRow, type LoggedDecision, type WantedRows } from './search.ts';
import type { Slices } from '../../state/tables/turns.ts';

export interface FingerprintRow {
  /** The fingerprint's newest matching decision. */
  readonly newest: LoggedDecision;
  /** Number of matching decisions among the scanned rows. */
  readonly decisions: number;
}

export interface FingerprintPage {
  readonly rows: readonly FingerprintRow[];
  /** Fingerprints whose newest decision is older than this follow on the next page; null at the end. */
  readonly next: LogPlace | null;
}

/** A fingerprint's newest decision so far. */
interface Seen {
  newest: LogPlace;
  latencyMs: number;
  /** Record of the newest decision; null if it belongs to an earlier page. */
  record: Buffer | null;
  decisions: number;
}

/**
 * Returns one row per fingerprint among the newest `scanRowsMax` rows, ordered by its newest decision. Every page scans the same rows,
 * those that existed when the first page was requested. So a fingerprint's position and count are the same on all pages, it is on exactly
 * one of them, and no state is kept between pages.
 *
 * `wanted.before` selects the page, not the rows.
 */
export async function searchFingerprints(
  log: CustomerLog,
  wanted: WantedRows,
  limit: number,
  scanRowsMax: number,
  reader: BlockReader,
  slices: Slices,
): Promise<FingerprintPage> {
  const all: WantedRows = { ...wanted, before: null };
  const walk = new BlockWalk(log, all);
  const seen = new Map<string, Seen>();
  let looked = 0;
  // Once the page is full of fingerprints newer than all remaining rows, further fingerprints belong to later pages.
  let isFull = false;
  for (;;) {
    const frontier = walk.newest();
    if (frontier === null || looked >= scanRowsMax) break;
    isFull ||= seen.size > limit && hasPage(seen, wanted.before, frontier, limit);
    const block = walk.next();
    const bytes = block === null ? null : reader.bytesOf(block);
    looked += block?.rows ?? 0;
    if (block !== null && bytes !== null && wanted.text?.mayMatch(bytes, 0, bytes.length) !== false) {
      reader.walk(block, bytes, (row) => {
        if (isWantedRow(row, block, all))
          note(seen, fingerprintOf(bytes, row, wanted), bytes, row, wanted.before, isFull);
        return false;
      });
    }
    if (slices.isOver) await slices.begin();
  }
  return pageOf(seen, limit, slices);
}

/** Returns the row's fingerprint; null if it has none or does not match. */
function fingerprintOf(bytes: Buffer, row: RowView, { text }: WantedRows): string | null {
  if (text?.mayMatchRecord(bytes, row.recordAt, row.recordEnd) === false) return null;
  const quick = text === null ? readFingerprint(bytes, row.recordAt) : undefined;
  if (quick !== undefined) return quick;
  const record = unpackRecord(bytes, row.recordAt, row.recordEnd);
  return record !== null && (text === null || text.matches(record)) ? record.fingerprintHash : null;
}

function note(
  seen: Map<string, Seen>,
  fingerprint: string | null,
  bytes: Buffer,
  row: RowView,
  before: LogPlace | null,
  isFull: boolean,
): void {
  if (fingerprint === null) return;
  const known = seen.get(fingerprint);
  if (known === undefined && isFull) return;
  if (known !== undefined) {
    known.decisions++;
    if (comparePlaces(row, known.newest) <= 0) return;
  }
  const newest: LogPlace = { occurredAtMs: row.occurredAtMs, arrival: row.arrival };
  const isOfPage = before === null || comparePlaces(newest, before) < 0;
  // Copied, because the bytes are borrowed.
  const record = isOfPage ? Buffer.from(bytes.subarray(row.recordAt, row.recordEnd)) : null;
  seen.set(fingerprint, { newest, latencyMs: row.latencyMs, record, decisions: known?.decisions ?? 1 });
}

/** Returns whether more fingerprints than fit the page are newer than all remaining rows. */
function hasPage(seen: ReadonlyMap<string, Seen>, before: LogPlace | null, frontier: LogPlace, limit: number): boolean {
  let count = 0;
  for (const { newest } of seen.values()) {
    const isOfPage = before === null || comparePlaces(newest, before) < 0;
    if (isOfPage && comparePlaces(newest, frontier) > 0) count++;
  }
  return count > limit;
}

async function pageOf(seen: ReadonlyMap<string, Seen>, limit: number, slices: Slices): Promise<FingerprintPage> {
  // One more than fits the page shows that there is a next one.
  const newest = await newestOf(seen, limit + 1, slices);
  const rows: FingerprintRow[] = [];
  for (const { record, latencyMs, decisions } of newest.slice(0, limit)) {
    const unpacked = record === null ? null : unpackRecord(record, 0, record.length);
    if (unpacked !== null) rows.push({ newest: { record: unpacked, latencyMs }, decisions });
    if (slices.isOver) await slices.begin();
  }
  return { rows, next: newest.length > limit ? (newest[limit - 1]?.newest ?? null) : null };
}

/** Choice: fingerprints between two checks of the clock, well under 0.1 µs each. */
const COMPARED_AT_ONCE = 256;

/** Returns the page's newest fingerprints, newest first. Never sorts all of them at once: there may be as many as scanned rows. */
async function newestOf(seen: ReadonlyMap<string, Seen>, count: number, slices: Slices): Promise<readonly Seen[]> {
  let newest: Seen[] = [];
  let looked = 0;
  const keep = (): void => {
    newest = newest.sort((a, b) => comparePlaces(b.newest, a.newest)).slice(0, count);
  };
  for (const one of seen.values()) {
    if (++looked % COMPARED_AT_ONCE === 0 && slices.isOver) await slices.begin();
    if (one.record === null) continue;
    newest.push(one);
    if (newest.length === 2 * count) keep();
  }
  keep();
  return newest;
}
