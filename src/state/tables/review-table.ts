import type { KeptMsOf } from './request-rows.ts';
import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { ReviewOrder, ReviewQueue, ReviewReason, ReviewState, ReviewVerdict } from '../../risk/judgement.ts';
import {
  SHADOW_REVIEWS_KEEP_SECONDS,
  SHADOW_REVIEWS_PER_WRITE,
  SHADOW_REVIEWS_SCAN_ROWS_MAX,
  SHADOW_REVIEWS_WAITING_MAX,
  SHADOW_REVIEWS_WAITING_PER_CUSTOMER_MAX,
} from '../../kernel/limits.ts';
import type { StoreFault, StoreWrite } from './durable.ts';
import {
  REVIEW_VALUE,
  type ReviewHead,
  type ReviewValue,
  reviewHeadOf,
  reviewRowOf,
  type ShadowReview,
} from './review-row.ts';
import { BestReviews } from './best-reviews.ts';
import { ReviewIntake, REVIEWS_PER_DAY } from './review-intake.ts';
import { endOfCustomer, requestIdOf, requestKey } from './request-rows.ts';
import type { RowCounters } from './row-counters.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { DECISION_KEY, type DecisionKey, type RowRange, type TypedTable, typedTable } from './typed-table.ts';
import { u32Key } from './value.ts';

export interface ReviewQuery {
  /** `next` of the previous page; null to start with the first row. */
  readonly after: string | null;
  readonly limit: number;
  /** `none` for rows without a verdict; null for all. */
  readonly verdict: ReviewVerdict | 'none' | null;
  readonly why: ReviewReason | null;
  readonly queue: ReviewQueue;
  readonly state: ReviewState | null;
  readonly order: ReviewOrder;
}

export interface ReviewPage {
  readonly rows: readonly ShadowReview[];
  /** Where the next page starts; null at the end. May be set although the page is not full. */
  readonly next: string | null;
}

export interface ReviewBounds {
  readonly waitingMax: number;
  readonly waitingPerCustomerMax: number;
  readonly perWrite: number;
  /** Rows that `ReviewIntake` shares out between their kinds. */
  readonly perDay: number;
  readonly scanRowsMax: number;
}

const BOUNDS: ReviewBounds = {
  waitingMax: SHADOW_REVIEWS_WAITING_MAX,
  waitingPerCustomerMax: SHADOW_REVIEWS_WAITING_PER_CUSTOMER_MAX,
  perWrite: SHADOW_REVIEWS_PER_WRITE,
  perDay: REVIEWS_PER_DAY,
  scanRowsMax: SHADOW_REVIEWS_SCAN_ROWS_MAX,
};

/** Choice: records decoded between two checks of the clock, some 5 µs each. */
const DECODED_AT_ONCE = 20;

/** Writes rows that waited. */
export type SaveReviews = (customer: CustomerNumber, rows: readonly ShadowReview[]) => Promise<StoreWrite<unknown>>;

/** A customer's rows that are not on the disk yet: records as received, and those already decoded for a reader. */
interface Waiting {
  records: Buffer[];
  readonly rows: Map<string, ShadowReview>;
}

/**
 * The shadow review queue. Rows are visible as soon as they are queued, and on the disk with the next `flush`. Rows are kept for 30 days,
 * also after their verdict. When a customer's queue is full, the oldest rows without a verdict are removed first.
 */
export class ShadowReviews {
  readonly #table: TypedTable<DecisionKey, ReviewValue>;
  readonly #save: SaveReviews;
  readonly #bounds: ReviewBounds;
  readonly #intake: ReviewIntake;
  readonly #waiting = new Map<CustomerNumber, Waiting>();
  #waitingRows = 0;
  #dropped = 0;
  #evicted = 0;
  #refused = 0;
  #flushing: Promise<StoreFault | null> | null = null;

