import { askedOnce } from '../base/asked-once.ts';
import type { HistoryFacts } from './history.ts';

/** What memory knows of crowds: strangers at a customer, at an address, in a network, with an agent, at a mail domain. */

/** Of a customer's strangers, as far as they concern a login, sign-up, payment or checkout. A stranger is an account never seen. */
export interface CrowdHistory {
  /** Since the customer's first login or sign-up. */
  readonly customerAgeSeconds: number;
  /**
   * Networks of strangers' logins in 10 min for a login, of sign-ups in 1 h for a sign-up, of strangers who are asked for a code in 10 min
   * for such an event; null for other events.
   */
  readonly surge: CrowdSurge | null;
  /** Of the event's agent; null unless it is a stranger's, for an agent that many known people have, and while too few of them are known. */
  readonly agent: AgentSurge | null;
  /** Logins at the event's address in 24 h; null unless it is a login, and until the second stranger. */
  readonly address: AddressStrangers | null;
  /** Logins in the event's network (/24, /48) in 1 h; null unless it is a login, and until the second cold one. */
  readonly network: NetworkColdLogins | null;
  /** Logins of the event's account; null unless it is a login, and until the second one in 1 h. */
  readonly account: AccountLogins | null;
  /** Sign-ups in the event's network (/24, /48); null unless it is a sign-up, and until the second one in 1 h. */
  readonly signups: NetworkSignups | null;
  /** null unless it is a sign-up with an e-mail. */
  readonly mailDomain: MailDomainHistory | null;
  /** Spellings of the event's mailbox in 30 days; 0 for a login, without an e-mail and for one that is spelled like its mailbox. */
  readonly spellings30d: number;
}

export interface CrowdSurge {
  /** Distinct networks (/24, /48). */
  readonly networks: number;
  /** What that number usually is at this time of the day: the customer's own, over the last 7 days. */
  readonly usual: number;
}

export interface AgentSurge {
  /** Distinct networks (/24, /48) of strangers with this very agent and language in 1 h, 21 at most. */
  readonly networks1h: number;
  /** These among all pairs of an agent and a network of strangers in 1 h, 0 to 1. */
  readonly share: number;
  /** Its share among sessions of known people, 0 to 1. */
  readonly usualShare: number;
}

export interface AddressStrangers {
  readonly logins24h: number;
  readonly strangers24h: number;
  /** Of the customer's logins on a usual day, 0 to 1; 1 while nothing is known. */
  readonly usualShare: number;
}

export interface NetworkColdLogins {
  readonly logins1h: number;
  readonly cold1h: number;
  readonly addresses1h: number;
  /** Share of cold logins on a usual day of the customer, 0 to 1; 1 while nothing is known. */
  readonly usualShare: number;
}

export interface NetworkSignups {
  readonly signups1h: number;
  readonly addresses1h: number;
  /** Distinct networks with sign-ups at the customer. */
  readonly networks1h: number;
}

export interface AccountLogins {
  /** The entity's key name, as the customer calls it. */
  readonly name: string;
  readonly logins1h: number;
}

export interface MailDomainHistory {
  readonly networks3d: number;
  /** Since the domain was first seen at this customer. */
  readonly knownForSeconds: number;
  /** How old the customer's memory was when the domain was first seen: a domain is only new to who knew others before. */
  readonly customerAgeThenSeconds: number;
}

/** Distinct values of one key that names no person: a card, a gift card, an account to pay from. */
export interface ValuesHistory {
  /** The key's name, as the customer calls it. */
  readonly name: string;
  /** The largest number with one person, session or device. */
  readonly ofActor24h: number;
  /** Whose it is. */
  readonly actor: 'person' | 'session' | 'device';
  readonly ofAddress24h: number;
}

export interface PagesHistory {
  readonly events10m: number;
  readonly events1h: number;
}

/** An e-mail as memory counts it. */
export interface MailKey {
  readonly spelling: string;
  readonly canonical: string;
  readonly registrable: string;
}

/** Words that names of such keys hold, and words that say that a name is not one. Choice: what integrations commonly send. */
const VALUE_WORDS = /card|iban|bank_?account/i;
const NO_VALUE_WORDS = /holder|owner|type|brand|scheme|issuer|country|bin$|loyalty|member|id_?card|business/i;

/** Whether a key's values are things to pay with and not people. */
export const isValueKey = askedOnce((name) => VALUE_WORDS.test(name) && !NO_VALUE_WORDS.test(name));

/** An address of the login to which people come back: fewer of its logins in 24 h are strangers' than the share, 0 to 1. */
export function isReturnedTo({ address }: CrowdHistory, strangerShare: number): boolean {
  return address !== null && address.strangers24h < strangerShare * address.logins24h;
}

/** Nobody whom the customer knows on this network: strangers, and accounts that come from elsewhere. */
export function isNewOnNetwork({ entities }: HistoryFacts): boolean {
  return entities.every(({ isNew, networkIsNew }) => isNew || networkIsNew);
}
