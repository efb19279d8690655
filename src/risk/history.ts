import type { CustomerNumber } from '../kernel/brand.ts';
import type { BrowserFamily, SystemFamily } from './signals/agent-families.ts';
import type { CrowdHistory, MailKey, PagesHistory, ValuesHistory } from './crowds.ts';
import type { Outcome } from './event-outcome.ts';

/**
 * The velocity store's history of the subjects of a request: its session, its address, its entities, its device. Every count includes the
 * present event. Counts belong to the customer; public and secret keys are counted separately. Windows slide, on the service's clock.
 */
export interface HistoryFacts {
  /** Since the customer's first login or sign-up; until it has one, since its first event. */
  readonly customerAgeSeconds: number;
  readonly session: SessionHistory;
  /** Null without a public address. */
  readonly ip: IpHistory | null;
  /** One for each entity that is counted (ignored keys are not), in the order of the request. */
  readonly entities: readonly EntityHistory[];
  /** Context of the account among the entities; null without one, and while none of its contexts is known. */
  readonly context: ContextHistory | null;
  /** Null without a collector's fingerprint. */
  readonly device: DeviceHistory | null;
  /** Surge of failed logins for a login, of declined payments for a payment or checkout; null for other events, and without any outcome. */
  readonly surge: SurgeHistory | null;
  /** Unknown accounts as a group, for logins, sign-ups, payments, checkouts and events that ask for a code; null for other events. */
  readonly crowd: CrowdHistory | null;
  /** Payment cards and accounts; null for an event that names none. */
  readonly values: ValuesHistory | null;
  /** What orders of the customer usually cost; null for an event without an amount. */
  readonly amounts: AmountHistory | null;
  /** Values of the customer's own counters by id; absent where the event does not have whom a counter is about. */
  readonly counters: ReadonlyMap<number, number>;
  /** A request with the same collector token, or with over 100 later ones of its page, was decided before. */
  readonly isTokenReplayed: boolean;
  /** Identifies the event for `settle`; null if outcomes of such events change nothing. */
  readonly trace: Trace | null;
}

/** The amount of an order beside those of the customer's earlier orders with the same event type and currency. */
export interface AmountHistory {
  readonly value: number;
  /** The median, within a fifth; 0 if nothing is known. */
  readonly usual: number;
  /** Amounts that the median is of, some 2,000 to 4,000 at most. */
  readonly known: number;
}

/** Failures at the same time over all of a customer's events. */
export interface SurgeHistory {
  /** Distinct networks (/24, /48) with a bad outcome in 10 min. */
  readonly networks10m: number;
  /** The customer's own usual number at this time of the day, over the last 7 days; 0 if nothing is known. */
  readonly usual: number;
  /** Bad outcomes divided by all outcomes in 10 min, 0 to 1. */
  readonly badShare10m: number;
}

/** Opaque bytes: keyed hashes of the subjects of an event, and what it added. Valid until the next batch is observed. */
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
  /** Payments and checkouts in 1 h with a known outcome. */
  readonly paid1h: number;
  readonly declined1h: number;
  /** Rhythm of the last events, which are kept individually; null with too few of them. */
  readonly rhythm: Rhythm | null;
  /** Null while the session has few events. */
  readonly pages: PagesHistory | null;
  /** The previous event came from another network (/24, /48); false if either is unknown. */
  readonly networkChanged: boolean;
  /** The country of the session's last previous event that had one; null without one. */
  readonly previousCountry: string | null;
  /** Since that event; 0 without one. */
  readonly previousCountryAgeSeconds: number;
  /** Distinct networks (/16, /32) in 1 h. */
  readonly regions1h: number;
  /** The previous event came from another browser or another system; false if either is unknown. */
  readonly agentChanged: boolean;
  /**
   * Both the browser or system and the region (/16, /32) differ from those of the session's first event; false if any of them is unknown.
   */
  readonly leftItsOrigin: boolean;
}

