import type { CustomerNumber } from '../base/brand.ts';
import type { CrowdHistory, MailKey, PagesHistory, ValuesHistory } from './crowds.ts';
import type { BrowserFamily, SystemFamily } from './facts.ts';
import type { Outcome } from './outcome.ts';

/**
 * What the service remembers of those who take part in a request: its session, its address, its entities, its device. Every
 * count holds the present event. Counts belong to the customer, and those of its public keys are apart from those of its secret
 * keys. Windows slide, on the service's clock.
 */
export interface HistoryFacts {
  readonly session: SessionHistory;
  /** null without a public address. */
  readonly ip: IpHistory | null;
  /** One for each entity that is counted (ignored keys are not), in the order of the request. */
  readonly entities: readonly EntityHistory[];
  /** Of the account among the entities; null without one, and while none of its contexts is known. */
  readonly context: ContextHistory | null;
  /** null without a collector's fingerprint. */
  readonly device: DeviceHistory | null;
  /** Of failed logins for a login, of declined payments for a payment or checkout; null for other events, and without any outcome. */
  readonly surge: SurgeHistory | null;
  /** Of strangers, for logins, sign-ups, payments and checkouts; null for other events. */
  readonly crowd: CrowdHistory | null;
  /** Of cards and accounts to pay from; null for an event that names none. */
  readonly values: ValuesHistory | null;
  /** By what `settle` finds the event again; null where outcomes of such events change nothing. */
  readonly trace: Trace | null;
}

/** What fails at all of a customer's at the same time. */
export interface SurgeHistory {
  /** Distinct networks (/24, /48) with a bad outcome in 10 min. */
  readonly networks10m: number;
  /** What that number usually is at this time of the day: the customer's own, over the last 7 days; 0 where nothing is known. */
  readonly usual: number;
  /** Share of bad ones among all outcomes in 10 min, 0 to 1. */
  readonly badShare10m: number;
}

/** Opaque bytes: keyed hashes of those who took part in an event, and what it taught. Good until the next batch is observed. */
export interface Trace {
  readonly bytes: Uint8Array;
  readonly length: number;
}

export interface SessionHistory {
  /** Nothing was known of the session before this event. */
  readonly isFirstEvent: boolean;
  /** Since the first known event; 0 for the first itself. */
  readonly ageMs: number;
  readonly decisions1m: number;
  readonly payments1h: number;
  /** Of its payments and checkouts in 1 h, as far as their outcomes are known. */
  readonly paid1h: number;
  readonly declined1h: number;
  /** Of the last events that are kept one by one; null with too few of them to say. */
  readonly rhythm: Rhythm | null;
  /** null while the session has few events. */
  readonly pages: PagesHistory | null;
  /** The event before came from another network (/24, /48); false where either is not known. */
  readonly networkChanged: boolean;
  /** The country of the last event of the session that had one, this one left out; null without one. */
  readonly previousCountry: string | null;
  /** Since that event; 0 where there is none. */
  readonly previousCountryAgeSeconds: number;
  /** Distinct networks (/16, /32) in 1 h. */
  readonly regions1h: number;
  /** The event before came from another browser or another system; false where either is not known. */
  readonly agentChanged: boolean;
  /** Browser or system, and region (/16, /32), are both others than at the session's first event; false where any is not known. */
  readonly leftItsOrigin: boolean;
}

export interface Rhythm {
  readonly events: number;
  /** Standard deviation of the gaps between them, divided by their mean; 0 is a metronome. */
  readonly variation: number;
}

/** Of the address; an IPv6 address stands for its /64. */
export interface IpHistory {
  readonly decisions1m: number;
  /** Sign-ups, cold or not. */
  readonly signups24h: number;
  readonly coldLogins10m: number;
  /** Payments and checkouts. */
  readonly coldPayments1h: number;
  /** Distinct entities of cold events, the largest number over the names of entity keys. */
  readonly coldEntities1h: number;
  /** Share of the address's sessions in the window that are cold, 0 to 1; 0 without a session. */
  readonly coldShare10m: number;
  readonly coldShare1h: number;
  /** Of its logins in 24 h, as far as their outcomes are known. */
  readonly loginsSucceeded24h: number;
  readonly loginsFailed24h: number;
  /** Of its payments and checkouts in 1 h, as far as their outcomes are known. */
  readonly paid1h: number;
  readonly declined1h: number;
}

export interface EntityHistory {
  /** The entity's key name, as the customer calls it. */
  readonly name: string;
  readonly decisions1m: number;
  readonly payments1h: number;
  /** Distinct collector fingerprints. */
  readonly devices24h: number;
  /** Distinct networks (/24, /48). */
  readonly networks1h: number;
  readonly countries24h: number;
  readonly loginsFailed1h: number;
  /** Payments and checkouts. */
  readonly declined1h: number;
  /** A login of it succeeded on this device, or on this network with this agent, as far as outcomes were reported. */
  readonly hasSucceededHere: boolean;
  /** Nothing is remembered of it but logins that failed. */
  readonly isNew: boolean;
  /** The event's network (/24, /48) was not seen with this entity before; false where it is not known. */
  readonly networkIsNew: boolean;
  /** The event's agent is none of the entity's last three; false where it is not known. */
  readonly agentIsNew: boolean;
  /** Since the entity was first seen; 0 at its first event. */
  readonly knownForSeconds: number;
  /** The request has a collector's fingerprint, and it was not seen with this entity before. */
  readonly deviceIsNew: boolean;
  /** Where else the entity has been, newest first; the place of the present event is not among them. */
  readonly places: readonly PlaceHistory[];
  /** The entity was near the place of the present event before the last 24 h. */
  readonly placeIsFamiliar: boolean;
}

