import type { EntityHistory, HistoryEvent, PlaceHistory } from '../core/history.ts';
import { Counter } from './counter.ts';
import { ageOfCountry, codeOfCountry, codeOfWord, countryWord } from './country.ts';
import type { EventKeys } from './event-keys.ts';
import { SALT_DEVICES, SALT_NETWORKS } from './keys.ts';
import { KIND_ENTITY, KIND_LONG_SET } from './layout.ts';
import { OverflowingSet } from './overflowing-set.ts';
import { Whereabouts } from './places.ts';
import { Ring } from './ring.ts';
import type { Table } from './table.ts';
import { LONG_DAY_SET, LONG_HOUR_SET, memberOf } from './timed-set.ts';
import { TravelRecords } from './travel-record.ts';

/**
 *   0 hash   1 first seen, Unix seconds   2 flags   3 a country and its time (`country.ts`)   4-6 a place (`places.ts`)
 *   7-12 decisions, 12 of 1 min   13-18 payments, 12 of 1 h   19-23 devices, 24-31 networks, of 30 days (`timed-set.ts`)
 *
 * Further countries and places are in a record of their own (`travel-record.ts`), which most entities do not have.
 */
const AT_FIRST = 1;
const AT_FLAGS = 2;
const AT_COUNTRY = 3;
const AT_PLACE = 4;

const FLAG_DECISIONS = 1;
const FLAG_PAYMENTS = 2;
const FLAG_DEVICES = 4;
const FLAG_NETWORKS = 8;
const FLAG_TRAVELS = 16;
const DAY_SECONDS = 86_400;
const NOWHERE: readonly PlaceHistory[] = [];

export class EntityRecords {
  /** Of the last `observe`: the entity was seen on the event's network before. */
  knewNetwork = false;
  readonly #table: Table;
  readonly #decisions: Counter;
  readonly #payments: Counter;
  readonly #devices: OverflowingSet;
  readonly #networks: OverflowingSet;
  readonly #travels: TravelRecords;
  readonly #whereabouts = new Whereabouts();

  constructor(table: Table) {
    this.#table = table;
    const flagsAt = AT_FLAGS;
    const minute = { windowMs: 60_000, flagsAt, flag: FLAG_DECISIONS, counter: 0 };
    this.#decisions = new Counter(table, new Ring(table, { at: 7, words: 6, windowMs: 60_000 }), minute);
    const hour = { windowMs: 3_600_000, flagsAt, flag: FLAG_PAYMENTS, counter: 1 };
    this.#payments = new Counter(table, new Ring(table, { at: 13, words: 6, windowMs: 3_600_000 }), hour);
    const kind = KIND_LONG_SET;
    const devices = { at: 19, words: 5, span: LONG_DAY_SET, flagsAt, flag: FLAG_DEVICES, kind, salt: SALT_DEVICES };
    this.#devices = new OverflowingSet(table, devices);
    const networks = { at: 24, words: 8, span: LONG_HOUR_SET, flagsAt, flag: FLAG_NETWORKS, kind, salt: SALT_NETWORKS };
    this.#networks = new OverflowingSet(table, networks);
    this.#travels = new TravelRecords(table);
  }

