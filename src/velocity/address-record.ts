import type { HistoryEvent, IpHistory } from '../risk/history.ts';
import { isPayingStep } from '../risk/event-outcome.ts';
import { type AccountChange, FAILING_PART_MS } from './account-days.ts';
import { ARRIVAL_WORDS, Arrivals } from './arrivals.ts';
import { customerAgeSeconds } from './crowd-surges.ts';
import { Counter } from './counter.ts';
import type { EventKeys } from './event-keys.ts';
import { mix, SALT_ADDRESS_OUTCOMES, SALT_COLD, SALT_PEOPLE } from './keys.ts';
import { KIND_ADDRESS, KIND_HOUR_SET, KIND_OUTCOMES } from './layout.ts';
import { type OutcomeChange, OutcomeRecords } from './outcome-record.ts';
import { OutcomeTally } from './outcome-tally.ts';
import { Ring } from './ring.ts';
import { SetRecords } from './set-record.ts';
import { SignupRecords } from './signup-record.ts';
import type { Table } from './table.ts';
import { HOUR_SET, setMemberOf } from './timed-set.ts';

/**
 *   0 hash   1 flags   2-7 decisions, 12 of 1 min   8-13 cold-start logins, 12 of 10 min   14-19 cold-start payments, 12 of 1 h
 *   20-25 arrivals of 10 min, 26-31 of 1 h (`arrivals.ts`)
 *
 * Further records hold sign-ups (`signup-record.ts`), outcomes (`outcome-record.ts`), for each entity key name a set of the entities seen
 * in cold-start events, and a set of the accounts that belong there. In the outcome record, words 2-14 count accounts whose logins
 * succeeded and logins that failed; words 28-31 count, in thirds of 24 h, the known ones of these accounts, and accounts that only failed.
 */
const AT_FLAGS = 1;
const AT_ARRIVALS = 20;
const RING_WORDS = 6;

const FLAG_SIGNUPS = 8;
const FLAG_COLD = 16;
const FLAG_OUTCOMES = 32;
const DAY_SECONDS = 86_400;
const DAY_MS = 1_000 * DAY_SECONDS;
const AT_ACCOUNTS = 28;
/** Choice: a household has few sessions an hour. */
const FEW_SESSIONS_MAX = 3;
/**
 * Choice: an entity is cold at most once per network unless its login failed. Up to this number of cold-start events, their number is
 * therefore used as the number of cold entities, whatever the key names, and the sets per key name are not read. Most addresses stay below
 * it, which saves two records per request.
 */
const COLD_TAKEN_MAX = 3;

/**
 * Event types whose rules read what unknown identities do at the address. For other types these counts are 0 and their records are not
 * read.
 */
const ACCOUNT_STEPS: ReadonlySet<string> = new Set(['login', 'signup', 'payment', 'checkout']);

type HostKey = Pick<EventKeys, 'hostLow' | 'hostHigh'>;

export class AddressRecords {
  readonly #table: Table;
  readonly #decisions: Counter;
  readonly #coldLogins: Counter;
  readonly #coldPayments: Counter;
  readonly #arrivals10m: Arrivals;
  readonly #arrivals1h: Arrivals;
  readonly #signups: SignupRecords;
  readonly #coldEntities: SetRecords;
  readonly #people: SetRecords;
  readonly #outcomes: OutcomeRecords;
  readonly #accounts: OutcomeTally;

  constructor(table: Table) {
    this.#table = table;
    const counter = (windowMs: number, n: number): Counter => {
      const ring = new Ring(table, { at: 2 + n * RING_WORDS, words: RING_WORDS, windowMs });
      return new Counter(table, ring, { windowMs, flagsAt: AT_FLAGS, flag: 1 << n, counter: n });
    };
    this.#decisions = counter(60_000, 0);
    this.#coldLogins = counter(600_000, 1);
    this.#coldPayments = counter(3_600_000, 2);
    this.#arrivals10m = new Arrivals(table, { at: AT_ARRIVALS, windowMs: 600_000 });
    this.#arrivals1h = new Arrivals(table, { at: AT_ARRIVALS + ARRIVAL_WORDS, windowMs: 3_600_000 });
    this.#signups = new SignupRecords(table);
    this.#coldEntities = new SetRecords(table, KIND_HOUR_SET, HOUR_SET);
    this.#people = new SetRecords(table, KIND_HOUR_SET, HOUR_SET);
    this.#outcomes = new OutcomeRecords(table, KIND_OUTCOMES, SALT_ADDRESS_OUTCOMES, DAY_MS);
    const parts = DAY_MS / FAILING_PART_MS;
    this.#accounts = new OutcomeTally(table, { at: AT_ACCOUNTS, parts, windowMs: DAY_MS });
  }

