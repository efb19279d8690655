import type { FingerprintHash } from '../kernel/brand.ts';
import type { AgentProof, ClaimedAgent } from './signals/claimed-agent.ts';
import type { BrowserFamily, SystemFamily } from './signals/agent-families.ts';
import type { HistoryFacts, Networks } from './history.ts';
import type { Outcome } from './event-outcome.ts';
import type { ListFacts } from './lists/list-facts.ts';

/** A value that the customer sends with a request. Source: contract, 4.7. */
export type AttributeValue = number | string | boolean | readonly string[];

/**
 * All inputs of the rules for one request: gathered first, for the whole batch, and read-only from then on. `null` always means "not given"
 * or "the asset is missing"; a rule that needs the value stays quiet.
 */
export interface Facts {
  /** Lower case; `''` when none was given. */
  readonly eventType: string;
  /** The outcome of the event's action; null while unknown. */
  readonly outcome: Outcome | null;
  readonly ip: IpFacts | null;
  /** As sent, truncated at `USER_AGENT_CHARACTERS_MAX`; `''` is a user agent that was given and is empty. */
  readonly userAgent: string | null;
  readonly agent: AgentFacts | null;
  readonly url: string | null;
  readonly referrer: string | null;
  readonly token: TokenFacts;
  /** Null for a token without a grant. */
  readonly grant: GrantFacts | null;
  readonly fingerprintHash: FingerprintHash;
  readonly entities: readonly Entity[];
  /** The entities whose value looks like an e-mail, whatever their key name, in their order. */
  readonly emails: readonly EmailFacts[];
  /** Those that count: declared, of their declared type, and in a public request declared as public. */
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  /** Header names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly geo: GeoFacts | null;
  /** What the address proves about the crawler that the user agent names; null or absent when it names none or nothing can be known. */
  readonly agentProof?: AgentProof | null;
  /** The domain of an e-mail of a sign-up that is known to receive no mail; null or absent for none. */
  readonly deadMailDomain?: string | null;
  /** Null if no entry of the customer's own lists counts. */
  readonly list: ListFacts | null;
  readonly registry: RegistryFacts | null;
  /** Null when the velocity store was unavailable. */
  readonly history: HistoryFacts | null;
  /** The service's clock, Unix seconds. */
  readonly nowSeconds: number;
}

/** An identity that the customer tracks, for example `{ name: 'email', value: 'a@b.example' }`. */
export interface Entity {
  readonly name: string;
  readonly value: string;
}

/** Properties of an e-mail address. A pure function of the text, so it is cached by text. */
export interface EmailFacts {
  /** In lower case, without a `+tag`. */
  readonly local: string;
  /** In lower case and in ASCII (Punycode). */
  readonly domain: string;
  /** At a service for disposable mailboxes. */
  readonly disposable: boolean;
  /** At a provider where anybody opens mailboxes for nothing. */
  readonly free: boolean;
  /** The local part looks generated. False for addresses that a forwarding service generates for honest people. */
  readonly generated: boolean;
  /** As the customer sent it. */
  readonly text: string;
  /** In lower case, with its tag. */
  readonly spelling: string;
  /** The mailbox that all of its spellings reach. */
  readonly canonical: string;
  /** The domain without subdomains; the whole domain if it has no known suffix. */
  readonly registrable: string;
}

export type IpFacts =
  | { readonly kind: 'invalid' }
  | {
      readonly kind: 'valid';
      readonly version: 4 | 6;
      /** Canonical text; an IPv4-mapped IPv6 address is its IPv4 address. */
      readonly text: string;
      /** False for private, reserved, loopback, documentation and similar addresses. */
      readonly public: boolean;
      readonly networks: Networks;
    };

