import type { BrowserFamily, SystemFamily } from '../risk/signals/agent-families.ts';
import type { HistoryEvent, SessionHistory } from '../risk/history.ts';
import { Counter } from './counter.ts';
import { ageOfCountry, codeOfCountry, codeOfWord, countryOfCode, countryWord } from './country.ts';
import type { EventKeys } from './event-keys.ts';
import { SALT_REGIONS, SALT_SESSION_OUTCOMES } from './keys.ts';
import { KIND_OUTCOMES, KIND_SESSION, KIND_SET } from './layout.ts';
import { MsRing } from './rhythm.ts';
import { type OutcomeChange, OutcomeRecords } from './outcome-record.ts';
import { Ring } from './ring.ts';
import { OverflowingSet } from './overflowing-set.ts';
import { PageRecords } from './page-records.ts';
import type { Table } from './table.ts';
import { HOUR_SET, setMemberOf } from './timed-set.ts';

/**
 *   0 hash   1 first event, Unix seconds
 *   2 flags | an entity was named << 4 | events, 15 at most << 5 | origin << 9 | ms of the first event's second << 22
 *   origin, of the first event where it is known: region 7 bits << 6 | browser << 3 | system, 0 for what is not known
 *   3 the previous event: site 20 bits << 8 | browser << 4 | system, 0 for what is not known
 *   4 last country and its time (`country.ts`)
 *   5-6 addresses at which the session was counted for 10 min, 7-8 for 1 h: 16 bits of the address << 16 | time in ticks
 *   9-13 regions, 1 h   14-19 payments, 12 of 1 h   20-31 the last 12 events, ms
 */
const AT_FIRST = 1;
const AT_FLAGS = 2;
const AT_BEFORE = 3;
const AT_COUNTRY = 4;
const AT_ARRIVALS_10M = 5;
const AT_ARRIVALS_1H = 7;
const ARRIVALS = 2;

const FLAG_DECISIONS = 1;
const FLAG_PAYMENTS = 2;
const FLAG_REGIONS = 4;
/** Outcomes of payments only: login outcomes belong to the account. */
const FLAG_OUTCOMES = 8;
const FLAG_NAMED = 16;
const EVENTS_SHIFT = 5;
const EVENTS_MAX = 15;
const ORIGIN_SHIFT = 9;
const ORIGIN_MASK = 0x1fff;
const ORIGIN_AGENT_MASK = 0x3f;
const MS_SHIFT = 22;
/** Source: the default rules: a login that follows a page view or two still opens the session. */
const ANONYMOUS_MAX = 3;
const ANONYMOUS_MS_MAX = 120_000;

const BROWSERS: Readonly<Record<BrowserFamily, number>> = { chromium: 1, firefox: 2, safari: 3, other: 4 };
const SYSTEMS: Readonly<Record<SystemFamily, number>> = {
  windows: 1,
  macos: 2,
  linux: 3,
  android: 4,
  ios: 5,
  chromeos: 6,
  other: 7,
};
const AGENT_MASK = 0xff;
const SITE_MASK = 0xfffff;

type SessionKey = Pick<EventKeys, 'sessionLow' | 'sessionHigh'>;

export class SessionRecords {
  /** Set by the last `observe`: whether nothing was known of the session. */
  isFirst = false;
  /** Set by the last `observe`: the session so far had at most a few recent events, none of them with an entity. */
  opens = false;
  /** Set by the last `observe`: whether its session counts at its address again, for windows of 10 min and of 1 h. */
  arrives10m = false;
  arrives1h = false;
  readonly #table: Table;
  readonly #events: MsRing;
  readonly #decisions: Counter;
  readonly #payments: Counter;
  readonly #regions: OverflowingSet;
  readonly #outcomes: OutcomeRecords;
  readonly #pages: PageRecords;

