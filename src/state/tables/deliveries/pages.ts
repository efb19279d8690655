import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../../kernel/brand.ts';
import type { Delivery, DeliveryId } from '../../../work/webhook.ts';
import { DELIVERY_PAGES_PER_CUSTOMER_MAX } from '../../../kernel/delivery-limits.ts';
import { Slices, type Turns } from '../turns.ts';
import { endOfCustomer, rowIdOf } from '../request-rows.ts';
import { u32Key } from '../value.ts';
import { decodeRow, type DeliveryFilters, deliveryRowKey, filterOf, matchesFilter, type RowFilter } from './row.ts';

export interface DeliveryQuery extends DeliveryFilters {
  /** The last delivery of the previous page; null to start with the newest. */
  readonly after: DeliveryId | null;
  readonly limit: number;
}

export interface DeliveryPage {
  /** Newest first. */
  readonly rows: readonly Delivery[];
  /** The next page starts after this delivery; null at the end. May be set although the page is not full. */
  readonly next: DeliveryId | null;
}

/** `busy`: the customer has the maximum number of page requests; retry in a second. */
export type DeliveryPageOutcome = ({ readonly kind: 'page' } & DeliveryPage) | { readonly kind: 'busy' };

export interface PageBounds {
  /** Maximum number of rows that a page scans. */
  readonly scanRowsMax: number;
  /** Maximum number of them per turn of the event loop; fewer if the slice's time ends earlier. */
  readonly sliceRowsMax: number;
}

/** A customer's page requests: their number, and the promise of the last one. */
interface Line {
  count: number;
  last: Promise<void>;
}

interface Scan {
  readonly customer: CustomerNumber;
  readonly filter: RowFilter;
  readonly limit: number;
  readonly rows: Delivery[];
  /** The row scanned last; null before the first. */
  last: Buffer | null;
  looked: number;
}

/**
 * Pages of the delivery log. A filter that few rows match scans all rows of a customer. The scan therefore runs in slices: one slice of all
 * customers per turn of the event loop, and one page of a customer at a time. Rows written meanwhile may or may not be on the page; it is
 * sorted and without duplicates anyway, because keys never change.
 */
export class DeliveryPages {
  readonly #table: Database<Buffer, Buffer>;
  readonly #bounds: PageBounds;
  readonly #turns: Turns;
  readonly #lines = new Map<CustomerNumber, Line>();

  constructor(table: Database<Buffer, Buffer>, bounds: PageBounds, turns: Turns) {
    this.#turns = turns;
    this.#table = table;
    this.#bounds = bounds;
  }

  async read(customer: CustomerNumber, query: DeliveryQuery): Promise<DeliveryPageOutcome> {
    const line = this.#lines.get(customer) ?? { count: 0, last: Promise.resolve() };
    if (line.count === DELIVERY_PAGES_PER_CUSTOMER_MAX) return { kind: 'busy' };
    this.#lines.set(customer, line);
    line.count++;
    const made = line.last.then(() => this.#scan(customer, query));
    // A page that fails must not block those queued behind it.
    line.last = made.then(
      () => {},
      () => {},
    );
    try {
      return { kind: 'page', ...(await made) };
    } finally {
      line.count--;
      if (line.count === 0) this.#lines.delete(customer);
    }
  }

  async #scan(customer: CustomerNumber, { after, limit, ...filters }: DeliveryQuery): Promise<DeliveryPage> {
    const filter = filterOf(filters);
    if (filter === null) return { rows: [], next: null };
    const last = after === null ? null : deliveryRowKey(customer, after);
    const scan: Scan = { customer, filter, limit, rows: [], last, looked: 0 };
    const slices = new Slices(this.#turns, customer);
    for (;;) {
      await slices.begin();
      const end = this.#slice(scan, slices);
      if (end !== null) return { rows: scan.rows, next: end.next };
    }
  }

  /** Returns null if another slice must follow. Each slice opens a new range: no read transaction stays open between turns. */
  #slice(scan: Scan, slices: Slices): Pick<DeliveryPage, 'next'> | null {
    const { customer, filter, limit, rows } = scan;
    const { scanRowsMax, sliceRowsMax } = this.#bounds;
    const start = scan.last ?? endOfCustomer(customer);
    let count = 0;
    for (const { key, value } of this.#table.getRange({
      start,
      exclusiveStart: true,
      end: u32Key(customer),
      reverse: true,
    })) {
      if (scan.looked === scanRowsMax) return { next: scan.last === null ? null : idOf(scan.last) };
      if (count === sliceRowsMax || (count > 0 && slices.isOver)) return null;
      count++;
      scan.looked++;
      if (matchesFilter(value, filter)) {
        // A further row after a full page shows that there is a next page.
        if (rows.length === limit) return { next: rows.at(-1)?.id ?? null };
        rows.push(decodeRow(Buffer.from(key), Buffer.from(value)));
      }
      scan.last = Buffer.from(key);
    }
    return { next: null };
  }
}

function idOf(key: Buffer): DeliveryId {
  return rowIdOf('dlv', key) as DeliveryId;
}
