import type { AccountLogins, AddressStrangers, NetworkColdLogins, NetworkSignups } from '../risk/crowds.ts';
import type { EntityHistory, HistoryEvent } from '../risk/history.ts';
import type { EventKeys } from './event-keys.ts';
import { FirstTouches, touchRecordsFor } from './first-touch.ts';
import {
  mix,
  SALT_COLD_NETWORK,
  SALT_LOGINS,
  SALT_NETWORK_PEOPLE,
  SALT_RETURNING,
  SALT_SIGNUPS_OF_NETWORK,
  SALT_STRANGERS,
} from './keys.ts';
import { KIND_BUSY, KIND_HOUR_SET, KIND_OUTCOMES, KIND_SET } from './layout.ts';
import { LoginShares } from './login-shares.ts';
import type { OutcomeChange } from './outcome-record.ts';
import { OutcomeTally } from './outcome-tally.ts';
import { Ring } from './ring.ts';
import type { Table } from './table.ts';
import { SetRecords } from './set-record.ts';
import { DAY_SET, HOUR_SET, setMemberOf, TimedSet } from './timed-set.ts';

/**
 * Logins of an account, logins of unknown identities at an address, cold-start logins in a network, and sign-ups in a network. Each subject
 * has a record from its second such login in the window on (`first-touch.ts`): most have none.
 *
 *   account   0 hash   1 unused   2-31 logins, 60 of 1 h; more count as 60
 *   address   0 hash   1 unused   2-14 logins of unknown identities, in twelfths of 24 h (`outcome-tally.ts`)   15-31 unused
 *   network   0 hash   1 unused   2-12 cold-start logins, or sign-ups, in tenths of 1 h   13-25 their addresses, 13 of 1 h
 *             26-31 failed and successful logins, in fifths of 1 h
 *
 * An account that was first seen within the hour gets its record at its next login: its first event is assumed to be a login, and counts as
 * the first one. If an event names several entities, the first known one counts.
 *
 * The first login counts as if it came with the second. An account that returns counts once, in a set of its own (`set-record.ts`), since
 * anybody can log in to an own account again and again. Such accounts, and outcomes in a network, count only once the record exists.
 */
const HOUR_SECONDS = 3_600;
const HOUR_MS = 1_000 * HOUR_SECONDS;
const DAY_MS = 24 * HOUR_MS;

export class LoginCrowds {
  readonly #table: Table;
  readonly #shares: LoginShares;
  readonly #ring: Ring;
  readonly #strangers: OutcomeTally;
  readonly #cold: OutcomeTally;
  readonly #outcomes: OutcomeTally;
  readonly #hosts: TimedSet;
  readonly #returning24h: SetRecords;
  readonly #returning1h: SetRecords;
  readonly #accountCells: FirstTouches;
  readonly #addressCells: FirstTouches;
  readonly #networkCells: FirstTouches;
  readonly #signupCells: FirstTouches;

  constructor(table: Table) {
    this.#table = table;
    this.#shares = new LoginShares(table);
    this.#ring = new Ring(table, { at: 2, words: 30, windowMs: HOUR_MS });
    this.#strangers = new OutcomeTally(table, { at: 2, parts: 12, windowMs: DAY_MS });
    this.#cold = new OutcomeTally(table, { at: 2, parts: 10, windowMs: HOUR_MS });
    this.#hosts = new TimedSet(table, { at: 13, words: 13, span: HOUR_SET }, true);
    this.#outcomes = new OutcomeTally(table, { at: 26, parts: 5, windowMs: HOUR_MS });
    this.#returning24h = new SetRecords(table, KIND_SET, DAY_SET);
    this.#returning1h = new SetRecords(table, KIND_HOUR_SET, HOUR_SET);
    this.#accountCells = new FirstTouches(table, 0, HOUR_MS);
    this.#addressCells = new FirstTouches(table, 1, DAY_MS);
    this.#networkCells = new FirstTouches(table, 2, HOUR_MS);
    this.#signupCells = new FirstTouches(table, 3, HOUR_MS);
  }

