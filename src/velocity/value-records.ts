import { isValueKey, type ValuesHistory } from '../risk/crowds.ts';
import type { HistoryEvent } from '../risk/history.ts';
import { addToBucket, sumBuckets } from './buckets.ts';
import type { EventKeys } from './event-keys.ts';
import { FirstTouches, touchRecordsFor } from './first-touch.ts';
import { mix, SALT_FIRST_VALUE, SALT_PAYMENTS_OF_DAY, SALT_VALUES } from './keys.ts';
import { KIND_POPULATION, KIND_SET } from './layout.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { DAY_SET, setMemberOf } from './timed-set.ts';

/**
 * Distinct cards, gift cards and bank accounts per person, session, device and address in 24 h, only for events that name one:
 *
 * - Person (the first one the event names): one record per key name of such values, from the second distinct value on. Until then two cells
 *   (`first-touch.ts`) mark that the person had a value, and which one. Measured: 19 of 20 people pay with one card a day.
 * - Session: a record if nobody is named, or from its second payment on; its first value does not count then.
 * - Device and browser: nothing more; their own records have a set for each key name (`device-record.ts`).
 * - Address: a record from its first declined payment of the hour on.
 *
 * If an event has several such values, the first two count. Most people get no record. Two people who share a cell count as one, one
 * time in ten: the second one's first value then looks like a second value.
 *
 * A customer has one more record: its payments that name such a value, which determine the number of cells.
 *
 *   0 hash   1-10 payments of 24 h (`buckets.ts`)   11-31 unused
 */
const KEYS_MAX = 2;
const AT_PAYMENTS = 1;
const DAY_MS = 86_400_000;
/** One for the person and key name, one for the person, key name and value. */
const CELLS_PER_PAYMENT = 2;
/** Member that represents the first value when the second one creates the set: only a cell has recorded the first value. */
const FIRST_VALUE = setMemberOf(SALT_FIRST_VALUE);
/** Salt of `FirstTouches`: 4, because `login-crowds.ts` uses 0 to 3. */
const VALUE_CELLS = 4;

/** Counts from the records of the event's session, address and device. */
export interface ValueActors {
  readonly sessionPayments1h: number;
  readonly addressDeclined1h: number;
  /** For each of the event's entities, how many entities of its key name came with the device in 24 h; empty without a device. */
  readonly ofDevice24h: readonly number[];
  /** The same for the browser's own id. */
  readonly ofBrowser24h: readonly number[];
}

export class ValueRecords {
  readonly #table: Table;
  readonly #sets: SetRecords;
  readonly #cells: FirstTouches;

  constructor(table: Table) {
    this.#table = table;
    this.#sets = new SetRecords(table, KIND_SET, DAY_SET);
    this.#cells = new FirstTouches(table, VALUE_CELLS, DAY_MS);
  }

  /** Returns null for an event without such a value. */
  observe(event: HistoryEvent, keys: EventKeys, actors: ValueActors): ValuesHistory | null {
    let most: ValuesHistory | null = null;
    for (let n = 0, found = 0; n < keys.entities && found < KEYS_MAX; n++) {
      const name = event.entities[n]?.name ?? '';
      if (!isValueKey(name)) continue;
      found++;
      const one = this.#observe(event, keys, actors, n, name);
      const isMore = one.ofActor24h > (most?.ofActor24h ?? 0) || one.ofAddress24h > (most?.ofAddress24h ?? 0);
      if (isMore) most = one;
    }
    return most;
  }

  #observe(event: HistoryEvent, keys: EventKeys, actors: ValueActors, n: number, name: string): ValuesHistory {
    const { nowMs } = event;
    const { sessionPayments1h, addressDeclined1h, ofDevice24h, ofBrowser24h } = actors;
    const person = event.entities.findIndex((entity, at) => at < keys.entities && !isValueKey(entity.name));
    let ofActor24h = 1;
    let actor: ValuesHistory['actor'] = 'session';
    if (person < 0 || sessionPayments1h > 1) ofActor24h = this.#see(keys.sessionLow, keys.sessionHigh, keys, n, nowMs);
    if (person >= 0) {
      const count = this.#seeOfPerson(keys.entityLow[person] ?? 0, keys.entityHigh[person] ?? 0, keys, n, nowMs);
      if (count >= ofActor24h) actor = 'person';
      ofActor24h = Math.max(ofActor24h, count);
    }
    const ofDevice = ofDevice24h[n] ?? 0;
    if (ofDevice > ofActor24h) {
      actor = 'device';
      ofActor24h = ofDevice;
    }
    const isAddressAsked = event.networks !== null && addressDeclined1h > 0;
    const ofAddress24h = isAddressAsked ? this.#see(keys.hostLow, keys.hostHigh, keys, n, nowMs) : 0;
    return { name, actor, ofActor24h, ofBrowser24h: ofBrowser24h[n] ?? 0, ofAddress24h };
  }

  /** Returns the person's values in 24 h, this one included. */
  #seeOfPerson(low: number, high: number, keys: EventKeys, n: number, nowMs: number): number {
    const { populationLow, populationHigh } = keys;
    const name = keys.nameHash[n] ?? 0;
    const records = touchRecordsFor(CELLS_PER_PAYMENT * this.#countPayment(keys, nowMs));
    const person = mix(high, name, SALT_VALUES);
    const value = mix(person, keys.entityHigh[n] ?? 0, SALT_FIRST_VALUE);
    const hasOne = this.#cells.touch(populationLow, populationHigh, person, records, nowMs);
    const hasThis = this.#cells.touch(populationLow, populationHigh, value, records, nowMs);
    if (!hasOne) return 1;
    const setLow = mix(low, name, SALT_VALUES);
    const count = this.#sets.count(setLow, person, nowMs);
    // Either it is in the set already, or the set's `FIRST_VALUE` stands for it.
    if (hasThis) return Math.max(1, count);
    if (count === 0) this.#sets.see(setLow, person, FIRST_VALUE, nowMs);
    return this.#see(low, high, keys, n, nowMs);
  }

  #countPayment({ populationLow: low, populationHigh: high }: EventKeys, nowMs: number): number {
    const table = this.#table;
    const salt = SALT_PAYMENTS_OF_DAY;
    const record = table.take(mix(low, high, salt), mix(high, low, salt), KIND_POPULATION, Math.floor(nowMs / 1_000));
    if (record === 0) return 0;
    addToBucket(table, record + AT_PAYMENTS, DAY_MS, nowMs);
    return sumBuckets(table, record + AT_PAYMENTS, DAY_MS, nowMs);
  }

  #see(low: number, high: number, { nameHash, entityHigh }: EventKeys, n: number, nowMs: number): number {
    const name = nameHash[n] ?? 0;
    return this.#sets.see(
      mix(low, name, SALT_VALUES),
      mix(high, name, SALT_VALUES),
      setMemberOf(entityHigh[n] ?? 0),
      nowMs,
    );
  }
}