/**
 * Whether the account had something before: for over a day, in its first session, or confirmed by a challenge that was passed.
 * `unknown` where the event does not say.
 */
export type Familiarity = 'known' | 'new' | 'unknown';

/** The context of an event, held against those in which the account was used so far. */
export interface ContextHistory {
  /** The key name of the entity that stands for the account. */
  readonly name: string;
  /** Sessions of the account, this one left out if it is the first event of it. */
  readonly sessions: number;
  /**
   * How much less likely agent and place are for this account than for the customer's people: a logarithm to the base 10, lowered by what
   * is known. 0 while fewer than two of device, network and place are new, and in the first 30 min of the account.
   */
  readonly ratio: number;
  /** The collector's fingerprint. */
  readonly device: Familiarity;
  /** The whole text of the user agent. */
  readonly exactAgent: Familiarity;
  /** System, browser and language. */
  readonly agent: Familiarity;
  /** /24 or /48. */
  readonly network: Familiarity;
  /** The place; the /16 or /32 where the address has none. */
  readonly place: Familiarity;
  /** Of the two that the account used most. */
  readonly country: Familiarity;
}

export interface PlaceHistory {
  readonly latitude: number;
  readonly longitude: number;
  /** Radius within which the database vouches for the place, km. */
  readonly accuracyKm: number;
  readonly country: string | null;
  /** Since the entity was last seen there. */
  readonly ageSeconds: number;
  /** First seen there over 24 h ago. */
  readonly isFamiliar: boolean;
  /** It was last seen there in the session of the present event. */
  readonly sameSession: boolean;
}

export interface DeviceHistory {
  /** Distinct entities on this fingerprint in 24 h, the largest number over the names of entity keys. */
  readonly entities24h: number;
  /** Distinct networks (/24, /48) that this fingerprint came from in 24 h. */
  readonly networks24h: number;
  /** Distinct days (UTC) with this fingerprint, the present one included, as long as memory has kept it. */
  readonly days: number;
  /** So many networks that it cannot be one device: what a phone model's owners share, for example. */
  readonly isCommon: boolean;
}

/** One decision, as memory takes it in. */
export interface HistoryEvent {
  readonly customer: CustomerNumber;
  readonly publicKey: boolean;
  readonly nowMs: number;
  /** Lower case. */
  readonly eventType: string;
  /** The collector token's session, else the token's hash. */
  readonly sessionId: string;
  /** null unless the address is a public one. */
  readonly networks: Networks | null;
  readonly country: string | null;
  /** Where the person is, as far as the address tells; null for relays and VPNs, whose place is not the person's. */
  readonly place: Place | null;
  readonly agent: { readonly browser: BrowserFamily; readonly system: SystemFamily } | null;
  /** System, browser and language in 8 bits; 0 where the agent is not known. */
  readonly agentHash: number;
  /** The whole user agent in 15 bits; 0 where there is none. */
  readonly exactAgentHash: number;
  /** Agent and first language, exactly; 0 where the agent is not known, and for events other than logins and sign-ups. */
  readonly agentLanguageHash: number;
  /** The first e-mail of the event; null without one. */
  readonly mail: MailKey | null;
  readonly outcome: Outcome | null;
  /** Without those whose key names no person. An e-mail stands for its mailbox, however it is spelled. */
  readonly entities: readonly { readonly name: string; readonly value: string }[];
  /** A collector's fingerprint; null for one that was derived from the token, which changes with every session. */
  readonly device: string | null;
}

export interface Place {
  readonly latitude: number;
  readonly longitude: number;
  readonly accuracyKm: number;
}

/** The address and the networks around it, as texts to count by. */
export interface Networks {
  /** The IPv4 address, or the IPv6 /64. */
  readonly host: string;
  /** /24 or /48. */
  readonly site: string;
  /** /16 or /32. */
  readonly region: string;
}

/**
 * The memory of one installation. A port: the table in shared memory is the one for a single node.
 *
 * Takes in the events of a batch, in their order, and gives what is then known to each, in the same order. Direction of failure:
 * open; memory that cannot be asked gives null for an event, and rules about history stay quiet.
 */
export interface Velocity {
  observe(
    events: readonly HistoryEvent[],
  ): readonly (HistoryFacts | null)[] | Promise<readonly (HistoryFacts | null)[]>;
}

/** The same memory for those who report outcomes later. */
export interface OutcomeMemory {
  /** Counts an outcome in place of the one before, and takes back or confirms what the event taught of its entities. */
  settle(settled: SettledEvent): void;
}

/** A decision whose outcome is reported. */
export interface SettledEvent {
  readonly customer: CustomerNumber;
  readonly publicKey: boolean;
  /** As `observe` gave it. */
  readonly trace: Uint8Array;
  readonly occurredAtMs: number;
  readonly nowMs: number;
  /** The outcome that counted so far; null without one. */
  readonly before: Outcome | null;
  readonly outcome: Outcome;
}
