import type { CustomerNumber } from '../base/brand.ts';
import type { BrowserFamily, SystemFamily } from './facts.ts';

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
  /** null without a collector's fingerprint. */
  readonly device: DeviceHistory | null;
}

export interface SessionHistory {
  /** Nothing was known of the session before this event. */
  readonly isFirstEvent: boolean;
  /** Since the first known event; 0 for the first itself. */
  readonly ageMs: number;
  readonly decisions1m: number;
  readonly payments1h: number;
  /** Of the last events that are kept one by one; null with too few of them to say. */
  readonly rhythm: Rhythm | null;
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
  /** Since the entity was first seen; 0 at its first event. */
  readonly knownForSeconds: number;
  /** The request has a collector's fingerprint, and it was not seen with this entity before. */
  readonly deviceIsNew: boolean;
  /** Where else the entity has been, newest first; the place of the present event is not among them. */
  readonly places: readonly PlaceHistory[];
  /** The entity was near the place of the present event before the last 24 h. */
  readonly placeIsFamiliar: boolean;
}

export interface PlaceHistory {
  readonly latitude: number;
  readonly longitude: number;
  /** Radius within which the database vouches for the place, km. */
  readonly accuracyKm: number;
  readonly country: string | null;
  /** Since the entity was last seen there. */
  readonly ageSeconds: number;
  /** It was last seen there in the session of the present event. */
  readonly sameSession: boolean;
}

export interface DeviceHistory {
  /** Distinct entities on this fingerprint in 24 h, the largest number over the names of entity keys. */
  readonly entities24h: number;
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
  /** Without those whose key names no person. */
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
