import type { EntityHistory, HistoryEvent, Place, PlaceHistory } from '../risk/history.ts';
import { type AccountChange, countAccountLogin } from './account-days.ts';
import { Counter } from './counter.ts';
import { ageOfCountry, codeOfCountry, codeOfWord, countryWord } from './country.ts';
import { forgetAgent, seeAgent } from './entity-agents.ts';
import type { EventKeys } from './event-keys.ts';
import { SALT_DEVICES, SALT_ENTITY_OUTCOMES, SALT_NETWORKS } from './keys.ts';
import { KIND_ENTITY, KIND_ENTITY_OUTCOMES, KIND_LONG_SET } from './layout.ts';
import { type OutcomeChange, OutcomeRecords } from './outcome-record.ts';
import { OverflowingSet } from './overflowing-set.ts';
import { latitudeOf, longitudeOf, Whereabouts } from './places.ts';
import { Ring } from './ring.ts';
import { noteSuccess, revertSuccess, successesAt, type SuccessPlace } from './success-places.ts';
import type { Table } from './table.ts';
import { LONG_DAY_SET, LONG_HOUR_SET, setMemberOf } from './timed-set.ts';
import {
  TAUGHT_AGENT,
  TAUGHT_COUNTRY,
  TAUGHT_DEVICE,
  TAUGHT_ENTITY,
  TAUGHT_NETWORK,
  TAUGHT_PLACE,
  type TracedEntity,
  type TracedEvent,
} from './trace.ts';
import { TravelRecords } from './travel-record.ts';

