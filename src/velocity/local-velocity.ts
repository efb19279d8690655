import type {
  BrowserHistory,
  ContextHistory,
  DeviceHistory,
  EntityHistory,
  HistoryEvent,
  HistoryFacts,
} from '../risk/history.ts';
import type { OutcomeMemory, SettledEvent, Velocity } from '../ports/velocity.ts';
import { isContextAsked } from '../risk/context-steps.ts';
import {
  effectOf,
  type Outcome,
  type OutcomeStep,
  stepOf,
  teachingOf,
  TEACHES_NOTHING,
} from '../risk/event-outcome.ts';
import {
  BROWSER_NETWORKS_24H_MAX,
  VELOCITY_ENTITIES_MAX,
  VELOCITY_SETTLED_SECONDS,
} from '../kernel/velocity-limits.ts';
import type { AccountChange } from './account-days.ts';
import { AddressRecords } from './address-record.ts';
import { AmountRecords } from './amount-record.ts';
import { ContextRecords, type TeachingChange } from './context-record.ts';
import { CrowdRecords } from './crowd-records.ts';
import { type DeviceCounts, DeviceRecords } from './device-record.ts';
import { EntityRecords, KNOWS_NETWORK } from './entity-record.ts';
import { EventKeys } from './event-keys.ts';
import type { VelocityMemory } from './memory.ts';
import type { OutcomeChange } from './outcome-record.ts';
import { NonceRecords } from './nonce-record.ts';
import { OwnCounters } from './own-counters.ts';
import { PopulationRecords } from './population-record.ts';
import { SessionRecords } from './session-record.ts';
import { ownerOf } from './shares.ts';
import { Table } from './table.ts';
import { setMemberOf } from './timed-set.ts';
import { NO_CONTEXT, readTrace, type TracedEvent, TraceWriter } from './trace.ts';
import { ValueRecords } from './value-records.ts';

/**
 * The velocity store of a single node: one instance for each thread, all over the same table. The record files describe what it counts, how
 * exactly and in how much memory; read `layout.ts`, `table.ts`, `session-record.ts` first, in this order.
 *
 * Windows are half-open and slide. The bounds of their errors:
 * - counts are exact up to 12 events in the window (sign-ups up to 30), except that the window may end early by up to 1/24,000 of its
 *   length; beyond, events in the oldest ninth of the window are weighted by the part of it that is inside (`ring.ts`, `buckets.ts`);
 * - distinct numbers are exact up to 30 and more, except that the window may end early by up to 1 s (windows of 1 h), 2 s (of a day) or 45
 *   s (an entity's devices and networks), and that two members are taken for one in 1 of 32,767 cases (`timed-set.ts`); beyond, a sketch
 *   errs by 5 to 11 % and saturates at about 1,370 (`sketch.ts`);
 * - up to three cold-start events of an address in the last hour, and in up to a fifth of an hour before it, are each counted as a cold
 *   entity, whatever the key names;
 * - cold shares count by fifths of the window (`arrivals.ts`); locations are stored to 0.003° and a minute (`places.ts`);
 * - outcomes count by twelfths of the window, those of a whole customer by tenths (`outcome-tally.ts`);
 * - `Table` states what workers lose to contention: measured, under 1 in 1,000 first touches with four concurrent threads, and nothing for
 *   subjects with a record.
 *
 * Times before 3 January 1970 are not supported. Measured: 2.2 µs a usual event in cache, 4 µs in a full table of 256 MB, in batches of 16
 * (two cores shared with others); 300,000 unknown identities a day fit into 256 MB, of 1,000,000 every other record is evicted early.
 *
 * Events may come out of order by up to 5 s, from nodes whose clocks differ: an event ahead of the present one counts as one of this
 * moment.
 *
 * Direction of failure: open. An unavailable record only drops its part of the history; without the session's record the event gets null.
 */
export class LocalVelocity implements Velocity, OutcomeMemory {
  /** Those of the present event. */
  readonly #keys: EventKeys;
  readonly #table: Table;
  readonly #sessions: SessionRecords;
  readonly #addresses: AddressRecords;
  readonly #entities: EntityRecords;
  readonly #contexts: ContextRecords;
  readonly #devices: DeviceRecords;
  readonly #browsers: DeviceRecords;
  readonly #nonces: NonceRecords;
  readonly #population: PopulationRecords;
  readonly #crowds: CrowdRecords;
  readonly #values: ValueRecords;
  readonly #amounts: AmountRecords;
  readonly #own: OwnCounters;
  /** One per event of a batch, reused for the next batch. */
  readonly #traces: TraceWriter[] = [];
  /** Trace bits of the present event, by entity. */
  readonly #taught = new Uint16Array(VELOCITY_ENTITIES_MAX);