  constructor(database: Database<Buffer, Buffer>, by: RowCounters, save: SaveReviews, bounds = BOUNDS) {
    const counted = { by, as: 'shadowReviews' } as const;
    this.#table = typedTable({ database, key: DECISION_KEY, value: REVIEW_VALUE, counted });
    this.#save = save;
    this.#bounds = bounds;
    this.#intake = new ReviewIntake(bounds.perDay);
  }

  /** Number of rows that wait for their write. */
  get waiting(): number {
    return this.#waitingRows;
  }

  /** Number of rows that could not be queued, since the start: too many were waiting, or their record did not fit the batch buffer. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Number of rows evicted before their retention ended because their customer's queue was full, since the start. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Number of rows that were not queued because their kind had used its share of the room, since the start. */
  get refused(): number {
    return this.#refused;
  }

  /**
   * On the hot path, for an answer with `shadow_routed` and for a REVIEW: copies the decision record. Never refuses and never waits.
   * Measured: 0.9 µs.
   */
  enqueue(customer: CustomerNumber, record: Uint8Array): void {
    const { waitingMax, waitingPerCustomerMax } = this.#bounds;
    let own = this.#waiting.get(customer);
    const waiting = own === undefined ? 0 : rowsIn(own);
    if (record.length === 0 || this.#waitingRows >= waitingMax || waiting >= waitingPerCustomerMax) {
      this.#dropped++;
      return;
    }
    if (own === undefined) {
      own = { records: [], rows: new Map() };
      this.#waiting.set(customer, own);
    }
    own.records.push(Buffer.from(record));
    this.#waitingRows++;
  }

  /** Writes the waiting rows, a bounded number at a time; null when all of them are on the disk. Calls do not overlap. */
  flush(): Promise<StoreFault | null> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  find(customer: CustomerNumber, requestId: string): ShadowReview | null {
    return this.stored(customer, requestId) ?? this.waitingRow(customer, requestId);
  }

  /** Returns the stored row; null without one, also for a row that waits for its write. */
  stored(customer: CustomerNumber, requestId: string): ShadowReview | null {
    const found = this.#table.get({ customer, requestId });
    return found && { requestId, ...found };
  }

  waitingRow(customer: CustomerNumber, requestId: string): ShadowReview | null {
    return this.#rowsWaiting(customer)?.get(requestId) ?? null;
  }

  /** Runs in slices; rows queued or judged meanwhile may or may not be on the page. */
  async page(customer: CustomerNumber, query: ReviewQuery, slices: Slices): Promise<ReviewPage> {
    // Read before the scan: a row written meanwhile at a position that the scan has passed would otherwise be missed in both places.
    const waiting = await this.#waitingIds(customer, slices);
    if (query.order === 'score') return this.#bestRows(customer, query, waiting, slices);
    const isNext = query.order === 'oldest' ? isLater : isEarlier;
    const stored = await this.#storedRows(customer, query, slices);
    const rows = [...stored.rows];
    const known = new Set(rows.map(({ requestId }) => requestId));
    for (const requestId of waiting) {
      if (slices.isOver) await slices.begin();
      if (known.has(requestId) || (query.after !== null && !isNext(requestId, query.after))) continue;
      // Rows beyond the last scanned one belong to a later page.
      if (stored.lookedUpTo !== null && isNext(requestId, stored.lookedUpTo)) continue;
      const newest = this.find(customer, requestId);
      if (newest !== null && isWanted(newest, query)) rows.push(newest);
    }
    rows.sort((a, b) => (isNext(b.requestId, a.requestId) ? -1 : 1));
    if (rows.length <= query.limit) return { rows, next: stored.lookedUpTo };
    const page = rows.slice(0, query.limit);
    return { rows: page, next: page.at(-1)?.requestId ?? null };
  }