  /**
   * Returns null when the record is unavailable. `outcome` is the event's own outcome, if it counts, and `account` what it changes in the
   * counts of accounts.
   */
  observe(
    event: HistoryEvent,
    keys: EventKeys,
    nowSeconds: number,
    { isCold, belongs }: Belonging,
    arrives: { readonly arrives10m: boolean; readonly arrives1h: boolean },
    outcome: OutcomeChange | null,
    account: AccountChange,
  ): IpHistory | null {
    const table = this.#table;
    const { hostLow: low, hostHigh: high } = keys;
    const { nowMs, eventType } = event;
    const record = table.take(low, high, KIND_ADDRESS, nowSeconds);
    if (record === 0) return null;
    const rest = table.restSeconds;
    const isPayment = isPayingStep(eventType);
    const isStep = ACCOUNT_STEPS.has(eventType);
    if (outcome !== null) this.#count(record, keys, outcome, account);
    const outcomes = isStep && this.#has(record, FLAG_OUTCOMES) ? this.#outcomes.read(low, high, nowMs) : 0;
    const hasOutcomes = outcomes !== 0;
    if (hasOutcomes) this.#accounts.read(outcomes, nowMs, this.#table.restSeconds);
    const { logins, payments } = this.#outcomes;
    const share10m = this.#share(this.#arrivals10m, record, arrives.arrives10m, isCold, nowMs, rest);
    const share1h = this.#share(this.#arrivals1h, record, arrives.arrives1h, isCold, nowMs, rest);
    const coldEntities1h = isCold
      ? this.#addCold(record, keys, nowMs)
      : isStep
        ? this.#countCold(record, keys, nowMs)
        : 0;
    const people = this.#peopleOf(keys, belongs, nowMs);
    const isByAccounts = coldEntities1h > COLD_TAKEN_MAX && customerAgeSeconds(table, keys, nowMs) >= DAY_SECONDS;
    const ofAccounts = isByAccounts ? coldEntities1h / (coldEntities1h + people) : 0;
    return {
      decisions1m: this.#decisions.add(record, low, high, nowMs, rest),
      coldLogins10m:
        isCold && eventType === 'login'
          ? this.#coldLogins.add(record, low, high, nowMs, rest)
          : this.#coldLogins.count(record, low, high, nowMs, rest),
      coldPayments1h:
        isCold && isPayment
          ? this.#coldPayments.add(record, low, high, nowMs, rest)
          : this.#coldPayments.count(record, low, high, nowMs, rest),
      coldShare10m: isByAccounts ? ofAccounts : share10m,
      coldShare1h: isByAccounts ? ofAccounts : share1h,
      signups24h: isStep ? this.#signupsOf(record, keys, eventType === 'signup', nowMs) : 0,
      coldEntities1h,
      accountsSucceeded24h: hasOutcomes ? logins.good : 0,
      knownAccountsSucceeded24h: hasOutcomes ? this.#accounts.good : 0,
      accountsFailing24h: hasOutcomes ? this.#accounts.bad : 0,
      loginsFailed24h: hasOutcomes ? logins.bad : 0,
      paid1h: hasOutcomes ? payments.good : 0,
      declined1h: hasOutcomes ? payments.bad : 0,
    };
  }

  /** Counts the outcome of an earlier event at the address. */
  count({ hostLow, hostHigh }: HostKey, outcome: OutcomeChange, account: AccountChange): void {
    const record = this.#table.find(hostLow, hostHigh, KIND_ADDRESS, Math.floor(outcome.nowMs / 1_000));
    if (record !== 0) this.#count(record, { hostLow, hostHigh }, outcome, account);
  }