  /** `table` is over `memory` too; by default it is a plain one. */
  constructor(memory: VelocityMemory, table = new Table(memory)) {
    this.#keys = new EventKeys(memory.hashKey, new Map());
    this.#table = table;
    this.#sessions = new SessionRecords(this.#table);
    this.#addresses = new AddressRecords(this.#table);
    this.#entities = new EntityRecords(this.#table);
    this.#contexts = new ContextRecords(this.#table);
    this.#devices = new DeviceRecords(this.#table, false);
    this.#browsers = new DeviceRecords(this.#table, true);
    this.#nonces = new NonceRecords(this.#table);
    this.#population = new PopulationRecords(this.#table);
    this.#crowds = new CrowdRecords(this.#table, memory.hashKey);
    this.#values = new ValueRecords(this.#table);
    this.#amounts = new AmountRecords(this.#table, memory.hashKey);
    this.#own = new OwnCounters(this.#table, memory.hashKey);
  }

  observe(events: readonly HistoryEvent[]): (HistoryFacts | null)[] {
    const facts: (HistoryFacts | null)[] = [];
    for (const event of events) facts.push(this.#observe(event, facts.length));
    return facts;
  }

  settle({ customer, publicKey, trace, occurredAtMs, nowMs, before, outcome }: SettledEvent): void {
    const event = readTrace(trace, occurredAtMs);
    if (event === null) return;
    const step = event.isLogin ? 'login' : 'payment';
    const now = effectOf(step, outcome);
    const was = effectOf(step, before);
    const teaching = { was: teachingOf(step, before), now: teachingOf(step, outcome) };
    // Outcomes that count alike may teach differently: a passed challenge after a success.
    if (now === was && teaching.now === teaching.was) return;
    const keys = this.#keys;
    this.#table.owner = ownerOf(customer, publicKey);
    keys.readPopulation({ customer, publicKey });
    const change = { isLogin: event.isLogin, eventMs: occurredAtMs, nowMs };
    this.#table.keepsSeen = now === 'good';
    if (now !== was && was !== null) this.#count(event, keys, { ...change, isBad: was === 'bad', by: -1 });
    if (now !== was && now !== null) this.#count(event, keys, { ...change, isBad: now === 'bad', by: 1 });
    if (event.isLogin && now !== was) this.#teach(event, teaching, nowMs);
    if (event.isLogin || teaching.now !== teaching.was)
      for (const entity of event.entities) this.#contexts.settle(entity, event, teaching, keys, nowMs);
    this.#table.keepsSeen = true;
  }

  /** Forgets or restores what a login added about its entities. */
  #teach(event: TracedEvent, { was, now }: TeachingChange, nowMs: number): void {
    for (const { low, high, taught } of event.entities) {
      if (now === TEACHES_NOTHING) this.#entities.forget(low, high, taught, event, nowMs);
      else this.#entities.confirm(low, high, was === TEACHES_NOTHING ? taught : 0, event, nowMs);
    }
  }