  /** Of the event's entity at `n`; null where the record cannot be had. */
  observe(event: HistoryEvent, keys: EventKeys, n: number, nowSeconds: number): EntityHistory | null {
    const table = this.#table;
    const low = keys.entityLow[n] ?? 0;
    const high = keys.entityHigh[n] ?? 0;
    const { nowMs } = event;
    this.knewNetwork = false;
    const record = table.take(low, high, KIND_ENTITY, nowSeconds);
    if (record === 0) return null;
    const rest = table.restSeconds;
    if (table.isNew) Atomics.store(table.words, record + AT_FIRST, nowSeconds);
    const networks1h = this.#networksOf(record, low, high, keys.site, nowMs, rest);
    const isPayment = event.eventType === 'payment';
    const decisions1m = this.#decisions.add(record, low, high, nowMs, rest);
    const payments1h = isPayment
      ? this.#payments.add(record, low, high, nowMs, rest)
      : this.#payments.count(record, low, high, nowMs, rest);
    const hasDevice = event.device !== null;
    const devices24h = hasDevice
      ? this.#devices.see(record, low, high, memberOf(keys.deviceHigh), nowMs, rest)
      : this.#devices.count(record, low, high, nowMs, rest);
    const country = codeOfCountry(event.country);
    const countries24h = this.#countriesOf(record, low, high, country, nowMs, nowSeconds);
    const places = this.#placesOf(record, event, keys, n, country, nowSeconds);
    return {
      name: event.entities[n]?.name ?? '',
      decisions1m,
      payments1h,
      devices24h,
      networks1h,
      countries24h,
      knownForSeconds: Math.max(0, nowSeconds - (table.words[record + AT_FIRST] || nowSeconds)),
      deviceIsNew: hasDevice && !this.#devices.wasKnown,
      places,
      placeIsFamiliar: event.place !== null && this.#whereabouts.isFamiliar,
    };
  }

  #networksOf(record: number, low: number, high: number, site: number, nowMs: number, rest: number): number {
    if (site === 0) return this.#networks.count(record, low, high, nowMs, rest);
    const count = this.#networks.see(record, low, high, memberOf(site), nowMs, rest);
    this.knewNetwork = this.#networks.wasKnown;
    return count;
  }

  #countriesOf(record: number, low: number, high: number, code: number, nowMs: number, nowSeconds: number): number {
    const { words } = this.#table;
    const at = record + AT_COUNTRY;
    const word = words[at] ?? 0;
    const isOver = word === 0 || ageOfCountry(word, nowSeconds) >= DAY_SECONDS;
    const isHere = code !== 0 && (isOver || codeOfWord(word) === code);
    const next = countryWord(code, nowSeconds);
    // Another worker that was faster has written what is as true.
    if (isHere && next !== word) Atomics.compareExchange(words, at, word, next);
    const own = isHere || !isOver ? 1 : 0;
    const ownCode = isHere ? code : isOver ? 0 : codeOfWord(word);
    if (code !== 0 && !isHere) {
      Atomics.or(words, record + AT_FLAGS, FLAG_TRAVELS);
      return own + this.#travels.seeCountry(low, high, code, ownCode, nowMs);
    }
    return this.#hasTravels(record) ? own + this.#travels.countCountries(low, high, ownCode, nowMs) : own;
  }

  /** Nothing is remembered or asked where the event has no place. */
  #placesOf(
    record: number,
    { place }: HistoryEvent,
    keys: EventKeys,
    n: number,
    country: number,
    nowSeconds: number,
  ): readonly PlaceHistory[] {
    if (place === null) return NOWHERE;
    const table = this.#table;
    const where = this.#whereabouts;
    const low = keys.entityLow[n] ?? 0;
    const high = keys.entityHigh[n] ?? 0;
    where.begin(place, country, keys.sessionHigh, nowSeconds);
    where.look(table, record + AT_PLACE, 1);
    if (this.#hasTravels(record) && !this.#travels.look(where, low, high, nowSeconds)) {
      Atomics.and(table.words, record + AT_FLAGS, ~FLAG_TRAVELS);
    }
    if (!where.isKnown) {
      if (where.isFree(table, record + AT_PLACE)) where.put(table, record + AT_PLACE, 1);
      else {
        Atomics.or(table.words, record + AT_FLAGS, FLAG_TRAVELS);
        this.#travels.put(where, low, high, nowSeconds);
      }
    }
    return where.others.length === 0 ? NOWHERE : where.others.slice();
  }

  #hasTravels(record: number): boolean {
    return ((this.#table.words[record + AT_FLAGS] ?? 0) & FLAG_TRAVELS) !== 0;
  }
}
