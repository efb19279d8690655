import type { BrowserFamily, SystemFamily } from '../core/facts.ts';
import type { HistoryEvent, SessionHistory } from '../core/history.ts';
import { Counter } from './counter.ts';
import { ageOfCountry, codeOfCountry, codeOfWord, countryOfCode, countryWord } from './country.ts';
import type { EventKeys } from './event-keys.ts';
import { SALT_REGIONS } from './keys.ts';
import { KIND_SESSION, KIND_SET } from './layout.ts';
import { MsRing } from './rhythm.ts';
import { Ring } from './ring.ts';
import { OverflowingSet } from './overflowing-set.ts';
import type { Table } from './table.ts';
import { HOUR_SET, memberOf } from './timed-set.ts';

/**
 *   0 hash   1 first event, Unix seconds   2 flags | ms of the first event's second << 22
 *   3 the event before: site 20 bits << 8 | browser << 4 | system, 0 for what is not known
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
const MS_SHIFT = 22;

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

export class SessionRecords {
  /** Of the last `observe`: whether nothing was known of the session. */
  isFirst = false;
  /** Of the last `observe`: its session counts anew at its address, for windows of 10 min and of 1 h. */
  arrives10m = false;
  arrives1h = false;
  readonly #table: Table;
  readonly #events: MsRing;
  readonly #decisions: Counter;
  readonly #payments: Counter;
  readonly #regions: OverflowingSet;

  constructor(table: Table) {
    this.#table = table;
    this.#events = new MsRing(table, { at: 20, words: 12, windowMs: 60_000 });
    const flagsAt = AT_FLAGS;
    this.#decisions = new Counter(table, this.#events, { windowMs: 60_000, flagsAt, flag: FLAG_DECISIONS, counter: 0 });
    const payments = new Ring(table, { at: 14, words: 6, windowMs: 3_600_000 });
    this.#payments = new Counter(table, payments, { windowMs: 3_600_000, flagsAt, flag: FLAG_PAYMENTS, counter: 1 });
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

  /** null where the record cannot be had. */
  observe(event: HistoryEvent, keys: EventKeys, nowSeconds: number): SessionHistory | null {
    const table = this.#table;
    const { sessionLow: low, sessionHigh: high } = keys;
    const { nowMs } = event;
    const record = table.take(low, high, KIND_SESSION, nowSeconds);
    this.isFirst = record !== 0 && table.isNew;
    this.arrives10m = false;
    this.arrives1h = false;
    if (record === 0) return null;
    const rest = table.restSeconds;
    if (this.isFirst) this.#begin(record, nowMs, nowSeconds);
    this.arrives10m = keys.site !== 0 && this.#arrives(record + AT_ARRIVALS_10M, keys.hostHigh, nowMs, 600_000);
    this.arrives1h = keys.site !== 0 && this.#arrives(record + AT_ARRIVALS_1H, keys.hostHigh, nowMs, 3_600_000);
    const now = wordOf(event, keys);
    const before = Atomics.exchange(table.words, record + AT_BEFORE, now);
    const country = this.#country(record, event, nowSeconds);
    const isPayment = event.eventType === 'payment';
    return {
      isFirstEvent: this.isFirst,
      ageMs: this.isFirst ? 0 : this.#ageMs(record, nowMs),
      decisions1m: this.#decisions.add(record, low, high, nowMs, rest),
      payments1h: isPayment
        ? this.#payments.add(record, low, high, nowMs, rest)
        : this.#payments.count(record, low, high, nowMs, rest),
      rhythm: this.#events.rhythm(record, nowMs),
      networkChanged: differs(before >>> 8, now >>> 8),
      previousCountry: countryOfCode(codeOfWord(country)),
      previousCountryAgeSeconds: codeOfWord(country) === 0 ? 0 : ageOfCountry(country, nowSeconds),
      regions1h:
        keys.region === 0
          ? this.#regions.count(record, low, high, nowMs, rest)
          : this.#regions.see(record, low, high, memberOf(keys.region), nowMs, rest),
      agentChanged: differs(before & AGENT_MASK, now & AGENT_MASK),
    };
  }

  #begin(record: number, nowMs: number, nowSeconds: number): void {
    const { words } = this.#table;
    Atomics.or(words, record + AT_FLAGS, (nowMs - nowSeconds * 1_000) << MS_SHIFT);
    Atomics.store(words, record + AT_FIRST, nowSeconds);
  }

  /** 0 where the one who made the record has not written it yet. */
  #ageMs(record: number, nowMs: number): number {
    const { words } = this.#table;
    const seconds = Atomics.load(words, record + AT_FIRST);
    const ms = (words[record + AT_FLAGS] ?? 0) >>> MS_SHIFT;
    return seconds === 0 ? 0 : Math.max(0, nowMs - seconds * 1_000 - ms);
  }

  /** The word before, with the event's country put in its place. */
  #country(record: number, event: HistoryEvent, nowSeconds: number): number {
    const { words } = this.#table;
    const code = codeOfCountry(event.country);
    const at = record + AT_COUNTRY;
    return code === 0 ? (words[at] ?? 0) : Atomics.exchange(words, at, countryWord(code, nowSeconds));
  }

  /**
   * Whether the session was not counted at this address in the last window; from now on it is. The last two addresses are
   * remembered; a session that goes round among more is counted at each change.
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
      // Ticks go round in four days or more, so an old word is taken for a new one only in 100 of 65,536 moments.
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

/** Neither is 0, what is not known. */
function differs(before: number, now: number): boolean {
  return before !== 0 && now !== 0 && before !== now;
}