  /** Counts a login of the customer. Call first. */
  open({ populationLow, populationHigh }: EventKeys, isStranger: boolean, isCold: boolean, nowMs: number): void {
    this.#shares.count(populationLow, populationHigh, isStranger, isCold, nowMs);
  }

  /**
   * Counts logins of the first entity that is not new, since a new one has not logged in before; null without one, and at its first login.
   */
  account(event: HistoryEvent, keys: EventKeys, entities: readonly EntityHistory[]): AccountLogins | null {
    const n = entities.length === keys.entities ? entities.findIndex(({ isNew }) => !isNew) : -1;
    const entity = entities[n];
    if (entity === undefined) return null;
    const logins1h = this.#loginsOf(keys, n, entity.knownForSeconds < HOUR_SECONDS, event.nowMs);
    return logins1h > 1 ? { name: entity.name, logins1h } : null;
  }

  address(keys: EventKeys, isStranger: boolean, returns: boolean, nowMs: number): AddressStrangers | null {
    const table = this.#table;
    const { hostLow, hostHigh } = keys;
    const low = mix(hostLow, hostHigh, SALT_STRANGERS);
    const high = mix(hostHigh, hostLow, SALT_STRANGERS);
    const strangersOfDay = this.#shares.loginsOfDay * this.#shares.strangers;
    const record = this.#recordOf(
      low,
      high,
      KIND_OUTCOMES,
      isStranger,
      this.#addressCells,
      keys,
      strangersOfDay,
      nowMs,
    );
    if (record === 0) return null;
    const isNew = table.isNew;
    this.#strangers.read(record, nowMs, table.restSeconds);
    if (isStranger) for (let n = isNew ? 0 : 1; n < 2; n++) this.#strangers.change(record, nowMs, nowMs, true, 1);
    this.#strangers.read(record, nowMs, 0);
    const { bad } = this.#strangers;
    const returning = this.#returning(this.#returning24h, low, high, SALT_RETURNING, keys, returns, nowMs);
    return { logins24h: returning + bad, strangers24h: bad, usualShare: this.#shares.strangers };
  }

