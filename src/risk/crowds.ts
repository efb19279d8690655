import { askedOnce } from '../kernel/asked-once.ts';

/** The velocity store's history of crowds: unknown accounts at a customer, at an address, in a network, with an agent, at a mail domain. */

/**
 * History of a customer's unknown accounts, for logins, sign-ups, payments, checkouts and events that ask for a code. An account is unknown
 * if it was never seen.
 */
export interface CrowdHistory {
  /** Since the customer's first login or sign-up. */
  readonly customerAgeSeconds: number;
  /**
   * For a login the networks with logins of unknown accounts in 10 min; for a sign-up the networks with sign-ups in 1 h; for an event that
   * asks an unknown account for a code the networks with such events in 10 min. Null for other events.
   */
  readonly surge: CrowdSurge | null;
  /**
   * The event's agent. Null if the account is known and does not sign up, if the agent is common among known accounts, and while too few
   * sessions of known accounts were counted.
   */
  readonly agent: AgentSurge | null;
  /** Logins at the event's address in 24 h. Null unless the event is a login, and until the second one of an unknown account. */
  readonly address: AddressStrangers | null;
  /** Logins in the event's network (/24, /48) in 1 h. Null unless the event is a login, and until the second cold-start login. */
  readonly network: NetworkColdLogins | null;
  /** Logins of the event's account. Null unless the event is a login, and until the second one in 1 h. */
  readonly account: AccountLogins | null;
  /** Sign-ups in the event's network (/24, /48). Null unless the event is a sign-up, and until the second one in 1 h. */
  readonly signups: NetworkSignups | null;
  /** Null unless the event is a sign-up with an e-mail. */
  readonly mailDomain: MailDomainHistory | null;
  /** Spellings of the event's mailbox in 30 days; 0 for a login, without an e-mail, and for an e-mail that is spelled like its mailbox. */
  readonly spellings30d: number;
}

/** Choice: a person takes longer to read a page or fill in a form; tools that request a page first wait for under 10 s. */
export const SLOW_MS = 20_000;

export interface CrowdSurge {
  /** Distinct networks (/24, /48). */
  readonly networks: number;
  /** The networks among them with sessions that began over 20 s before such an event; 0 for an event of a younger session. */
  readonly slowNetworks: number;
  /** The customer's own usual number at this time of the day, over the last 7 days. */
  readonly usual: number;
}

export interface AgentSurge {
  /** Distinct networks (/24, /48) of unknown accounts with exactly this agent and language in 1 h, at most 21. */
  readonly networks1h: number;
  /** Their share of all pairs of an agent and a network of unknown accounts in 1 h, 0 to 1. */
  readonly share: number;
  /** The agent's share of the sessions of known accounts, 0 to 1. */
  readonly usualShare: number;
}

export interface AddressStrangers {
  /** Logins of unknown accounts, and accounts that return to the address, each of which counts once. */
  readonly logins24h: number;
  readonly strangers24h: number;
  /** Share of the customer's logins on a usual day that are by unknown accounts, 0 to 1; 1 while nothing is known. */
  readonly usualShare: number;
}

export interface NetworkColdLogins {
  /** Cold-start logins, and accounts that return to the network, each of which counts once. */
  readonly logins1h: number;
  readonly cold1h: number;
  /** At most 13. */
  readonly addresses1h: number;
  /** Logins in the network with a known outcome; the successful ones of an account count once a day. */
  readonly failed1h: number;
  readonly succeeded1h: number;
  /** Share of cold-start logins on a usual day of the customer, 0 to 1; 1 while nothing is known. */
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
  /** Age of the customer's history when the domain was first seen: a domain is only new to a customer that already knew others. */
  readonly customerAgeThenSeconds: number;
}

/** Distinct values of one key that identifies a means of payment and not a person: a card, a gift card, a bank account. */
export interface ValuesHistory {
  /** The key's name, as the customer calls it. */
  readonly name: string;
  /** The largest number with one person, session or device. */
  readonly ofActor24h: number;
  /** Which of them has that number. */
  readonly actor: 'person' | 'session' | 'device';
  /** The number with one browser, by its own id; 0 without one. */
  readonly ofBrowser24h: number;
  readonly ofAddress24h: number;
}

export interface PagesHistory {
  readonly events10m: number;
  readonly events1h: number;
}

/** What is new about an entity; see `EntityHistory`. */
interface EntityNovelty {
  readonly isNew: boolean;
  readonly networkIsNew: boolean;
}

/** An e-mail as the velocity store counts it. */
export interface MailKey {
  readonly spelling: string;
  readonly canonical: string;
  readonly registrable: string;
}

/** Words in names of such keys, and words that exclude a name. Choice: what integrations commonly send. */
const VALUE_WORDS = /card|iban|bank_?account/i;
const NO_VALUE_WORDS = /holder|owner|type|brand|scheme|issuer|country|bin$|loyalty|member|id_?card|business/i;

/** Returns whether a key's values are means of payment and not people. */
export const isValueKey = askedOnce((name) => VALUE_WORDS.test(name) && !NO_VALUE_WORDS.test(name));

/**
 * Returns whether known accounts return to the login's address: unknown accounts made less than this share, 0 to 1, of its logins in 24 h.
 */
export function isReturnedTo({ address }: CrowdHistory, strangerShare: number): boolean {
  return address !== null && address.strangers24h < strangerShare * address.logins24h;
}

/** Returns whether the customer knows none of the entities on this network: each is unknown, or comes from another network. */
export function isNewOnNetwork({ entities }: { readonly entities: readonly EntityNovelty[] }): boolean {
  return entities.every(({ isNew, networkIsNew }) => isNew || networkIsNew);
}