  #count(event: TracedEvent, keys: EventKeys, change: OutcomeChange): void {
    for (const entity of event.entities) this.#entities.count(entity, event, change);
    const account = event.entities[event.account];
    const counted =
      account === undefined || !change.isLogin
        ? NO_ACCOUNT
        : this.#entities.countAccount(account.low, account.high, event.hostHigh, account.taught, change);
    const countsOnce = event.entities.length === 0 || countsLogin(change, counted);
    if (countsOnce) this.#population.change(keys, event.site, change);
    this.#sessions.count(event, change);
    if (event.site === 0) return;
    this.#addresses.count(event, change, counted);
    if (change.isLogin && countsOnce) this.#crowds.countOutcome(keys, event.site, change);
  }

  #observe(event: HistoryEvent, at: number): HistoryFacts | null {
    const keys = this.#keys;
    keys.read(event);
    const { nowMs } = event;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const step = stepOf(event.eventType);
    const outcome = step === null ? null : changeOf(step, event.outcome, nowMs);
    const teaching = teachingOf(step, event.outcome);
    this.#table.owner = ownerOf(event.customer, event.publicKey);
    const session = this.#sessions.observe(event, keys, nowSeconds, outcome);
    const make = event.device === null ? null : this.#devices.observe(keys.deviceLow, keys.deviceHigh, keys, nowMs);
    const browser = make === null || event.browser === null ? null : this.#browserOf(keys, make, nowMs);
    const entities: EntityHistory[] = [];
    let isStranger = keys.entities > 0;
    let settled = false;
    let returns = false;
    let belongs = false;
    let counted = NO_ACCOUNT;
    let context: ContextHistory | null = null;
    let contextBefore = NO_CONTEXT;
    for (let n = 0; n < keys.entities; n++) {
      const entity = this.#entities.observe(event, keys, n, nowSeconds, outcome);
      this.#taught[n] = this.#entities.taught;
      if (entity === null || this.#entities.knewNetwork) isStranger = false;
      if (entity === null) continue;
      entities.push(entity);
      if (n !== keys.account) continue;
      const { knewNetwork } = this.#entities;
      settled = isSettled(entity);
      returns = knewNetwork && isBack(entity, EARLIER_DAY_SECONDS);
      belongs = settled || (knewNetwork && isBack(entity, HOUR_SECONDS));
      if (outcome?.isLogin === true) counted = this.#countAccount(keys, n, outcome);
      if (!isContextAsked(event.eventType) && session?.leftItsOrigin !== true && isQuiet(entity)) continue;
      context = this.#contexts.observe(event, keys, n, entity, teaching, nowSeconds);
      contextBefore = this.#contexts;
      this.#taught[n] = this.#entities.taught | this.#contexts.taught;
    }
    const isCold = isStranger && this.#sessions.opens && !settled;
    const belonging = { isCold, belongs };
    const ip =
      event.networks === null
        ? null
        : this.#addresses.observe(event, keys, nowSeconds, belonging, this.#sessions, outcome, counted);
    const countsOnce = outcome !== null && (keys.entities === 0 || countsLogin(outcome, counted));
    if (outcome !== null && countsOnce) this.#population.change(keys, keys.site, outcome);
    const surge = step === null ? null : this.#population.observe(keys, step === 'login', nowMs);
    const crowd = this.#crowds.observe(event, keys, entities, { isCold, returns, ageMs: session?.ageMs ?? 0 });
    if (outcome?.isLogin === true && countsOnce && keys.site !== 0) this.#crowds.countOutcome(keys, keys.site, outcome);
    const values = this.#values.observe(event, keys, {
      sessionPayments1h: session?.payments1h ?? 0,
      addressDeclined1h: ip?.declined1h ?? 0,
      ofDevice24h: make === null ? NONE : this.#devices.ofName24h,
      ofBrowser24h: browser === null ? NONE : this.#browsers.ofName24h,
    });
    const amounts = this.#amounts.observe(event, keys);
    const counters = this.#own.observe(event, keys);
    let trace: TraceWriter | null = null;
    if (step !== null) {
      trace = this.#traces[at] ??= new TraceWriter();
      trace.write(event, keys, this.#taught, contextBefore);
      if (outcome?.isLogin === true && outcome.isBad) this.#forget(trace, nowMs);
    }
    const isTokenReplayed = event.grant !== null && this.#nonces.isUsed(keys, event.grant, nowSeconds);
    // Also without a session: the customer's first day begins with its first event.
    const customerAgeSeconds = this.#crowds.customerAgeSeconds(keys, nowMs);
    if (session === null) return null;
    const device = make === null ? null : deviceOf(make, browser, keys, context);
    const subjects = { session, ip, entities, context, device };
    return { customerAgeSeconds, ...subjects, surge, crowd, values, amounts, counters, isTokenReplayed, trace };
  }

  /**
   * Observes the browser. Its id stands for the device in the sets of entities, unless an entity came with the fingerprint in the last
   * 24 h, knows the network, and does not know the id: a private window, or storage that was cleared, adds no device. So a new id in each
   * request makes one device of one fingerprint, not many. A common fingerprint identifies no device, and a network that only failed logins
   * used is not known. Returns null for an id of too many networks.
   */
  #browserOf(keys: EventKeys, make: DeviceCounts, nowMs: number): DeviceCounts | null {
    const counts = this.#browsers.observe(keys.browserLow, keys.browserHigh, keys, nowMs);
    const isUsable = counts.networks24h <= BROWSER_NETWORKS_24H_MAX;
    if (!isUsable) keys.device = setMemberOf(keys.deviceHigh);
    else if (!make.isCommon && this.#devices.knewEntity && this.#knownBy(keys, nowMs) === KNOWS_NETWORK)
      keys.device = 0;
    return isUsable ? counts : null;
  }

  #countAccount({ entityLow, entityHigh, hostHigh }: EventKeys, n: number, outcome: OutcomeChange): AccountChange {
    return this.#entities.countAccount(entityLow[n] ?? 0, entityHigh[n] ?? 0, hostHigh, this.#entities.taught, outcome);
  }

  /** Returns what one of the event's entities knows, as bits. */
  #knownBy(keys: EventKeys, nowMs: number): number {
    let known = 0;
    for (let n = 0; n < keys.entities; n++) {
      known |= this.#entities.knows(keys.entityLow[n] ?? 0, keys.entityHigh[n] ?? 0, keys, nowMs);
    }
    return known;
  }

  /** Reverts what a login that arrives as failed added about its entities: it only counts as a failure. */
  #forget({ bytes, length }: TraceWriter, nowMs: number): void {
    const event = readTrace(bytes.subarray(0, length), nowMs);
    if (event === null) return;
    for (const { low, high, taught } of event.entities) this.#entities.forget(low, high, taught, event, nowMs);
  }
}

