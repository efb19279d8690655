import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../base/brand.ts';
import type { Delivery, DeliveryId } from '../../core/webhook.ts';
import { DELIVERY_PAGES_PER_CUSTOMER_MAX } from '../../limits.ts';
import { Slices, type Turns } from '../turns.ts';
import { endOfCustomer, rowIdOf } from '../request-rows.ts';
import { u32Key } from '../value.ts';
import { decodeRow, type DeliveryFilters, deliveryKey, filterOf, fits, type RowFilter } from './row.ts';

export interface DeliveryQuery extends DeliveryFilters {
  /** The last delivery that was seen; null from the newest on. */
  readonly after: DeliveryId | null;
  readonly limit: number;
}

export interface DeliveryPage {
  /** Newest first. */
  readonly rows: readonly Delivery[];
  /** Where the next page begins (after this delivery), null at the end. Possibly set although the page is not full. */
  readonly next: DeliveryId | null;
}

/** `busy`: as many pages of the customer are asked for at once as may be; try again in a second. */
export type DeliveryPageOutcome = ({ readonly kind: 'page' } & DeliveryPage) | { readonly kind: 'busy' };

export interface PageBounds {
  /** Rows that a page looks at. */
  readonly scanRowsMax: number;
  /** Of these in one turn of the event loop; fewer where the slice's time is over before. */
  readonly sliceRowsMax: number;
}

/** Pages of one customer: how many are asked for, and when the last of them is made. */
interface Line {
  count: number;
  last: Promise<void>;
}

interface Scan {
  readonly customer: CustomerNumber;
  readonly filter: RowFilter;
  readonly limit: number;
  readonly rows: Delivery[];
  /** The row that was looked at last; null before the first. */
  last: Buffer | null;
  looked: number;
}

/**
 * Pages of the log of deliveries. A filter that few rows fit looks at all rows of a customer, so that is done in slices, with turns
 * of the event loop between them, one slice of all customers in a turn, and one page of a customer after the other. What is written
 * meanwhile is on the page or not; it is in order and without doubles all the same, because keys never change.
 */
export class Pages {
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
    // One that cannot be read holds up none of those behind it.
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
    const last = after === null ? null : deliveryKey(customer, after);
    const scan: Scan = { customer, filter, limit, rows: [], last, looked: 0 };
    const slices = new Slices(this.#turns);
    for (;;) {
      await slices.begin();
      const end = this.#slice(scan, slices);
      if (end !== null) return { rows: scan.rows, next: end.next };
    }
  }

  /** null where the next slice goes on. The rows are asked for anew in each: no reading of the store stays open between turns. */
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
      if (fits(value, filter)) {
        // One row more than the page holds tells that there is a next one.
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