  network(keys: EventKeys, isCold: boolean, returns: boolean, nowMs: number): NetworkColdLogins | null {
    const { site, hostHigh, populationLow } = keys;
    const low = coldNetworkLow(site, populationLow);
    const high = coldNetworkHigh(site, populationLow);
    const coldOfHour = this.#shares.loginsOfHour * this.#shares.cold;
    const record = this.#recordOf(low, high, KIND_HOUR_SET, isCold, this.#networkCells, keys, coldOfHour, nowMs);
    if (record === 0) return null;
    this.#outcomes.read(record, nowMs, this.#table.restSeconds);
    const addresses1h = this.#countIn(record, hostHigh, isCold, nowMs);
    const { bad: cold1h } = this.#cold;
    const { good: succeeded1h, bad: failed1h } = this.#outcomes;
    const returning = this.#returning(this.#returning1h, low, high, SALT_NETWORK_PEOPLE, keys, returns, nowMs);
    return { logins1h: returning + cold1h, cold1h, addresses1h, failed1h, succeeded1h, usualShare: this.#shares.cold };
  }

  /** Counts a login's outcome in its network, if the network has a record. */
  countOutcome({ populationLow }: Pick<EventKeys, 'populationLow'>, site: number, change: OutcomeChange): void {
    const table = this.#table;
    const { eventMs, nowMs, isBad, by } = change;
    const low = coldNetworkLow(site, populationLow);
    const high = coldNetworkHigh(site, populationLow);
    const record = table.find(low, high, KIND_HOUR_SET, Math.floor(nowMs / 1_000));
    if (record === 0) return;
    this.#outcomes.read(record, nowMs, table.restSeconds);
    this.#outcomes.change(record, eventMs, nowMs, isBad, by);
  }

  /** Counts a sign-up in its network. `networks1h` is the customer's number of networks with sign-ups. */
  signups(keys: EventKeys, networks1h: number, nowMs: number): NetworkSignups | null {
    const { site, hostHigh, populationLow } = keys;
    const low = mix(site, populationLow, SALT_SIGNUPS_OF_NETWORK);
    const high = mix(populationLow, site, SALT_SIGNUPS_OF_NETWORK);
    const record = this.#recordOf(low, high, KIND_HOUR_SET, true, this.#signupCells, keys, networks1h, nowMs);
    if (record === 0) return null;
    const addresses1h = this.#countIn(record, hostHigh, true, nowMs);
    return { signups1h: this.#cold.bad, addresses1h, networks1h };
  }

  /**
   * Counts an event in a network's record; call right after the record was found. Leaves the totals in `#cold`. Returns the
   * number of addresses of the events that count.
   */
  #countIn(record: number, hostHigh: number, counts: boolean, nowMs: number): number {
    const { isNew, restSeconds } = this.#table;
    this.#cold.read(record, nowMs, restSeconds);
    if (counts) for (let n = isNew ? 0 : 1; n < 2; n++) this.#cold.change(record, nowMs, nowMs, true, 1);
    const addresses = counts
      ? this.#hosts.see(record, setMemberOf(hostHigh), nowMs, restSeconds)
      : this.#hosts.count(record, nowMs, restSeconds);
    this.#cold.read(record, nowMs, 0);
    return addresses;
  }

  /** Counts the event's account among those that return to the subject, if it does, and returns their number. */
  #returning(
    set: SetRecords,
    low: number,
    high: number,
    salt: number,
    { entityHigh, account }: EventKeys,
    returns: boolean,
    nowMs: number,
  ): number {
    const [ownLow, ownHigh] = [mix(low, high, salt), mix(high, low, salt)];
    return returns
      ? set.see(ownLow, ownHigh, setMemberOf(entityHigh[account] ?? 0), nowMs)
      : set.count(ownLow, ownHigh, nowMs);
  }

  #loginsOf(keys: EventKeys, n: number, isFresh: boolean, nowMs: number): number {
    const table = this.#table;
    const low = mix(keys.entityLow[n] ?? 0, keys.nameHash[n] ?? 0, SALT_LOGINS);
    const high = mix(keys.entityHigh[n] ?? 0, keys.nameHash[n] ?? 0, SALT_LOGINS);
    const { loginsOfHour } = this.#shares;
    const record = isFresh
      ? table.take(low, high, KIND_BUSY, Math.floor(nowMs / 1_000))
      : this.#recordOf(low, high, KIND_BUSY, true, this.#accountCells, keys, loginsOfHour, nowMs);
    if (record === 0) return 1;
    if (table.isNew) this.#ring.add(record, nowMs, 0);
    return this.#ring.add(record, nowMs, table.restSeconds);
  }

  /** Returns the record of a subject that was touched before; 0 without one. Events with `touches` create it. */
  #recordOf(
    low: number,
    high: number,
    kind: number,
    touches: boolean,
    cells: FirstTouches,
    { populationLow, populationHigh }: EventKeys,
    subjects: number,
    nowMs: number,
  ): number {
    const table = this.#table;
    const records = touchRecordsFor(subjects);
    const nowSeconds = Math.floor(nowMs / 1_000);
    if (touches) {
      const isSecond = cells.touch(populationLow, populationHigh, high, records, nowMs);
      return isSecond ? table.take(low, high, kind, nowSeconds) : 0;
    }
    table.isNew = false;
    return cells.has(populationLow, populationHigh, high, records, nowMs) ? table.find(low, high, kind, nowSeconds) : 0;
  }
}

function coldNetworkLow(site: number, populationLow: number): number {
  return mix(site, populationLow, SALT_COLD_NETWORK);
}

function coldNetworkHigh(site: number, populationLow: number): number {
  return mix(populationLow, site, SALT_COLD_NETWORK);
}
