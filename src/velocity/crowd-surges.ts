import type { AgentSurge, CrowdSurge } from '../risk/crowds.ts';
import type { HistoryEvent } from '../risk/history.ts';
import { AgentShares } from './agent-shares.ts';
import { addToBucket, sumBuckets } from './buckets.ts';
import type { EventKeys } from './event-keys.ts';
import {
  mix,
  SALT_AGENT_NETWORKS,
  SALT_CODE_NETWORKS,
  SALT_CODES,
  SALT_CUSTOMER,
  SALT_SIGNUP_NETWORKS,
  SALT_SLOW_CODE_NETWORKS,
  SALT_SLOW_NETWORKS,
  SALT_SLOW_SIGNUP_NETWORKS,
  SALT_STRANGER_NETWORKS,
} from './keys.ts';
import { KIND_HOUR_SET, KIND_POPULATION } from './layout.ts';
import { Peaks } from './peaks.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { HOUR_SET, setMemberOf, TEN_MINUTE_SET, TimedSet } from './timed-set.ts';

/**
 * Surges of a customer's unknown accounts, detected without outcomes. Starts at the customer's first login or sign-up; public keys are
 * counted separately.
 *
 *   0 hash   1 first seen, Unix seconds   2-3 maximum of networks with logins of unknown accounts (10 min) and with sign-ups (1 h)
 *   4-5 what these usually are (`peaks.ts`)   6-15 pairs of an agent and a network of unknown accounts, 1 h (`buckets.ts`)
 *   16-17 the same as 2 and 4 for codes and passwords of unknown accounts (`guess-steps.ts`)
 *   18 first event of any type, Unix seconds; 0 if none came before the first login or sign-up   19-31 unused
 *
 * Each kind of network has a set of up to three records (`set-record.ts`): exact up to 30, saturated at about 1,370. With the earlier
 * maxima of all three kinds (`usual.ts`) and the agent shares a customer has up to 99 records, 13.6 KB, and one for each rarer agent of
 * unknown accounts in the last hour:
 *
 *   0 hash   1-10 networks, and events of more than 21   11-31 networks, 21 of 1 h (`timed-set.ts`)
 */
const AT_FIRST = 1;
const AT_MOST = 2;
const AT_USUAL = 4;
const AT_ALL = 6;
const AT_CODES = 16;
const AT_FIRST_EVENT = 18;
const HOUR_MS = 3_600_000;
const AT_PAIRS = 1;
const AT_AGENT_NETWORKS = 11;
const AGENT_NETWORKS = 21;
/**
 * Source: the default rules: above this share an agent cannot become 8 times more common. A policy with a smaller factor ignores agents
 * above it as well.
 */
const USUAL_SHARE_MAX = 0.125;
const LOGINS = 0;
const SIGNUPS = 1;

export class CrowdSurges {
  /** Set by the last `open`: seconds since the customer's first login or sign-up. */
  customerAgeSeconds = 0;
  readonly #table: Table;
  readonly #logins: Peaks;
  readonly #signups: Peaks;
  readonly #codes: Peaks;
  readonly #in10m: SetRecords;
  readonly #in1h: SetRecords;
  readonly #agentNetworks: TimedSet;
  readonly #agents: AgentShares;
  /** The customer of the last `open` or `ageOf`, and when its record was last taken, Unix seconds. */
  #record = 0;
  #low = 0;
  #high = 0;
  #takenSeconds = 0;

  constructor(table: Table) {
    this.#table = table;
    this.#logins = new Peaks(table, { mostAt: AT_MOST, usualAt: AT_USUAL, kind: LOGINS });
    this.#signups = new Peaks(table, { mostAt: AT_MOST + 1, usualAt: AT_USUAL + 1, kind: SIGNUPS });
    this.#codes = new Peaks(table, { mostAt: AT_CODES, usualAt: AT_CODES + 1, kind: LOGINS });
    this.#in10m = new SetRecords(table, KIND_HOUR_SET, TEN_MINUTE_SET);
    this.#in1h = new SetRecords(table, KIND_HOUR_SET, HOUR_SET);
    this.#agentNetworks = new TimedSet(table, { at: AT_AGENT_NETWORKS, words: AGENT_NETWORKS, span: HOUR_SET }, true);
    this.#agents = new AgentShares(table);
  }