export interface Rhythm {
  readonly events: number;
  /** Standard deviation of the gaps between them, divided by their mean; 0 is perfectly regular. */
  readonly variation: number;
}

/** History of the address; an IPv6 address is represented by its /64. */
export interface IpHistory {
  readonly decisions1m: number;
  /** All sign-ups, cold starts or not. */
  readonly signups24h: number;
  readonly coldLogins10m: number;
  /** Payments and checkouts. */
  readonly coldPayments1h: number;
  /** Distinct entities of cold-start events, the largest number over the entity key names. */
  readonly coldEntities1h: number;
  /**
   * How much of what happens at the address is cold starts, 0 to 1; 0 without any. From the customer's second day on the share of cold
   * entities among them and the accounts that belong there, in 1 h: those that came from the network over an hour ago, and those that
   * settled in the area long ago. Each account counts once. Before, the share of the address's sessions in the window.
   */
  readonly coldShare10m: number;
  readonly coldShare1h: number;
  /** Accounts whose logins are known to have succeeded in 24 h. Each counts once a day. */
  readonly accountsSucceeded24h: number;
  /** Those among them that were known from an earlier day or from another network. */
  readonly knownAccountsSucceeded24h: number;
  /** Accounts whose logins failed in 24 h and have not succeeded there since. */
  readonly accountsFailing24h: number;
  /** Logins in 24 h that are known to have failed. */
  readonly loginsFailed24h: number;
  /** Payments and checkouts in 1 h with a known outcome. */
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
  /** A login of it is reported to have succeeded on this device, or on this network with this agent. */
  readonly hasSucceededHere: boolean;
  /** Nothing is known of it but failed logins. */
  readonly isNew: boolean;
  /** The event's network (/24, /48) was not seen with this entity before; false if it is unknown. */
  readonly networkIsNew: boolean;
  /** The event's agent is not one of the entity's last three; false if it is unknown. */
  readonly agentIsNew: boolean;
  /** Since the entity was first seen; 0 at its first event. */
  readonly knownForSeconds: number;
  /** The request has a collector's fingerprint that was not seen with this entity before. */
  readonly deviceIsNew: boolean;
  /** Other locations of the entity, newest first; the location of the present event is excluded. */
  readonly places: readonly PlaceHistory[];
  /** The entity was first seen near the location of the present event over 24 h ago. */
  readonly placeIsFamiliar: boolean;
}

/**
 * Whether the account had the attribute before: for over a day, in its first session, or confirmed by a passed challenge. `unknown` if the
 * event does not have it.
 */
export type Familiarity = 'known' | 'new' | 'unknown';

/** The context of an event, compared with those in which the account was used so far. */
export interface ContextHistory {
  /** The key name of the entity that represents the account. */
  readonly name: string;
  /** Sessions of the account, excluding this one if this is its first event. */
  readonly sessions: number;
  /**
   * How much less likely agent and location are for this account than for all of the customer's accounts: a logarithm to the base 10,
   * lowered by attributes that are known. 0 while fewer than two of device, network and location are new, and in the first 30 min of the
   * account.
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
  /** The location; without one, the /16 or /32 of the address. */
  readonly place: Familiarity;
  /** Compared with the two countries that the account used most. */
  readonly country: Familiarity;
}

export interface PlaceHistory {
  readonly latitude: number;
  readonly longitude: number;
  /** Accuracy radius of the location according to the database, km. */
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
  /** Distinct entities on this fingerprint in 24 h, the largest number over the entity key names. */
  readonly entities24h: number;
  /** Distinct networks (/24, /48) that this fingerprint came from in 24 h. */
  readonly networks24h: number;
  /** Distinct days (UTC) with this fingerprint, today included, as long as the velocity store has kept it. */
  readonly days: number;
  /** Too many networks for one device: a fingerprint shared by the owners of a phone model, for example. */
  readonly isCommon: boolean;
  /** The browser by its own id; null without one, and for an id that too many networks use. */
  readonly browser: BrowserHistory | null;
}