/**
 *   0 hash   1 first seen, Unix seconds; 0 where only failed logins are known   2 flags | three agents << 8 (`entity-agents.ts`)
 *   3 a country and its time (`country.ts`)   4-6 a location (`places.ts`)
 *   7-12 decisions, 12 of 1 min   13-18 payments, 12 of 1 h   19-23 devices, 24-31 networks, of 30 days (`timed-set.ts`)
 *
 * Further countries and locations are in a separate record (`travel-record.ts`), and so are outcomes (`outcome-record.ts`); most entities
 * have neither.
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
const FLAG_OUTCOMES = 32;
const DAY_SECONDS = 86_400;
const NOWHERE: readonly PlaceHistory[] = [];

export const KNOWS_DEVICE = 1;
export const KNOWS_NETWORK = 2;

export class EntityRecords {
  /** Set by the last `observe`: whether the entity was seen on the event's network before. */
  knewNetwork = false;
  /** Set by the last `observe`: bits of a trace. */
  taught = 0;
  /** Set by the last `countAccount`. */
  readonly account: AccountChange = { succeeded: 0, known: 0, failing: 0, failedAtMs: 0 };
  readonly #table: Table;
  readonly #decisions: Counter;
  readonly #payments: Counter;
  readonly #devices: OverflowingSet;
  readonly #networks: OverflowingSet;
  readonly #travels: TravelRecords;
  readonly #whereabouts = new Whereabouts();
  readonly #outcomes: OutcomeRecords;

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
    this.#outcomes = new OutcomeRecords(table, KIND_ENTITY_OUTCOMES, SALT_ENTITY_OUTCOMES);
  }

  /**
   * Observes the event's entity at index `n`. Returns null when the record is unavailable. `outcome` is the event's own outcome, if it
   * counts.
   */
  observe(
    event: HistoryEvent,
    keys: EventKeys,
    n: number,
    nowSeconds: number,
    outcome: OutcomeChange | null,
  ): EntityHistory | null {
    const table = this.#table;
    const low = keys.entityLow[n] ?? 0;
    const high = keys.entityHigh[n] ?? 0;
    const { nowMs } = event;
    this.knewNetwork = false;
    this.taught = 0;
    const record = table.take(low, high, KIND_ENTITY, nowSeconds);
    if (record === 0) return null;
    const rest = table.restSeconds;
    const isNew = (table.words[record + AT_FIRST] ?? 0) === 0;
    if (isNew) Atomics.store(table.words, record + AT_FIRST, nowSeconds);
    const networks1h = this.#networksOf(record, low, high, keys.site, nowMs, rest);
    const isPayment = event.eventType === 'payment';
    const decisions1m = this.#decisions.add(record, low, high, nowMs, rest);
    const payments1h = isPayment
      ? this.#payments.add(record, low, high, nowMs, rest)
      : this.#payments.count(record, low, high, nowMs, rest);
    const hasDevice = keys.device !== 0;
    const devices24h = hasDevice
      ? this.#devices.see(record, low, high, keys.device, nowMs, rest)
      : this.#devices.count(record, low, high, nowMs, rest);
    const country = codeOfCountry(event.country);
    const countries24h = this.#countriesOf(record, low, high, country, nowMs, nowSeconds);
    const { agentHash, place } = event;
    const places =
      place === null ? NOWHERE : this.#placesOf(record, place, low, high, keys.sessionHigh, country, nowSeconds);
    const knewAgent = agentHash === 0 || seeAgent(table, record + AT_FLAGS, agentHash);
    const here = placeOf(event, keys);
    if (outcome !== null) {
      this.taught |= this.#successesAt(this.#outcomesOf(record, low, high, nowMs), here);
      this.#count(record, low, high, here, 0, outcome);
    }
    const outcomes = this.#outcomesOf(record, low, high, nowMs);
    const successes = this.#successesAt(outcomes, here);
    this.taught |=
      (outcome === null ? successes : 0) |
      (isNew ? TAUGHT_ENTITY : 0) |
      (keys.site === 0 || this.knewNetwork ? 0 : TAUGHT_NETWORK) |
      (hasDevice && !this.#devices.wasKnown ? TAUGHT_DEVICE : 0) |
      (knewAgent ? 0 : TAUGHT_AGENT);
    return {
      name: event.entities[n]?.name ?? '',
      decisions1m,
      payments1h,
      devices24h,
      networks1h,
      countries24h,
      loginsFailed1h: outcomes !== 0 ? this.#outcomes.logins.bad : 0,
      declined1h: outcomes !== 0 ? this.#outcomes.payments.bad : 0,
      hasSucceededHere: successes !== 0,
      isNew,
      networkIsNew: keys.site !== 0 && !this.knewNetwork,
      agentIsNew: !knewAgent,
      knownForSeconds: Math.max(0, nowSeconds - (table.words[record + AT_FIRST] || nowSeconds)),
      deviceIsNew: hasDevice && !this.#devices.wasKnown,
      places,
      placeIsFamiliar: event.place !== null && this.#whereabouts.isFamiliar,
    };
  }

  /** Returns whether the entity has the device, `KNOWS_DEVICE`, and the network, `KNOWS_NETWORK`, of 30 days. Counts nothing. */
  knows(low: number, high: number, { device, site }: Pick<EventKeys, 'device' | 'site'>, nowMs: number): number {
    const table = this.#table;
    const record = table.peek(low, high, KIND_ENTITY, Math.floor(nowMs / 1_000));
    if (record === 0) return 0;
    const rest = table.restSeconds;
    return (
      (this.#devices.has(record, low, high, device, nowMs, rest) ? KNOWS_DEVICE : 0) |
      (site !== 0 && this.#networks.has(record, low, high, setMemberOf(site), nowMs, rest) ? KNOWS_NETWORK : 0)
    );
  }

  /** Counts the outcome of one of the entity's earlier events. */
  count({ low, high, taught }: TracedEntity, event: SuccessPlace, outcome: OutcomeChange): void {
    const record = this.#table.find(low, high, KIND_ENTITY, Math.floor(outcome.nowMs / 1_000));
    if (record !== 0) this.#count(record, low, high, event, taught, outcome);
  }

  /**
   * Fills `account` with what a login's outcome changes in the counts of accounts. Call after the outcome was counted. `taught` is what the
   * event added about the entity: an account that came from another network before is known.
   */
  countAccount(low: number, high: number, hostHigh: number, taught: number, outcome: OutcomeChange): AccountChange {
    const table = this.#table;
    const { account } = this;
    const { eventMs, nowMs, isBad, by } = outcome;
    account.succeeded = 0;
    account.known = 0;
    account.failing = 0;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const own = table.find(low, high, KIND_ENTITY, nowSeconds);
    const first = own === 0 ? 0 : (table.words[own + AT_FIRST] ?? 0);
    const record = this.#outcomes.find(low, high, nowSeconds);
    if (record === 0) return account;
    const isElsewhere = (taught & (TAUGHT_NETWORK | TAUGHT_ENTITY)) === TAUGHT_NETWORK;
    const isKnown = isElsewhere || (first !== 0 && Math.floor(eventMs / 1_000) - first >= DAY_SECONDS);
    return countAccountLogin(table, record, { hostHigh, isKnown, isBad, by, eventMs }, account);
  }

  /** Reverts what an event added about the entity, by the bits of its trace. Locations and times that it only refreshed stay. */
  forget(low: number, high: number, taught: number, event: TracedEvent, nowMs: number): void {
    const table = this.#table;
    const { words } = table;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = taught === 0 ? 0 : table.find(low, high, KIND_ENTITY, nowSeconds);
    if (record === 0) return;
    if ((taught & TAUGHT_NETWORK) !== 0) this.#networks.remove(record, low, high, setMemberOf(event.site), nowMs);
    if ((taught & TAUGHT_DEVICE) !== 0) this.#devices.remove(record, low, high, event.device, nowMs);
    if ((taught & TAUGHT_AGENT) !== 0) forgetAgent(table, record + AT_FLAGS, event.agentHash);
    if ((taught & TAUGHT_ENTITY) !== 0) {
      const first = words[record + AT_FIRST] ?? 0;
      if (first === event.atSeconds) Atomics.compareExchange(words, record + AT_FIRST, first, 0);
    }
    const country = (taught & TAUGHT_COUNTRY) === 0 ? 0 : event.country;
    const position = (taught & TAUGHT_PLACE) === 0 ? null : event.position;
    if (country !== 0) {
      const word = words[record + AT_COUNTRY] ?? 0;
      if (codeOfWord(word) === country) Atomics.compareExchange(words, record + AT_COUNTRY, word, 0);
    }
    if (position !== null) Whereabouts.forget(table, record + AT_PLACE, 1, position);
    if (this.#hasTravels(record)) this.#travels.forget(low, high, country, position, nowSeconds);
  }

  /**
   * Restores what the event added, after it was confirmed as the entity's own: a failed login may have removed it meanwhile. Restores
   * country and location, by the bits of the trace, if the event itself was taken for a failed one.
   */
  confirm(low: number, high: number, taught: number, event: TracedEvent, nowMs: number): void {
    const table = this.#table;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = table.find(low, high, KIND_ENTITY, nowSeconds);
    if (record === 0) return;
    const rest = table.restSeconds;
    Atomics.compareExchange(table.words, record + AT_FIRST, 0, event.atSeconds);
    if (event.site !== 0) this.#networks.see(record, low, high, setMemberOf(event.site), nowMs, rest);
    if (event.device !== 0) this.#devices.see(record, low, high, event.device, nowMs, rest);
    if (event.agentHash !== 0) seeAgent(table, record + AT_FLAGS, event.agentHash);
    const { country, position, accuracyKm, atSeconds } = event;
    if ((taught & TAUGHT_COUNTRY) !== 0) this.#countriesOf(record, low, high, country, nowMs, nowSeconds);
    if ((taught & TAUGHT_PLACE) === 0 || position === null || accuracyKm === null) return;
    const place = { latitude: latitudeOf(position), longitude: longitudeOf(position), accuracyKm };
    this.#placesOf(record, place, low, high, event.sessionHigh, country, atSeconds);
  }

  #count(record: number, low: number, high: number, event: SuccessPlace, taught: number, outcome: OutcomeChange): void {
    Atomics.or(this.#table.words, record + AT_FLAGS, FLAG_OUTCOMES);
    const outcomes = this.#outcomes.change(low, high, outcome);
    const { isLogin, isBad, by } = outcome;
    if (!isBad && by === 1) this.#table.keep(record);
    if (outcomes === 0 || !isLogin || isBad) return;
    if (by === 1) noteSuccess(this.#table, outcomes, event);
    else revertSuccess(this.#table, outcomes, event, taught);
  }

  /** Returns 0 without a record of outcomes. */
  #outcomesOf(record: number, low: number, high: number, nowMs: number): number {
    return this.#has(record, FLAG_OUTCOMES) ? this.#outcomes.read(low, high, nowMs) : 0;
  }

  #successesAt(outcomes: number, here: SuccessPlace): number {
    return outcomes === 0 ? 0 : successesAt(this.#table, outcomes, here);
  }

  #networksOf(record: number, low: number, high: number, site: number, nowMs: number, rest: number): number {
    if (site === 0) return this.#networks.count(record, low, high, nowMs, rest);
    const count = this.#networks.see(record, low, high, setMemberOf(site), nowMs, rest);
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
    // If another worker was faster, its value is just as correct.
    if (isHere && next !== word) Atomics.compareExchange(words, at, word, next);
    const own = isHere || !isOver ? 1 : 0;
    if (isHere && isOver) this.taught |= TAUGHT_COUNTRY;
    const ownCode = isHere ? code : isOver ? 0 : codeOfWord(word);
    if (code !== 0 && !isHere) {
      Atomics.or(words, record + AT_FLAGS, FLAG_TRAVELS);
      const count = own + this.#travels.seeCountry(low, high, code, ownCode, nowMs);
      if (!this.#travels.knewCountry) this.taught |= TAUGHT_COUNTRY;
      return count;
    }
    return this.#hasTravels(record) ? own + this.#travels.countCountries(low, high, ownCode, nowMs) : own;
  }

  #placesOf(
    record: number,
    place: Place,
    low: number,
    high: number,
    session: number,
    country: number,
    nowSeconds: number,
  ): readonly PlaceHistory[] {
    const table = this.#table;
    const where = this.#whereabouts;
    where.begin(place, country, session, nowSeconds);
    where.look(table, record + AT_PLACE, 1);
    if (this.#hasTravels(record) && !this.#travels.look(where, low, high, nowSeconds)) {
      Atomics.and(table.words, record + AT_FLAGS, ~FLAG_TRAVELS);
    }
    if (!where.isKnown) {
      this.taught |= TAUGHT_PLACE;
      if (where.isFree(table, record + AT_PLACE)) where.put(table, record + AT_PLACE, 1);
      else {
        Atomics.or(table.words, record + AT_FLAGS, FLAG_TRAVELS);
        this.#travels.put(where, low, high, nowSeconds);
      }
    }
    return where.others.length === 0 ? NOWHERE : where.others.slice();
  }

  #hasTravels(record: number): boolean {
    return this.#has(record, FLAG_TRAVELS);
  }

  #has(record: number, flag: number): boolean {
    return ((this.#table.words[record + AT_FLAGS] ?? 0) & flag) !== 0;
  }
}

function placeOf({ agentHash }: HistoryEvent, { site, device }: EventKeys): SuccessPlace {
  return { site, agentHash, device };
}