const NONE: readonly number[] = [];
const NO_ACCOUNT: AccountChange = { succeeded: 0, known: 0, failing: 0, failedAtMs: 0 };

/** Returns whether an outcome counts for the customer and in the network: an account's successful logins do so once a day and address. */
function countsLogin({ isLogin, isBad }: OutcomeChange, { succeeded }: AccountChange): boolean {
  return !isLogin || isBad || succeeded !== 0;
}

/**
 * Returns whether the account has been known for a week and lives near the event's location, which it used before. Such an account comes
 * from a new network, not from a list: a thief would need an address in the area of each victim.
 */
function isSettled({ isNew, knownForSeconds, placeIsFamiliar }: EntityHistory): boolean {
  return !isNew && placeIsFamiliar && knownForSeconds >= VELOCITY_SETTLED_SECONDS;
}

/**
 * Returns whether an account that knows the network has been known for this long. Choice: on at most three networks in the hour, as a
 * person on the move; so one account cannot vouch for many networks.
 */
function isBack({ isNew, knownForSeconds, networks1h }: EntityHistory, seconds: number): boolean {
  return !isNew && knownForSeconds >= seconds && networks1h <= NETWORKS_OF_ONE;
}

const HOUR_SECONDS = 3_600;
/** Choice: who came in the evening and comes again in the morning came on an earlier day. */
const EARLIER_DAY_SECONDS = 12 * HOUR_SECONDS;
const NETWORKS_OF_ONE = 3;

/** Names each field. Measured: a spread, and an object for the key of each device, took 1 of 7.3 µs an event. */
function deviceOf(
  { entities24h, networks24h, days, isCommon }: DeviceCounts,
  browser: DeviceCounts | null,
  keys: EventKeys,
  context: ContextHistory | null,
): DeviceHistory {
  return { entities24h, networks24h, days, isCommon, browser: browser === null ? null : ownOf(browser, keys, context) };
}

function ownOf(
  { entities24h, networks24h }: DeviceCounts,
  { device, browserHigh }: EventKeys,
  context: ContextHistory | null,
): BrowserHistory {
  return { entities24h, networks24h, isOfAccount: context?.device === 'known' && device === setMemberOf(browserHigh) };
}

/** Choice: for a quiet entity no rule reads contexts, and most events are quiet. */
const QUIET_DECISIONS_1M = 10;

function isQuiet({ places, networks1h, countries24h, devices24h, decisions1m, payments1h }: EntityHistory): boolean {
  return (
    places.length === 0 &&
    networks1h <= 1 &&
    countries24h <= 1 &&
    devices24h <= 1 &&
    decisions1m <= QUIET_DECISIONS_1M &&
    payments1h <= 1
  );
}

function changeOf(step: OutcomeStep, outcome: Outcome | null, nowMs: number): OutcomeChange | null {
  const effect = effectOf(step, outcome);
  return effect === null ? null : { isLogin: step === 'login', isBad: effect === 'bad', by: 1, eventMs: nowMs, nowMs };
}
