import type { CustomerNumber } from '../kernel/brand.ts';
import { addressOf, hasSession } from '../risk/decision-record.ts';
import { readIp } from '../risk/signals/ip.ts';

/** Why rules about addresses cannot work for a customer: most of its decisions carry one address, or no public one. */
export type AddressWarning = 'one_address' | 'no_public_address';

const HOUR_MS = 3_600_000;
/** Choice: below it an hour says nothing: one office, or one person who tests. */
const DECISIONS_MIN = 200;
const SHARE_MIN = 0.8;
/** Choice: of a busy customer one decision in sixteen is looked at; shares stay exact to a few per cent. */
const ALL_UNTIL = 1_024;
const EVERY = 16;
/** Choice: 2 MB; further customers get no warning. */
const CUSTOMERS_MAX = 16_384;

/** The decisions of one customer in an hour. */
interface HourOfAddresses {
  hour: number;
  seen: number;
  /** Those that were looked at. */
  decisions: number;
  withoutPublic: number;
  /** The most frequent address so far, by majority vote, and its decisions since it became that. */
  address: string;
  votes: number;
  ofAddress: number;
  /** What the hour before said. */
  before: AddressWarning | null;
}

/**
 * Notices customers whose backend sends the address of its own proxy: rules about addresses are then off (a private address), or take all
 * people for one (a CDN's). Counts the decisions of secret keys with a session token, since this process started; each node its own.
 */
export class AddressShares {
  readonly #hours = new Map<CustomerNumber, HourOfAddresses>();

  /** Counts a decision by its record. Called after the response was sent. */
  count(customer: CustomerNumber, record: Buffer, nowMs: number): void {
    const hour = Math.floor(nowMs / HOUR_MS);
    let own = this.#hours.get(customer);
    if (own === undefined) {
      if (this.#hours.size >= CUSTOMERS_MAX) return;
      own = emptyHour(hour, null);
      this.#hours.set(customer, own);
    } else if (own.hour !== hour) {
      own = emptyHour(hour, own.hour === hour - 1 ? judge(own) : null);
      this.#hours.set(customer, own);
    }
    if (own.seen++ >= ALL_UNTIL && own.seen % EVERY !== 0) return;
    if (hasSession(record)) look(own, addressOf(record));
  }

  /** Returns what the present hour says, or the last one while the present one has too few decisions. */
  warningOf(customer: CustomerNumber, nowMs: number): AddressWarning | null {
    const own = this.#hours.get(customer);
    const hours = own === undefined ? Number.POSITIVE_INFINITY : Math.floor(nowMs / HOUR_MS) - own.hour;
    if (own === undefined || hours > 1) return null;
    return own.decisions >= DECISIONS_MIN || hours === 1 ? judge(own) : own.before;
  }

  /** Returns the number of customers with a warning. */
  warnings(nowMs: number): number {
    let count = 0;
    for (const customer of this.#hours.keys()) if (this.warningOf(customer, nowMs) !== null) count++;
    return count;
  }
}

function emptyHour(hour: number, before: AddressWarning | null): HourOfAddresses {
  return { hour, seen: 0, decisions: 0, withoutPublic: 0, address: '', votes: 0, ofAddress: 0, before };
}

function look(own: HourOfAddresses, address: string | null): void {
  own.decisions++;
  if (address === null) own.withoutPublic++;
  else if (address === own.address) {
    own.votes++;
    own.ofAddress++;
    if (!isPublic(address)) own.withoutPublic++;
  } else {
    if (!isPublic(address)) own.withoutPublic++;
    if (own.votes > 0) own.votes--;
    else {
      own.address = address;
      own.votes = 1;
      own.ofAddress = 1;
    }
  }
}

function judge({ decisions, withoutPublic, ofAddress }: HourOfAddresses): AddressWarning | null {
  if (decisions < DECISIONS_MIN) return null;
  if (withoutPublic > SHARE_MIN * decisions) return 'no_public_address';
  return ofAddress > SHARE_MIN * decisions ? 'one_address' : null;
}

function isPublic(address: string): boolean {
  const ip = readIp(address);
  return ip.kind === 'valid' && ip.public;
}