  /** A login that succeeded counts as its account does: once a day. */
  #count(record: number, { hostLow, hostHigh }: HostKey, outcome: OutcomeChange, account: AccountChange): void {
    const table = this.#table;
    Atomics.or(table.words, record + AT_FLAGS, FLAG_OUTCOMES);
    const { isLogin, isBad, eventMs, nowMs } = outcome;
    const { succeeded, known, failing, failedAtMs } = account;
    const outcomes = this.#outcomes.change(hostLow, hostHigh, outcome, !isLogin || isBad || succeeded !== 0);
    if (outcomes === 0) return;
    this.#accounts.read(outcomes, nowMs, table.restSeconds);
    if (!isLogin) return;
    if (known !== 0) this.#accounts.change(outcomes, eventMs, nowMs, false, known > 0 ? 1 : -1);
    if (failing !== 0)
      this.#accounts.change(outcomes, failing > 0 ? eventMs : failedAtMs, nowMs, true, failing > 0 ? 1 : -1);
  }

  /**
   * Counts the accounts of the last hour that belong to the address. Choice: only from the second cold-start event of the hour on, or from
   * the fourth session, so that an office whose people came before its visitors is known; most addresses never have the record.
   */
  #peopleOf(keys: EventKeys, belongs: boolean, nowMs: number): number {
    const { coldMost, allMost } = this.#arrivals1h;
    if (coldMost <= 1 && allMost <= FEW_SESSIONS_MAX) return 0;
    const low = mix(keys.hostLow, keys.hostHigh, SALT_PEOPLE);
    const high = mix(keys.hostHigh, keys.hostLow, SALT_PEOPLE);
    if (!belongs) return coldMost > COLD_TAKEN_MAX ? this.#people.count(low, high, nowMs) : 0;
    return this.#people.see(low, high, setMemberOf(keys.entityHigh[keys.account] ?? 0), nowMs);
  }

  #share(arrivals: Arrivals, record: number, arrives: boolean, isCold: boolean, nowMs: number, rest: number): number {
    const share = arrivals.share(record, nowMs, rest);
    if (!arrives && !isCold) return share;
    arrivals.add(record, isCold, nowMs, arrives);
    return arrivals.share(record, nowMs, 0);
  }

  #signupsOf(record: number, keys: EventKeys, isSignup: boolean, nowMs: number): number {
    if (isSignup) Atomics.or(this.#table.words, record + AT_FLAGS, FLAG_SIGNUPS);
    return this.#has(record, FLAG_SIGNUPS) ? this.#signups.observe(keys, isSignup, nowMs) : 0;
  }

  #addCold(record: number, keys: EventKeys, nowMs: number): number {
    Atomics.or(this.#table.words, record + AT_FLAGS, FLAG_COLD);
    let most = 0;
    for (let n = 0; n < keys.entities; n++) {
      const member = setMemberOf(keys.entityHigh[n] ?? 0);
      most = Math.max(most, this.#coldEntities.see(lowOf(keys, n), highOf(keys, n), member, nowMs));
    }
    return most;
  }

  #countCold(record: number, keys: EventKeys, nowMs: number): number {
    if (!this.#has(record, FLAG_COLD)) return 0;
    const { coldMost } = this.#arrivals1h;
    if (coldMost <= COLD_TAKEN_MAX) return coldMost;
    let most = 0;
    for (let n = 0; n < keys.entities; n++) {
      most = Math.max(most, this.#coldEntities.count(lowOf(keys, n), highOf(keys, n), nowMs));
    }
    return most;
  }

  #has(record: number, flag: number): boolean {
    return ((this.#table.words[record + AT_FLAGS] ?? 0) & flag) !== 0;
  }
}

/** Whose event it is. */
export interface Belonging {
  /** It opens its session, and no entity was seen on the network before. */
  readonly isCold: boolean;
  /** Its account came from the network over an hour ago, or settled elsewhere in the area long ago. */
  readonly belongs: boolean;
}

function lowOf({ hostLow, nameHash }: EventKeys, n: number): number {
  return mix(hostLow, nameHash[n] ?? 0, SALT_COLD);
}

function highOf({ hostHigh, nameHash }: EventKeys, n: number): number {
  return mix(hostHigh, nameHash[n] ?? 0, SALT_COLD);
}
