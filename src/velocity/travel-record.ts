import { KIND_TRAVELS } from './layout.ts';
import { PLACE_WORDS, Whereabouts } from './places.ts';
import type { Table } from './table.ts';
import { DAY_SET, TimedSet } from './timed-set.ts';

/**
 * Created for an entity that is seen in a second country within a day, or at a second location.
 *
 *   0 hash   1-12 four locations (`places.ts`)   13-31 19 countries of 24 h (`timed-set.ts`), their codes as members
 */
const AT_PLACES = 1;
const PLACES = 4;
const AT_COUNTRIES = AT_PLACES + PLACES * PLACE_WORDS;

export class TravelRecords {
  /** Whether the last `seeCountry` found the country. */
  knewCountry = false;
  readonly #table: Table;
  readonly #countries: TimedSet;

  constructor(table: Table) {
    this.#table = table;
    this.#countries = new TimedSet(table, { at: AT_COUNTRIES, words: 19, span: DAY_SET }, true);
  }

  /** Adds a country. Returns the number of countries in 24 h, excluding the one with the code `but`. */
  seeCountry(low: number, high: number, code: number, but: number, nowMs: number): number {
    const record = this.#table.take(low, high, KIND_TRAVELS, Math.floor(nowMs / 1_000));
    this.knewCountry = false;
    if (record === 0) return 0;
    const count = this.#countries.see(record, code, nowMs, this.#table.restSeconds);
    this.knewCountry = this.#countries.wasKnown;
    return count - this.#isIn(record, but, nowMs);
  }

  countCountries(low: number, high: number, but: number, nowMs: number): number {
    const record = this.#table.find(low, high, KIND_TRAVELS, Math.floor(nowMs / 1_000));
    if (record === 0) return 0;
    const count = this.#countries.count(record, nowMs, this.#table.restSeconds);
    return count - this.#isIn(record, but, nowMs);
  }

  /** Returns false if there is no record. */
  look(where: Whereabouts, low: number, high: number, nowSeconds: number): boolean {
    const record = this.#table.find(low, high, KIND_TRAVELS, nowSeconds);
    if (record === 0) return false;
    this.#countries.count(record, nowSeconds * 1_000, this.#table.restSeconds);
    where.look(this.#table, record + AT_PLACES, PLACES);
    return true;
  }

  put(where: Whereabouts, low: number, high: number, nowSeconds: number): void {
    const record = this.#table.take(low, high, KIND_TRAVELS, nowSeconds);
    if (record !== 0) where.put(this.#table, record + AT_PLACES, PLACES);
  }

  /** Removes a country (0 for none) and a location (null for none). */
  forget(low: number, high: number, code: number, position: number | null, nowSeconds: number): void {
    const record = this.#table.find(low, high, KIND_TRAVELS, nowSeconds);
    if (record === 0) return;
    if (code !== 0) this.#countries.remove(record, code);
    if (position !== null) Whereabouts.forget(this.#table, record + AT_PLACES, PLACES, position);
  }

  #isIn(record: number, code: number, nowMs: number): number {
    return code !== 0 && this.#countries.has(record, code, nowMs, 0) ? 1 : 0;
  }
}