  constructor(table: Table) {
    this.#table = table;
    this.#pages = new PageRecords(table);
    this.#events = new MsRing(table, { at: 20, words: 12, windowMs: 60_000 });
    const flagsAt = AT_FLAGS;
    this.#decisions = new Counter(table, this.#events, { windowMs: 60_000, flagsAt, flag: FLAG_DECISIONS, counter: 0 });
    const payments = new Ring(table, { at: 14, words: 6, windowMs: 3_600_000 });
    this.#payments = new Counter(table, payments, { windowMs: 3_600_000, flagsAt, flag: FLAG_PAYMENTS, counter: 1 });
    this.#outcomes = new OutcomeRecords(table, KIND_OUTCOMES, SALT_SESSION_OUTCOMES);
    this.#regions = new OverflowingSet(table, {
      at: 9,
      words: 5,
      span: HOUR_SET,
      flagsAt,
      flag: FLAG_REGIONS,
      kind: KIND_SET,
      salt: SALT_REGIONS,
    });
  }

  /** Returns null when the record is unavailable. `outcome` is the event's own outcome, if it counts. */
  observe(
    event: HistoryEvent,
    keys: EventKeys,
    nowSeconds: number,
    outcome: OutcomeChange | null,
  ): SessionHistory | null {
    const table = this.#table;
    const { sessionLow: low, sessionHigh: high } = keys;
    const { nowMs } = event;
    const record = table.take(low, high, KIND_SESSION, nowSeconds);
    this.isFirst = record !== 0 && table.isNew;
    this.opens = false;
    this.arrives10m = false;
    this.arrives1h = false;
    if (record === 0) return null;
    const rest = table.restSeconds;
    if (this.isFirst) this.#begin(record, nowMs, nowSeconds);
    const ageMs = this.isFirst ? 0 : this.#ageMs(record, nowMs);
    const before = this.#countEvent(record, keys.entities > 0, ageMs);
    this.arrives10m = keys.site !== 0 && this.#arrives(record + AT_ARRIVALS_10M, keys.hostHigh, nowMs, 600_000);
    this.arrives1h = keys.site !== 0 && this.#arrives(record + AT_ARRIVALS_1H, keys.hostHigh, nowMs, 3_600_000);
    const now = wordOf(event, keys);
    const last = Atomics.exchange(table.words, record + AT_BEFORE, now);
    const country = this.#country(record, event, nowSeconds);
    const isPayment = event.eventType === 'payment';
    if (outcome !== null) this.#count(record, keys, outcome);
    const hasOutcomes =
      ((table.words[record + AT_FLAGS] ?? 0) & FLAG_OUTCOMES) !== 0 && this.#outcomes.read(low, high, nowMs) !== 0;
    const { payments } = this.#outcomes;
    const origin = originOf(now, keys);
    const first = this.#origin(record, origin);
    return {
      isFirstEvent: this.isFirst,
      ageMs,
      decisions1m: this.#decisions.add(record, low, high, nowMs, rest),
      payments1h: isPayment
        ? this.#payments.add(record, low, high, nowMs, rest)
        : this.#payments.count(record, low, high, nowMs, rest),
      paid1h: hasOutcomes ? payments.good : 0,
      declined1h: hasOutcomes ? payments.bad : 0,
      rhythm: this.#events.rhythm(record, nowMs),
      pages: before < EVENTS_MAX ? null : this.#pages.add(low, high, before, nowMs - ageMs, nowMs),
      networkChanged: differs(last >>> 8, now >>> 8),
      previousCountry: countryOfCode(codeOfWord(country)),
      previousCountryAgeSeconds: codeOfWord(country) === 0 ? 0 : ageOfCountry(country, nowSeconds),
      regions1h:
        keys.region === 0
          ? this.#regions.count(record, low, high, nowMs, rest)
          : this.#regions.see(record, low, high, setMemberOf(keys.region), nowMs, rest),
      agentChanged: differs(last & AGENT_MASK, now & AGENT_MASK),
      leftItsOrigin:
        differs(first & ORIGIN_AGENT_MASK, origin & ORIGIN_AGENT_MASK) &&
        differs(first & ~ORIGIN_AGENT_MASK, origin & ~ORIGIN_AGENT_MASK),
    };
  }

  /** Counts the outcome of one of the session's earlier events. */
  count({ sessionLow, sessionHigh }: SessionKey, outcome: OutcomeChange): void {
    const record = this.#table.find(sessionLow, sessionHigh, KIND_SESSION, Math.floor(outcome.nowMs / 1_000));
    if (record !== 0) this.#count(record, { sessionLow, sessionHigh }, outcome);
  }

  #count(record: number, { sessionLow, sessionHigh }: SessionKey, outcome: OutcomeChange): void {
    if (outcome.isLogin) return;
    Atomics.or(this.#table.words, record + AT_FLAGS, FLAG_OUTCOMES);
    this.#outcomes.change(sessionLow, sessionHigh, outcome);
  }

  /** Returns the number of events before this one, 15 at most. */
  #countEvent(record: number, isNamed: boolean, ageMs: number): number {
    const { words } = this.#table;
    const at = record + AT_FLAGS;
    for (;;) {
      const word = words[at] ?? 0;
      const before = (word >>> EVENTS_SHIFT) & EVENTS_MAX;
      this.opens = (word & FLAG_NAMED) === 0 && before <= ANONYMOUS_MAX && ageMs <= ANONYMOUS_MS_MAX;
      const counted = before === EVENTS_MAX ? word : word + (1 << EVENTS_SHIFT);
      const next = (isNamed ? counted | FLAG_NAMED : counted) >>> 0;
      if (next === word || Atomics.compareExchange(words, at, word, next) === word) return before;
    }
  }

  #begin(record: number, nowMs: number, nowSeconds: number): void {
    const { words } = this.#table;
    Atomics.or(words, record + AT_FLAGS, (nowMs - nowSeconds * 1_000) << MS_SHIFT);
    Atomics.store(words, record + AT_FIRST, nowSeconds);
  }

  /** Returns the session's origin; fills unknown parts of it from the present event. */
  #origin(record: number, now: number): number {
    const { words } = this.#table;
    const word = words[record + AT_FLAGS] ?? 0;
    const origin = (word >>> ORIGIN_SHIFT) & ORIGIN_MASK;
    const agent = origin & ORIGIN_AGENT_MASK || now & ORIGIN_AGENT_MASK;
    const region = origin & ~ORIGIN_AGENT_MASK || now & ~ORIGIN_AGENT_MASK;
    const filled = region | agent;
    if (filled !== origin) Atomics.or(words, record + AT_FLAGS, filled << ORIGIN_SHIFT);
    return filled;
  }

  /** Returns 0 if the worker that created the record has not written the time yet. */
  #ageMs(record: number, nowMs: number): number {
    const { words } = this.#table;
    const seconds = Atomics.load(words, record + AT_FIRST);
    const ms = (words[record + AT_FLAGS] ?? 0) >>> MS_SHIFT;
    return seconds === 0 ? 0 : Math.max(0, nowMs - seconds * 1_000 - ms);
  }

  /** Stores the event's country and returns the previous word. */
  #country(record: number, event: HistoryEvent, nowSeconds: number): number {
    const { words } = this.#table;
    const code = codeOfCountry(event.country);
    const at = record + AT_COUNTRY;
    return code === 0 ? (words[at] ?? 0) : Atomics.exchange(words, at, countryWord(code, nowSeconds));
  }

  /**
   * Returns whether the session was not counted at this address in the last window, and marks it as counted. The last two addresses are
   * kept; a session that rotates among more is counted at each change.
   */
  #arrives(at: number, host: number, nowMs: number, windowMs: number): boolean {
    const { words } = this.#table;
    const tick = Math.floor(nowMs / (windowMs / 100)) & 0xffff;
    const next = ((host & 0xffff) << 16) | tick;
    let to = at;
    let oldest = -1;
    for (let i = at; i < at + ARRIVALS; i++) {
      const word = words[i] ?? 0;
      const age = word === 0 ? 0x10000 : (tick - word) & 0xffff;
      const isHere = word !== 0 && word >>> 16 === (host & 0xffff);
      // Ticks wrap around after four days or more, so an old word is mistaken for a recent one only in 100 of 65,536 moments.
      if (isHere && (age < 100 || age > 0xff00)) return false;
      if (isHere) {
        to = i;
        break;
      }
      if (age <= oldest) continue;
      to = i;
      oldest = age;
    }
    const old = words[to] ?? 0;
    return Atomics.compareExchange(words, to, old, next >>> 0) === old;
  }
}

function wordOf({ agent }: HistoryEvent, { site }: EventKeys): number {
  const system = agent === null ? 0 : SYSTEMS[agent.system];
  const browser = agent === null ? 0 : BROWSERS[agent.browser];
  const network = site === 0 ? 0 : site & SITE_MASK || 1;
  return (network << 8) | (browser << 4) | system;
}

/** Packs seven bits of the region, and three each of browser and system. */
function originOf(word: number, { region }: EventKeys): number {
  const agent = (((word >>> 4) & 7) << 3) | (word & 7);
  const hash = (region ^ (region >>> 7)) & 0x7f;
  return ((region === 0 ? 0 : hash || 1) << 6) | agent;
}

/** Returns false if either value is 0, which means unknown. */
function differs(before: number, now: number): boolean {
  return before !== 0 && now !== 0 && before !== now;
}