/** One browser, which the collector recognises by an id that it has stored there. */
export interface BrowserHistory {
  /** Distinct entities in this browser in 24 h, the largest number over the entity key names. */
  readonly entities24h: number;
  /** Distinct networks (/24, /48) that it came from in 24 h. */
  readonly networks24h: number;
  /** The account of the event knows the browser by its id, as `ContextHistory.device` says. */
  readonly isOfAccount: boolean;
}

/** One decision as input of the velocity store. */
export interface HistoryEvent {
  readonly customer: CustomerNumber;
  readonly publicKey: boolean;
  readonly nowMs: number;
  /** Lower case. */
  readonly eventType: string;
  /** The collector token's session, else the token's hash. */
  readonly sessionId: string;
  /** Null unless the address is public. */
  readonly networks: Networks | null;
  readonly country: string | null;
  /** Location of the person according to the address; null for relays and VPNs, whose location is not the person's. */
  readonly place: Place | null;
  readonly agent: { readonly browser: BrowserFamily; readonly system: SystemFamily } | null;
  /** System, browser and language in 8 bits; 0 if the agent is unknown. */
  readonly agentHash: number;
  /** The whole user agent in 15 bits; 0 without one. */
  readonly exactAgentHash: number;
  /** Exact hash of agent and first language; 0 if the agent is unknown, and for events other than logins and sign-ups. */
  readonly agentLanguageHash: number;
  /** The first e-mail of the event; null without one. */
  readonly mail: MailKey | null;
  readonly outcome: Outcome | null;
  /** Excludes those whose key identifies no person. An e-mail is represented by its mailbox, however it is spelled. */
  readonly entities: readonly { readonly name: string; readonly value: string }[];
  /** A collector's fingerprint; null for one that was derived from the token, which changes with every session. */
  readonly device: string | null;
  /** The hash of the browser's own id; null without one, and without a collector's fingerprint. */
  readonly browser: string | null;
  /** Null unless a page of the customer signed the token with a grant. */
  readonly grant: NonceUse | null;
  /** Amount of a payment or checkout, over 0, and its currency (ISO 4217), `''` without one; null without an amount. */
  readonly amount: { readonly value: number; readonly currency: string } | null;
  /** The customer's own counters that the event has a subject for. */
  readonly counters: readonly EventCounter[];
}

/** Their order is part of the format of exchanged events, as that of the kinds. */
export const COUNTER_WINDOWS = ['10m', '1h', '24h', '7d', '30d'] as const;
export type CounterWindow = (typeof COUNTER_WINDOWS)[number];
export const COUNTER_KINDS = ['count', 'distinct', 'sum'] as const;
export type CounterKind = (typeof COUNTER_KINDS)[number];

/** What an event says to one of the customer's own counters. */
export interface EventCounter {
  /** Hash of name and declaration, 32 bits: a changed counter begins from zero. */
  readonly id: number;
  readonly kind: CounterKind;
  readonly window: CounterWindow;
  /** For whom it counts. */
  readonly subject: string;
  /** False: the counter's condition does not hold, or what it counts is absent, so it is only read. */
  readonly counts: boolean;
  /** What a `distinct` counts; `''` for others. */
  readonly member: string;
  /** What a `sum` adds; 0 for others. */
  readonly value: number;
}

export const NO_COUNTERS: readonly EventCounter[] = [];

/** One token of a nonce. */
export interface NonceUse {
  /** 64 random bits. */
  readonly nonceLow: number;
  readonly nonceHigh: number;
  readonly seq: number;
}

export interface Place {
  readonly latitude: number;
  readonly longitude: number;
  readonly accuracyKm: number;
}

/** The address and the networks around it, as keys for counting. */
export interface Networks {
  /** The IPv4 address, or the IPv6 /64. */
  readonly host: string;
  /** /24 or /48. */
  readonly site: string;
  /** /16 or /32. */
  readonly region: string;
}