  /** Returns the verdicts among the newest rows, in slices. */
  async verdicts(customer: CustomerNumber, slices: Slices): Promise<ReadonlyMap<string, ReviewVerdict>> {
    const found = new Map<string, ReviewVerdict>();
    const range = { start: endOfCustomer(customer), end: u32Key(customer), exclusiveStart: true, reverse: true };
    let looked = 0;
    await walkInSlices(this.#table.database, range, slices, (key, value) => {
      const { verdict } = reviewHeadOf(value);
      if (verdict !== null) found.set(requestIdOf(Buffer.from(key)), verdict);
      return ++looked < this.#bounds.scanRowsMax ? 'on' : 'end';
    });
    return found;
  }

  rowsOf(customer: CustomerNumber): number {
    return this.#table.rowsOf(customer);
  }

  /** For `apply`, inside its transaction. Returns whether there was no row. */
  put(customer: CustomerNumber, row: ShadowReview): boolean {
    return this.#table.put({ customer, requestId: row.requestId }, row);
  }

  /**
   * For `apply`: returns the keys of rows to evict, the oldest without a verdict first, which nobody reviewed.
   * Looks at the oldest `scanRowsMax` rows, or `count` if that is more; if too few of them lack a verdict, the oldest rows follow, whose
   * labels stay.
   */
  evictable(customer: CustomerNumber, count: number, scanRowsMax: number): readonly Buffer[] {
    const open: Buffer[] = [];
    const judged: Buffer[] = [];
    const range = { start: u32Key(customer), end: endOfCustomer(customer), limit: Math.max(count, scanRowsMax) };
    for (const { key, value } of this.#table.database.getRange(range)) {
      if (value[0] === 0) open.push(Buffer.from(key));
      else if (judged.length < count) judged.push(Buffer.from(key));
      if (open.length === count) break;
    }
    return [...open, ...judged].slice(0, count);
  }

  /** For `apply`, inside its transaction. */
  evict(keys: readonly Buffer[]): void {
    for (const key of keys) this.#table.removeKey(key);
    this.#evicted += keys.length;
  }

  /**
   * Returns the keys of rows older than `keptMsOf`, and than `SHADOW_REVIEWS_KEEP_SECONDS`, in at most `rowsMax` steps; the next call
   * continues.
   */
  expired(nowMs: number, keptMsOf: KeptMsOf, rowsMax: number): readonly Buffer[] {
    const keptMsMax = SHADOW_REVIEWS_KEEP_SECONDS * 1_000;
    return this.#table.expired((customer) => nowMs - Math.min(keptMsOf(customer), keptMsMax), rowsMax);
  }

  /** For `apply`, inside its transaction. Returns whether there was a row. */
  removeRow(key: Buffer): boolean {
    return this.#table.removeKey(key);
  }

  async #flush(): Promise<StoreFault | null> {
    for (const [customer, own] of this.#waiting) {
      while (rowsIn(own) > 0) {
        const { perWrite } = this.#bounds;
        this.#decode(customer, own, own.records.splice(0, Math.max(0, perWrite - own.rows.size)));
        const some = [...own.rows.values()].slice(0, perWrite);
        const written = await this.#save(customer, some);
        // Readers found the rows in memory until here; unwritten ones stay there for the next flush.
        if (written.kind === 'fault') return written;
        for (const { requestId } of some) if (own.rows.delete(requestId)) this.#waitingRows--;
      }
    }
    return null;
  }

  /** Returns up to one row more than the page holds; `lookedUpTo` is set if the scan ended early. */
  async #storedRows(
    customer: CustomerNumber,
    query: ReviewQuery,
    slices: Slices,
  ): Promise<{ readonly rows: readonly ShadowReview[]; readonly lookedUpTo: string | null }> {
    const rows: ShadowReview[] = [];
    let looked = 0;
    let last: Buffer | null = null;
    let lookedUpTo: string | null = null;
    await walkInSlices(this.#table.database, rangeOf(customer, query), slices, (key, value) => {
      if (rows.length > query.limit) return 'end';
      if (looked === this.#bounds.scanRowsMax) {
        lookedUpTo = last === null ? null : requestIdOf(last);
        return 'end';
      }
      looked++;
      last = Buffer.from(key);
      const row = this.#wantedRow(last, value, query);
      if (row !== null) rows.push(row);
      return 'on';
    });
    return { rows, lookedUpTo };
  }

  /** Returns the rows with the highest scores of the newest ones, the older first among equals. */
  async #bestRows(
    customer: CustomerNumber,
    query: ReviewQuery,
    waiting: readonly string[],
    slices: Slices,
  ): Promise<ReviewPage> {
    const best = new BestReviews(query);
    let looked = 0;
    await walkInSlices(
      this.#table.database,
      rangeOf(customer, { order: 'newest', after: null }),
      slices,
      (key, value) => {
        const row = this.#wantedRow(Buffer.from(key), value, query);
        if (row !== null) best.add(row);
        return ++looked < this.#bounds.scanRowsMax ? 'on' : 'end';
      },
    );
    for (const requestId of waiting) {
      if (slices.isOver) await slices.begin();
      const row = this.find(customer, requestId);
      if (row !== null && isWanted(row, query)) best.add(row);
    }
    return best.page();
  }

  #wantedRow(key: Buffer, value: Uint8Array, query: ReviewQuery): ShadowReview | null {
    if (!isWantedHead(reviewHeadOf(value), query)) return null;
    const row = { requestId: requestIdOf(key), ...this.#table.decode(Buffer.from(value)) };
    return isWanted(row, query) ? row : null;
  }

  /** Returns the request ids of rows that wait for their write, decoding the others in slices. */
  async #waitingIds(customer: CustomerNumber, slices: Slices): Promise<readonly string[]> {
    const own = this.#waiting.get(customer);
    if (own === undefined) return [];
    while (own.records.length > 0) {
      this.#decode(customer, own, own.records.splice(0, DECODED_AT_ONCE));
      if (slices.isOver) await slices.begin();
    }
    return [...own.rows.keys()];
  }

  /** Decodes the remaining records; the hot path leaves that to the first reader. */
  #rowsWaiting(customer: CustomerNumber): ReadonlyMap<string, ShadowReview> | null {
    const own = this.#waiting.get(customer);
    if (own === undefined) return null;
    const { records } = own;
    own.records = [];
    this.#decode(customer, own, records);
    return own.rows;
  }

  #decode(customer: CustomerNumber, own: Waiting, records: readonly Buffer[]): void {
    for (const record of records) {
      const row = reviewRowOf(record);
      const isNew = row !== null && !own.rows.has(row.requestId);
      const isQueued = isNew && this.#intake.admits(customer, row);
      if (isQueued) own.rows.set(row.requestId, row);
      else this.#waitingRows--;
      if (row === null) this.#dropped++;
      else if (isNew && !isQueued) this.#refused++;
    }
  }
}

