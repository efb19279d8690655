import type { DecisionRecord } from '../../risk/decision-record.ts';
import type { Block, RowView, Stream } from './block.ts';
import type { BlockReader } from './block-reader.ts';
import { BlockWalk } from './block-walk.ts';
import type { CustomerLog } from './log-index.ts';
import type { RecordMatch } from './field-match.ts';
import { unpackRecord } from './match.ts';
import { hasLink, linkCount, type LinkTarget, mayHaveLink } from './row-links.ts';
import { comparePlaces, type LogPlace } from './order.ts';
import type { Slices } from '../../state/tables/turns.ts';

export interface LoggedDecision {
  readonly record: DecisionRecord;
  /** Latency as reported in the response. */
  readonly latencyMs: number;
}

/** Criteria of a read of a customer's rows. */
export interface WantedRows {
  readonly streams: readonly Stream[];
  /** Index in `DECISIONS`; null for all. */
  readonly decision: number | null;
  readonly text: RecordMatch | null;
  /** The row has all of these links. */
  readonly links: readonly LinkTarget[];
  /** By stream: the only sealed blocks that may have the links; null for all. */
  readonly only: readonly [readonly Block[], readonly Block[]] | null;
  /** Only rows older than this; null for all. */
  readonly before: LogPlace | null;
  /** Rows with this arrival or a later one were added after the read began. */
  readonly arrivalEnd: number;
  /** Only rows with a later arrival; 0 for all. */
  readonly afterArrival: number;
  /** By stream: rows of this time and older have expired. */
  readonly endedMs: readonly [number, number];
}

export interface SearchPage {
  readonly rows: readonly LoggedDecision[];
  /** Rows older than this follow on the next page; null at the end. */
  readonly next: LogPlace | null;
}

/** A decision as it is stored; the bytes belong to the caller. */
export interface RawRow extends LogPlace {
  readonly latencyMs: number;
  readonly record: Buffer;
}

interface Hit extends RawRow {
  readonly block: Block;
}

export interface RawPage {
  readonly rows: readonly Hit[];
  readonly next: LogPlace | null;
}

/**
 * Walks the blocks from newest to oldest and emits a row as soon as no remaining block can contain a newer one. So memory is bounded by the
 * blocks that overlap in time, which are few.
 */
export async function searchRows(
  log: CustomerLog,
  wanted: WantedRows,
  limit: number,
  scanRowsMax: number,
  reader: BlockReader,
  slices: Slices,
): Promise<RawPage> {
  const walk = new BlockWalk(log, wanted);
  const found: Hit[] = [];
  const page: Hit[] = [];
  let looked = 0;
  for (;;) {
    const frontier = walk.newest();
    takeNewer(found, frontier, page, limit + 1);
    // One row more than fits the page shows that there is a next page.
    if (page.length > limit) return rawPage(page.slice(0, limit), page[limit - 1] ?? null);
    if (frontier === null) return rawPage(page, null);
    // Guarantees progress of each page, however many newer blocks extend down to its start.
    const next = justAbove(frontier);
    const getsOn = wanted.before === null || comparePlaces(next, wanted.before) < 0;
    if (looked >= scanRowsMax && getsOn) return rawPage(page, next);
    const block = walk.next();
    if (block === null) continue;
    looked += block.rows;
    collect(block, wanted, reader, found);
    found.sort((a, b) => comparePlaces(a, b));
    if (slices.isOver) await slices.begin();
  }
}

/** Moves rows newer than the frontier from the end of `found`, where the newest are, to the page. */
function takeNewer(found: Hit[], frontier: LogPlace | null, page: Hit[], pageMax: number): void {
  for (let hit = found.at(-1); hit !== undefined && page.length < pageMax; hit = found.at(-1)) {
    if (frontier !== null && comparePlaces(hit, frontier) <= 0) return;
    page.push(hit);
    found.pop();
  }
}

function collect(block: Block, wanted: WantedRows, reader: BlockReader, found: Hit[]): void {
  const bytes = reader.bytesOf(block);
  if (bytes === null || wanted.text?.mayMatch(bytes, 0, bytes.length) === false) return;
  const take = (row: RowView): boolean => {
    if (!isWantedRow(row, block, wanted) || !hasLinks(bytes, row, wanted.links)) return false;
    if (wanted.text?.mayMatchRecord(bytes, row.recordAt, row.recordEnd) === false) return false;
    if (wanted.text !== null) {
      const unpacked = unpackRecord(bytes, row.recordAt, row.recordEnd);
      if (unpacked === null) reader.countDamaged(block);
      if (unpacked === null || !wanted.text.matches(unpacked)) return false;
    }
    const { occurredAtMs, arrival, latencyMs } = row;
    // Copied, because the bytes are borrowed; unpacked only when it is on the page.
    const record = Buffer.from(bytes.subarray(row.recordAt, row.recordEnd));
    found.push({ occurredAtMs, arrival, block, latencyMs, record });
    return false;
  };
  const [link] = wanted.links;
  if (link === undefined) reader.walk(block, bytes, take);
  else reader.walkRecords(block, bytes, (all, from, end) => mayHaveLink(all, from, end, link), take);
}

function hasLinks(bytes: Buffer, { recordAt, recordEnd }: RowView, links: readonly LinkTarget[]): boolean {
  if (links.length === 0) return true;
  const count = linkCount(bytes, recordAt, recordEnd);
  if (count >= 0) return links.every((link) => hasLink(bytes, recordEnd, count, link));
  const record = unpackRecord(bytes, recordAt, recordEnd);
  return record !== null && links.every((link) => link.isIn(record));
}

/** Checks the row's header only. */
export function isWantedRow(row: RowView, block: Block, wanted: WantedRows): boolean {
  if (wanted.decision !== null && row.decision !== wanted.decision) return false;
  if (
    row.arrival <= wanted.afterArrival ||
    row.arrival >= wanted.arrivalEnd ||
    row.occurredAtMs <= wanted.endedMs[block.stream]
  )
    return false;
  return wanted.before === null || comparePlaces(row, wanted.before) < 0;
}

function rawPage(rows: readonly Hit[], next: LogPlace | null): RawPage {
  return { rows, next: next === null ? null : { occurredAtMs: next.occurredAtMs, arrival: next.arrival } };
}

/** Unpacks the rows of a page. */
export async function unpackPage(
  { rows: hits, next }: RawPage,
  reader: BlockReader,
  slices: Slices,
): Promise<SearchPage> {
  const rows: LoggedDecision[] = [];
  for (const { block, latencyMs, record } of hits) {
    const unpacked = unpackRecord(record, 0, record.length);
    if (unpacked === null) reader.countDamaged(block);
    else rows.push({ record: unpacked, latencyMs });
    if (slices.isOver) await slices.begin();
  }
  return { rows, next };
}

/** Returns the upper bound of a page that starts with rows at this position and older ones. */
function justAbove(place: LogPlace): LogPlace {
  return { occurredAtMs: place.occurredAtMs, arrival: place.arrival + 1 };
}
