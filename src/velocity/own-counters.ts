import type { CounterWindow, EventCounter, HistoryEvent } from '../risk/history.ts';
import { KeyedHash } from '../kernel/keyed-hash.ts';
import { addToBucket, sumBuckets } from './buckets.ts';
import type { EventKeys } from './event-keys.ts';
import { mix, SALT_OWN_COUNTERS } from './keys.ts';
import { KIND_HOUR_SET, KIND_LONG_SET, KIND_SET } from './layout.ts';
import { Ring } from './ring.ts';
import { SetRecords } from './set-record.ts';
import { SumCells } from './sum-cells.ts';
import type { Table } from './table.ts';
import { DAY_SET, HOUR_SET, MONTH_SET, setMemberOf, type SetSpan, TEN_MINUTE_SET, WEEK_SET } from './timed-set.ts';

/**
 * Counters that customers declare: one record for each counter and subject, from the first event that counts.
 *
 *   count      0 hash   1-10 the last 20 events (`ring.ts`)   11-20 further ones (`buckets.ts`)   21-31 unused
 *   sum        0 hash   1 unused   2-31 sums (`sum-cells.ts`)
 *   distinct   `set-record.ts`: with over 30 members, two further records
 *
 * Counts are exact up to 20 events in the window and distinct numbers up to 30; a sum weights what lies in the oldest fourteenth of the
 * window by the part of it that is inside. The bounds of the errors beyond are those of the structures. Records of a window of up to an
 * hour are evicted first after an hour, of a day after a day, of others after 30 days.
 */
const AT_RING = 1;
const RING_WORDS = 10;
const AT_BUCKETS = AT_RING + RING_WORDS;

/** How one window is counted. */
interface Span {
  readonly kind: number;
  readonly windowMs: number;
  readonly ring: Ring;
  readonly sums: SumCells;
  readonly sets: SetRecords;
}

const SPANS: Readonly<Record<CounterWindow, { readonly kind: number; readonly span: SetSpan }>> = {
  '10m': { kind: KIND_HOUR_SET, span: TEN_MINUTE_SET },
  '1h': { kind: KIND_HOUR_SET, span: HOUR_SET },
  '24h': { kind: KIND_SET, span: DAY_SET },
  '7d': { kind: KIND_LONG_SET, span: WEEK_SET },
  '30d': { kind: KIND_LONG_SET, span: MONTH_SET },
};

const NOTHING_COUNTED: ReadonlyMap<number, number> = new Map();

export class OwnCounters {
  readonly #table: Table;
  readonly #hash: KeyedHash;
  readonly #spans = new Map<CounterWindow, Span>();

  /** `hashKey` holds at least 16 secret bytes. */
  constructor(table: Table, hashKey: Uint8Array) {
    this.#table = table;
    this.#hash = new KeyedHash(Buffer.from(hashKey));
  }

  /** Counts the event, and returns the values by the ids of the counters; those without a record are absent. */
  observe({ counters, nowMs }: HistoryEvent, keys: EventKeys): ReadonlyMap<number, number> {
    if (counters.length === 0) return NOTHING_COUNTED;
    const values = new Map<number, number>();
    for (const counter of counters) {
      const value = this.#observe(counter, keys, nowMs);
      if (value !== null) values.set(counter.id, value);
    }
    return values;
  }

  #observe(counter: EventCounter, { populationLow, populationHigh }: EventKeys, nowMs: number): number | null {
    const { id, kind, subject, member } = counter;
    const hash = this.#hash;
    const scope = mix(id, populationLow, SALT_OWN_COUNTERS);
    hash.update(scope, subject);
    const low = mix(hash.low, populationHigh, SALT_OWN_COUNTERS);
    const high = mix(hash.high, populationHigh, SALT_OWN_COUNTERS);
    const span = this.#spanOf(counter.window);
    if (kind !== 'distinct') return this.#add(span, counter, low, high, nowMs);
    if (!counter.counts) return span.sets.count(low, high, nowMs);
    hash.update(scope, member);
    const found = span.sets.see(low, high, setMemberOf(hash.high), nowMs);
    // 0: there was no room for the record.
    return found === 0 ? null : found;
  }

  /** Adds a count or a sum, or only reads it. */
  #add(span: Span, { kind, counts, value }: EventCounter, low: number, high: number, nowMs: number): number | null {
    const table = this.#table;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = counts ? table.take(low, high, span.kind, nowSeconds) : table.find(low, high, span.kind, nowSeconds);
    if (record === 0) return counts ? null : 0;
    const rest = table.restSeconds;
    if (kind === 'sum') {
      if (counts) span.sums.add(record, value, nowMs);
      return span.sums.sum(record, nowMs);
    }
    const { ring, windowMs } = span;
    const recent = counts ? ring.add(record, nowMs, rest) : ring.count(record, nowMs, rest);
    if (counts && ring.pushedOutMs >= 0) addToBucket(table, record + AT_BUCKETS, windowMs, ring.pushedOutMs);
    return recent + Math.round(sumBuckets(table, record + AT_BUCKETS, windowMs, nowMs));
  }

  #spanOf(window: CounterWindow): Span {
    const known = this.#spans.get(window);
    if (known !== undefined) return known;
    const table = this.#table;
    const { kind, span } = SPANS[window];
    const { windowMs } = span;
    const made: Span = {
      kind,
      windowMs,
      ring: new Ring(table, { at: AT_RING, words: RING_WORDS, windowMs }),
      sums: new SumCells(table, windowMs),
      sets: new SetRecords(table, kind, span),
    };
    this.#spans.set(window, made);
    return made;
  }
}