function rowsIn({ records, rows }: Waiting): number {
  return records.length + rows.size;
}

/** What the head tells; `isWanted` reads the rest. */
function isWantedHead(row: ReviewHead, { verdict, why, queue, state }: ReviewQuery): boolean {
  if ((queue === 'shadow' && row.why === 'review') || (state === 'open' && row.verdict !== null)) return false;
  return (verdict === null || (row.verdict ?? 'none') === verdict) && (why === null || row.why === why);
}

function isWanted(row: ShadowReview, query: ReviewQuery): boolean {
  if (!isWantedHead(row, query) || (query.queue === 'review' && row.decision !== 'REVIEW')) return false;
  const isOpen = row.verdict === null && row.work.closedAtSeconds === null;
  return query.state === null || (query.state === 'open') === isOpen;
}

function isEarlier(a: string, b: string): boolean {
  return a < b;
}

function isLater(a: string, b: string): boolean {
  return a > b;
}

/** Returns the stored keys of a customer from behind `after` on, newest or oldest first. */
function rangeOf(customer: CustomerNumber, { order, after }: Pick<ReviewQuery, 'order' | 'after'>): RowRange {
  const [from, end] = [u32Key(customer), endOfCustomer(customer)];
  const behind = after === null ? null : requestKey(customer, after);
  if (order === 'oldest') return { start: behind ?? from, end, exclusiveStart: behind !== null };
  return { start: behind ?? end, end: from, exclusiveStart: true, reverse: true };
}
