import type { DecisionRecord } from '../../core/decision-record.ts';
import type { Block, RowView, Stream } from './block.ts';
import type { BlockReader } from './block-reader.ts';
import { BlockWalk } from './block-walk.ts';
import type { CustomerLog } from './log-index.ts';
import { type TextMatch, unpackRecord } from './match.ts';
import { comparePlaces, type Place } from './order.ts';
import type { Slices } from '../turns.ts';

export interface LoggedDecision {
  readonly record: DecisionRecord;
  /** As it was answered. */
  readonly latencyMs: number;
}

/** What a reader wants of a customer's rows. */
export interface Wanted {
  readonly streams: readonly Stream[];
  /** Position in `DECISIONS`; null for all. */
  readonly decision: number | null;
  readonly text: TextMatch | null;
  /** Rows older than this alone; null for all. */
  readonly before: Place | null;
  /** Rows with this arrival and later ones came after the reader began. */
  readonly arrivalEnd: number;
  /** By stream: rows of that time and older have run out. */
  readonly endedMs: readonly [number, number];
}

export interface SearchPage {
  readonly rows: readonly LoggedDecision[];
  /** Rows older than this come next; null at the end. */
  readonly next: Place | null;
}

interface Hit extends Place {
  readonly block: Block;
  readonly latencyMs: number;
  /** Its bytes are unpacked only when it comes onto the page. */
  readonly record: DecisionRecord | Buffer;
}

/**
 * Walks the blocks from the newest on and gives out what was found as soon as no block that is still to come can hold anything
 * newer. So memory is bounded by the blocks that lie over each other in time, which are few.
 */
export async function searchRows(
  log: CustomerLog,
  wanted: Wanted,
  limit: number,
  scanRowsMax: number,
  reader: BlockReader,
  slices: Slices,
): Promise<SearchPage> {
  const walk = new BlockWalk(log, wanted);
  const found: Hit[] = [];
  const page: Hit[] = [];
  let looked = 0;
  for (;;) {
    const frontier = walk.newest();
    takeNewer(found, frontier, page, limit + 1);
    // One row more than the page holds tells that there is a next page.
    if (page.length > limit) return pageOf(page.slice(0, limit), page[limit - 1] ?? null, reader, slices);
    if (frontier === null) return pageOf(page, null, reader, slices);
    // Each page gets on, however many newer blocks reach down to where it begins.
    const next = justAbove(frontier);
    const getsOn = wanted.before === null || comparePlaces(next, wanted.before) < 0;
    if (looked >= scanRowsMax && getsOn) return pageOf(page, next, reader, slices);
    const block = walk.next();
    if (block === null) continue;
    looked += block.rows;
    collect(block, wanted, reader, found);
    found.sort((a, b) => comparePlaces(a, b));
    if (slices.isOver) await slices.begin();
  }
}

/** Moves what is newer than the frontier from the end of `found`, where the newest is, to the page. */
function takeNewer(found: Hit[], frontier: Place | null, page: Hit[], pageMax: number): void {
  for (let hit = found.at(-1); hit !== undefined && page.length < pageMax; hit = found.at(-1)) {
    if (frontier !== null && comparePlaces(hit, frontier) <= 0) return;
    page.push(hit);
    found.pop();
  }
}

function collect(block: Block, wanted: Wanted, reader: BlockReader, found: Hit[]): void {
  const bytes = reader.bytesOf(block);
  if (bytes === null || wanted.text?.mayMatch(bytes, 0, bytes.length) === false) return;
  reader.walk(block, bytes, (row) => {
    if (!isWanted(row, block, wanted) || wanted.text?.mayMatch(bytes, row.recordAt, row.recordEnd) === false)
      return false;
    const { occurredAtMs, arrival, latencyMs } = row;
    if (wanted.text === null) {
      // A copy, because the bytes are borrowed; most rows are another page's and need not be unpacked.
      const record = Buffer.from(bytes.subarray(row.recordAt, row.recordEnd));
      found.push({ occurredAtMs, arrival, block, latencyMs, record });
      return false;
    }
    const record = unpackRecord(bytes, row.recordAt, row.recordEnd);
    if (record === null) reader.countDamaged(block);
    else if (wanted.text.matches(record)) found.push({ occurredAtMs, arrival, block, latencyMs, record });
    return false;
  });
}

/** By the row's head alone. */
export function isWanted(row: RowView, block: Block, wanted: Wanted): boolean {
  if (wanted.decision !== null && row.decision !== wanted.decision) return false;
  if (row.arrival >= wanted.arrivalEnd || row.occurredAtMs <= wanted.endedMs[block.stream]) return false;
  return wanted.before === null || comparePlaces(row, wanted.before) < 0;
}

async function pageOf(
  hits: readonly Hit[],
  next: Place | null,
  reader: BlockReader,
  slices: Slices,
): Promise<SearchPage> {
  const rows: LoggedDecision[] = [];
  for (const { block, latencyMs, record } of hits) {
    const unpacked = Buffer.isBuffer(record) ? unpackRecord(record, 0, record.length) : record;
    if (unpacked === null) reader.countDamaged(block);
    else rows.push({ record: unpacked, latencyMs });
    if (slices.isOver) await slices.begin();
  }
  return { rows, next: next === null ? null : { occurredAtMs: next.occurredAtMs, arrival: next.arrival } };
}

/** Rows at this place and older ones come next. */
function justAbove(place: Place): Place {
  return { occurredAtMs: place.occurredAtMs, arrival: place.arrival + 1 };
}