  /** Call first for each event. */
  open(keys: EventKeys, nowMs: number): void {
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = this.#take(keys, nowSeconds);
    this.customerAgeSeconds = 0;
    if (record === 0) return;
    const first = Atomics.compareExchange(this.#table.words, record + AT_FIRST, 0, nowSeconds) || nowSeconds;
    this.customerAgeSeconds = Math.max(0, nowSeconds - first);
  }

  /** Only reads the customer's age; 0 if it has had neither logins nor sign-ups. */
  look(keys: EventKeys, nowMs: number): void {
    this.customerAgeSeconds = customerAgeSeconds(this.#table, keys, nowMs);
  }

  /** Returns the seconds since the customer's first login or sign-up; until it has one, since its first event. Call after `open`. */
  ageOf(keys: EventKeys, nowMs: number): number {
    const { words } = this.#table;
    const nowSeconds = Math.floor(nowMs / 1_000);
    const record = this.#take(keys, nowSeconds);
    if (record === 0) return 0;
    const first =
      words[record + AT_FIRST] ||
      words[record + AT_FIRST_EVENT] ||
      Atomics.compareExchange(words, record + AT_FIRST_EVENT, 0, nowSeconds) ||
      nowSeconds;
    return Math.max(0, nowSeconds - first);
  }

  /** Counts networks with logins of unknown accounts, this event's included; null if the event is not such a login. */
  logins(site: number, isStranger: boolean, isSlow: boolean, nowMs: number): CrowdSurge | null {
    if (!isStranger || site === 0 || this.#record === 0) return null;
    const networks = this.#see(this.#in10m, SALT_STRANGER_NETWORKS, site, nowMs);
    const slow = isSlow ? this.#see(this.#in10m, SALT_SLOW_NETWORKS, site, nowMs) : 0;
    return this.#compare(this.#logins, networks, slow, nowMs);
  }

  /** Counts networks from which unknown accounts send codes, coupons and password resets, this one included. */
  codes(site: number, isSlow: boolean, nowMs: number): CrowdSurge | null {
    if (site === 0 || this.#record === 0) return null;
    const networks = this.#see(this.#in10m, SALT_CODE_NETWORKS, site, nowMs);
    const slow = isSlow ? this.#see(this.#in10m, SALT_SLOW_CODE_NETWORKS, site, nowMs) : 0;
    return this.#compare(this.#codes, networks, slow, nowMs, SALT_CODES);
  }

  /** Counts networks with sign-ups, this one included. */
  signups(site: number, isSlow: boolean, nowMs: number): CrowdSurge | null {
    if (site === 0 || this.#record === 0) return null;
    const networks = this.#see(this.#in1h, SALT_SIGNUP_NETWORKS, site, nowMs);
    const slow = isSlow ? this.#see(this.#in1h, SALT_SLOW_SIGNUP_NETWORKS, site, nowMs) : 0;
    return this.#compare(this.#signups, networks, slow, nowMs);
  }

  /**
   * Counts networks of the agent among unknown accounts, this one included. Returns null for an agent that is too common among known
   * accounts to stand out.
   */
  agent({ agentLanguageHash: agent }: HistoryEvent, site: number, nowMs: number): AgentSurge | null {
    if (agent === 0 || site === 0 || this.#record === 0) return null;
    const table = this.#table;
    const at = this.#record + AT_ALL;
    const usualShare = this.#agents.shareOf(this.#low, this.#high, agent, nowMs);
    const record = usualShare === null || usualShare > USUAL_SHARE_MAX ? 0 : this.#agentRecord(agent, nowMs);
    if (usualShare === null || record === 0) {
      addToBucket(table, at, HOUR_MS, nowMs);
      return null;
    }
    const networks1h = this.#agentNetworks.see(record, setMemberOf(site), nowMs, table.restSeconds);
    if (!this.#agentNetworks.wasKnown) {
      addToBucket(table, at, HOUR_MS, nowMs);
      addToBucket(table, record + AT_PAIRS, HOUR_MS, nowMs);
    }
    const pairs = Math.max(1, sumBuckets(table, record + AT_PAIRS, HOUR_MS, nowMs));
    const all = Math.max(pairs, sumBuckets(table, at, HOUR_MS, nowMs));
    return { networks1h, share: pairs / all, usualShare };
  }

  /** Counts a session of a known account. */
  noteKnown({ agentLanguageHash: agent }: HistoryEvent, nowMs: number): void {
    if (agent !== 0 && this.#record !== 0) this.#agents.note(this.#low, this.#high, agent, nowMs);
  }

  /** Keeps the record of the last call while the customer and the second are the same, unless the record was evicted. */
  #take({ populationLow, populationHigh }: EventKeys, nowSeconds: number): number {
    const table = this.#table;
    const low = mix(populationLow, populationHigh, SALT_CUSTOMER);
    const high = mix(populationHigh, populationLow, SALT_CUSTOMER);
    const isSame = low === this.#low && high === this.#high && nowSeconds === this.#takenSeconds;
    if (isSame && this.#record !== 0 && table.words[this.#record] === low >>> 0) return this.#record;
    this.#low = low;
    this.#high = high;
    this.#takenSeconds = nowSeconds;
    this.#record = table.take(low, high, KIND_POPULATION, nowSeconds);
    return this.#record;
  }

  #agentRecord(agent: number, nowMs: number): number {
    const low = mix(this.#low ^ agent, this.#high, SALT_AGENT_NETWORKS);
    const high = mix(this.#high ^ agent, this.#low, SALT_AGENT_NETWORKS);
    return this.#table.take(low, high, KIND_HOUR_SET, Math.floor(nowMs / 1_000));
  }

  #see(set: SetRecords, salt: number, site: number, nowMs: number): number {
    return set.see(mix(this.#low, this.#high, salt), mix(this.#high, this.#low, salt), setMemberOf(site), nowMs);
  }

  /** `salt` separates two series of maxima of the same kind. */
  #compare(peaks: Peaks, networks: number, slowNetworks: number, nowMs: number, salt = 0): CrowdSurge {
    const low = salt === 0 ? this.#low : mix(this.#low, this.#high, salt);
    const key = { record: this.#record, low, high: this.#high };
    peaks.note(key, networks, nowMs);
    const first = this.#table.words[this.#record + AT_FIRST] ?? 0;
    return { networks, slowNetworks, usual: peaks.usualNow(key, first, nowMs) };
  }
}

/** Seconds since the customer's first login or sign-up; 0 if it has had neither. */
export function customerAgeSeconds(
  table: Table,
  { populationLow, populationHigh }: Pick<EventKeys, 'populationLow' | 'populationHigh'>,
  nowMs: number,
): number {
  const nowSeconds = Math.floor(nowMs / 1_000);
  const low = mix(populationLow, populationHigh, SALT_CUSTOMER);
  const high = mix(populationHigh, populationLow, SALT_CUSTOMER);
  const record = table.find(low, high, KIND_POPULATION, nowSeconds);
  const first = record === 0 ? 0 : (table.words[record + AT_FIRST] ?? 0);
  return first === 0 ? 0 : Math.max(0, nowSeconds - first);
}