/** The session token: `none` (empty or blank), `opaque` (the customer's own text) or `collector` (made by the collector script). */
export type TokenFacts =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'opaque';
      /** It begins as the collector's tokens do and cannot be read. */
      readonly isBroken: boolean;
    }
  | {
      readonly kind: 'collector';
      /** False in minimal mode: the fingerprint is then the hash of the session id, and says nothing about a device. */
      readonly hasFingerprint: boolean;
      readonly sessionId: string;
      readonly issuedAtSeconds: number;
      readonly signals: TokenSignals;
      /** The hash of the browser's own id, as lists hold it; null for a token without one. Source: contract, 17.4. */
      readonly browserHash: FingerprintHash | null;
    };

/** What the grant of a collector token shows. Source: contract, 17.3. */
export interface GrantFacts {
  /**
   * Why the token is not one that a page of the customer made within the life of its grant; null if it is. `signature`: the grant or the
   * token was altered or made up. `customer`, `origin`: the grant belongs to another customer or page. `expired`: the grant is too old.
   */
  readonly fault: 'signature' | 'customer' | 'origin' | 'expired' | null;
  /** The grant was issued to another network (/24, /48) of the same IP version; false if either is unknown. */
  readonly isOtherNetwork: boolean;
}

/** What the collector observed in the browser. Written by the client: it informs rules, but never causes a BLOCK alone. */
export interface TokenSignals {
  readonly webdriver: boolean | null;
  readonly pluginCount: number | null;
  readonly languages: readonly string[] | null;
  readonly platform: string | null;
  readonly touchPoints: number | null;
  readonly screenWidth: number | null;
  readonly screenHeight: number | null;
  readonly timeZone: string | null;
  readonly mobileHint: boolean | null;
  readonly platformHint: string | null;
  /** Codes of traces of automation; unknown ones are kept. */
  readonly automation: readonly string[] | null;
  readonly keyRhythm: KeyRhythm | null;
  /** The kind of app that shows the page in a view of its own. */
  readonly webView: string | null;
}

/** The gaps between keys that were pressed on the page: their number, mean and standard deviation in milliseconds. */
export interface KeyRhythm {
  readonly gaps: number;
  readonly meanMs: number;
  readonly deviationMs: number;
}

/** Properties of the sender according to its user agent. A pure function of the text, so it is cached by text. */
export interface AgentFacts {
  /** Name of a known crawler or bot, else null. */
  readonly bot: string | null;
  /** Name of an HTTP library or command-line tool, else null. */
  readonly httpLibrary: string | null;
  /** The automation marker found, else null. */
  readonly headless: string | null;
  /** Name of a known AI crawler or assistant, else null. */
  readonly aiAgent: string | null;
  /** A program that is neither a browser nor one of a known name: mostly an app's own HTTP stack. */
  readonly appStack: string | null;
  readonly browser: BrowserFamily;
  readonly browserMajor: number | null;
  /** When that major version was released, Unix seconds; null when unknown. */
  readonly browserReleasedAtSeconds: number | null;
  readonly system: SystemFamily;
  /** Hash of the whole text, 1 to 32,767. */
  readonly textHash: number;
  readonly form: 'desktop' | 'mobile' | 'tablet' | 'other';
  /** The crawler that the text names and whose operator publishes its addresses, else null or absent. */
  readonly claimed?: ClaimedAgent | null;
}

/** Properties of the address according to the GeoIP databases. */
export interface GeoFacts {
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string | null;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly accuracyKm: number | null;
  readonly asn: number | null;
  readonly organisation: string | null;
  readonly tor: boolean;
  readonly proxy: boolean;
  readonly residentialProxy: boolean;
  readonly hosting: boolean;
  readonly vpn: boolean;
  readonly relay: boolean;
  /** A database of anonymisers is in use, so that `false` in the flags above means that the address is none. */
  readonly anonymisersKnown?: boolean;
  /** The operator whose published ranges of crawlers have the address, as the feeds name it, for example `google`. */
  readonly crawler?: string;
}

/** The shared registry's entry; null for a fingerprint that is not in it. */
export interface RegistryFacts {
  /** 0 to 100, after its half-life. */
  readonly risk: number;
  /** Distinct customers that have seen it. */
  readonly customers: number;
}
