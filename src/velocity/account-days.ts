import type { Table } from './table.ts';

/**
 * Where an account's logins were counted lately, in word 1 of its outcome record, so that each counts once a day and address, however often
 * it is repeated:
 *
 *   0-3 day of the last success   4-11, 12-19 two addresses where it succeeded on that day: 5 bits of the address, 2 how often, 1 known
 *   20-24 third of a day of the last failure   25-29 its address   30-31 how often
 *
 * An address is 0 where nothing was counted. 3 means three times or more; it is not corrected further down. Days repeat after 16 days,
 * thirds after 10: an account that comes again exactly then is not counted once.
 *
 * Choice: two addresses, because people log in at home and at work; a few accounts cannot be used at hundreds of addresses. Two addresses
 * are taken for one in 1 of 31 cases; the second then counts nothing.
 */
const AT_WORD = 1;
const DAY_MS = 86_400_000;
/** `address-record.ts` counts failing accounts in thirds of a day as well. */
export const FAILING_PART_MS = DAY_MS / 3;
const FAILING_PARTS = 3;
const DAY_MASK = 15;
const SLOTS = [4, 12] as const;
const SLOT_MASK = 255;
const SUCCESS_MASK = (1 << 20) - 1;
const EPOCH_SHIFT = 20;
const EPOCH_MASK = 31;
const FAILURE_SHIFT = 25;
const HOST_MASK = 31;
const TIMES_SHIFT = 5;
const TIMES_MAX = 3;
const KNOWN = 1 << 7;
const TRIES_MAX = 16;

/** What one outcome of a login changes in the counts of accounts. */
export interface AccountChange {
  /** Accounts that succeeded at the address: 1, 0 or -1. */
  succeeded: number;
  /** The same for accounts that are known from an earlier day or from another network. */
  known: number;
  /** Accounts that failed at the address and have not succeeded there: 1, 0 or -1. */
  failing: number;
  /** When the failure happened that `failing` -1 reverts. */
  failedAtMs: number;
}

export interface AccountLogin {
  readonly hostHigh: number;
  readonly isKnown: boolean;
  readonly isBad: boolean;
  readonly by: 1 | -1;
  readonly eventMs: number;
}

/** Counts a login's outcome in the account's outcome record, or reverts it, and fills `change`. */
export function countAccountLogin(
  { words }: Table,
  record: number,
  login: AccountLogin,
  change: AccountChange,
): AccountChange {
  for (let n = 0; n < TRIES_MAX; n++) {
    const word = words[record + AT_WORD] ?? 0;
    change.succeeded = 0;
    change.known = 0;
    change.failing = 0;
    const next = login.isBad ? afterFailure(word, login, change) : afterSuccess(word, login, change);
    if (next === word || Atomics.compareExchange(words, record + AT_WORD, word, next) === word) break;
  }
  return change;
}

function afterSuccess(word: number, login: AccountLogin, change: AccountChange): number {
  const shift = slotOf(word, login);
  if (login.by === -1) return shift < 0 ? word : afterOneLess(word, shift, change);
  let next = word;
  if (shift >= 0) {
    const times = ((word >>> shift) >>> TIMES_SHIFT) & TIMES_MAX;
    if (times < TIMES_MAX) next += 1 << (shift + TIMES_SHIFT);
  } else {
    const today = isOfDay(word, login) ? word : ((word & ~SUCCESS_MASK) | dayOf(login)) >>> 0;
    const free = SLOTS.find((at) => ((today >>> at) & SLOT_MASK) === 0);
    if (free !== undefined) {
      change.succeeded = 1;
      change.known = login.isKnown ? 1 : 0;
      next = today | ((hostOf(login) | (1 << TIMES_SHIFT) | (login.isKnown ? KNOWN : 0)) << free);
    }
  }
  return withoutFailure(next >>> 0, login, change);
}

function afterOneLess(word: number, shift: number, change: AccountChange): number {
  const slot = (word >>> shift) & SLOT_MASK;
  const times = (slot >>> TIMES_SHIFT) & TIMES_MAX;
  if (times === TIMES_MAX) return word;
  if (times > 1) return (word - (1 << (shift + TIMES_SHIFT))) >>> 0;
  change.succeeded = -1;
  change.known = (slot & KNOWN) === 0 ? 0 : -1;
  return (word & ~(SLOT_MASK << shift)) >>> 0;
}

function afterFailure(word: number, login: AccountLogin, change: AccountChange): number {
  const times = isFailingAt(word, login) ? word >>> 30 : 0;
  if (login.by === -1) {
    if (times === 0 || times === TIMES_MAX) return word;
    return times > 1 ? (word - (1 << 30)) >>> 0 : withoutFailure(word, login, change);
  }
  if (times > 0) return times < TIMES_MAX ? (word + (1 << 30)) >>> 0 : word;
  if (slotOf(word, login) >= 0) return word;
  change.failing = 1;
  const epoch = Math.floor(login.eventMs / FAILING_PART_MS) & EPOCH_MASK;
  return ((word & SUCCESS_MASK) | (epoch << EPOCH_SHIFT) | (hostOf(login) << FAILURE_SHIFT) | (1 << 30)) >>> 0;
}

function withoutFailure(word: number, login: AccountLogin, change: AccountChange): number {
  if (!isFailingAt(word, login)) return word;
  change.failing = -1;
  change.failedAtMs = (Math.floor(login.eventMs / FAILING_PART_MS) - partsSince(word, login)) * FAILING_PART_MS;
  return word & SUCCESS_MASK;
}

/** Returns where the account's success at the login's address is counted, as a shift; -1 if it is not. */
function slotOf(word: number, login: AccountLogin): number {
  if (!isOfDay(word, login)) return -1;
  return SLOTS.find((shift) => ((word >>> shift) & HOST_MASK) === hostOf(login)) ?? -1;
}

function isOfDay(word: number, login: AccountLogin): boolean {
  return (word & DAY_MASK) === dayOf(login);
}

function dayOf({ eventMs }: AccountLogin): number {
  return Math.floor(eventMs / DAY_MS) & DAY_MASK;
}

function isFailingAt(word: number, login: AccountLogin): boolean {
  return ((word >>> FAILURE_SHIFT) & HOST_MASK) === hostOf(login) && partsSince(word, login) < FAILING_PARTS;
}

/** An event may be a little older than the last one that was counted. */
function partsSince(word: number, { eventMs }: AccountLogin): number {
  const parts = (Math.floor(eventMs / FAILING_PART_MS) - (word >>> EPOCH_SHIFT)) & EPOCH_MASK;
  return parts === EPOCH_MASK ? 0 : parts;
}

function hostOf({ hostHigh }: AccountLogin): number {
  return hostHigh & HOST_MASK || 1;
}
