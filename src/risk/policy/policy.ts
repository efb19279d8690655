import { type AttributeDeclarations, DEFAULT_ATTRIBUTES } from './attributes.ts';
import type { CounterDeclarations } from './counter-declarations.ts';
import type { OwnRule } from './own-rule.ts';
import type { AgentPurpose } from '../../contract/vocabulary.ts';
import type { AgentAction } from '../signals/claimed-agent.ts';
/** `observe`: decisions are made and logged, but the response is ALLOW. Source: contract, 6.7. */
export const POLICY_MODES = ['enforce', 'observe'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** How the identities of a request are kept in the decision log: not at all, as keyed hashes, or also as a masked or the whole text. */
export const LOG_IDENTITIES = ['none', 'hashed', 'masked', 'plain'] as const;
export type LogIdentities = (typeof LOG_IDENTITIES)[number];

/** What the model says on the first day of a customer. */
export const MODEL_FIRST_DAYS = ['silent', 'counts'] as const;
type ModelFirstDay = (typeof MODEL_FIRST_DAYS)[number];

/** Whether a token must have a grant of the collector. Source: contract, 17.3. */
export const GRANT_POLICIES = ['optional', 'required'] as const;
export type GrantPolicy = (typeof GRANT_POLICIES)[number];

/** Name → networks, or name → user agents. An empty list removes the name. */
export type NamedSources = Readonly<Record<string, readonly string[]>>;

/**
 * Everything an operator may tune without code. `DEFAULT_POLICY` is the complete default; a policy file changes parts of it.
 * Source: contract, 6.3 and 6.4, and the default rules.
 */
export interface Policy {
  readonly version: string;
  readonly mode: PolicyMode;
  readonly bands: Bands;
  /** Bands of single event types (lower case), which replace `bands`. */
  readonly eventTypeBands: Readonly<Record<string, Bands>>;
  /** `code` or `code.level` → weight, 0 to 1. */
  readonly weights: Readonly<Record<string, number>>;
  /** `code.threshold` → number; each rule's file has its thresholds and their units. */
  readonly thresholds: Readonly<Record<string, number>>;
  /** Codes of rules that are switched off. */
  readonly rulesOff: readonly string[];
  /** Keys of `entity_keys` that do not identify a person. */
  readonly ignoredEntityKeys: readonly string[];
  /** ISO 3166-1 alpha-2, upper case. */
  readonly watchedCountries: ReadonlySet<string>;
  readonly watchedAsns: ReadonlySet<number>;
  /** Autonomous systems of hosting companies. */
  readonly hostingAsns: ReadonlySet<number>;
  /** Autonomous systems of private relays and satellite networks. */
  readonly relayAsns: ReadonlySet<number>;
  /** Name → networks that are trusted, CIDR. */
  readonly trustedNetworks: NamedSources;
  /** Name → user agents that are trusted; a `*` at the end matches any continuation. */
  readonly trustedAgents: NamedSources;
  /** What becomes of a verified crawler, by its purpose; of others the score decides. */
  readonly agents: Readonly<Partial<Record<AgentPurpose, AgentAction>>>;
  /** `silent`: on the first day of a customer the model adds nothing. */
  readonly modelFirstDay: ModelFirstDay;
  /** `required`: a token without a grant is evidence. */
  readonly grant: GrantPolicy;
  /** Share of all decisions that is copied to the shadow review queue, 0 to 1. */
  readonly sampleRate: number;
  /** Share of ALLOW decisions whose feature row is kept, 0 to 1; all others keep theirs. */
  readonly logFeaturesSample: number;
  readonly logIdentities: LogIdentities;
  /** Days for which requests are logged for backtests; 0 for none. */
  readonly logRequestsDays: number;
  /** How many times its predicted share a rule of the customer's own may touch; 0 for any. */
  readonly rulesTripFactor: number;
  readonly ownRules: readonly OwnRule[];
  /** The attributes that count. */
  readonly attributes: AttributeDeclarations;
  readonly counters: CounterDeclarations;
}

/** Lower bounds of the decisions above ALLOW, on the rounded score. */
export interface Bands {
  readonly allowWatch: number;
  readonly softChallenge: number;
  /** Null: no score leads to REVIEW. */
  readonly review: number | null;
  readonly block: number;
}

/** Goods and money can still be held back after these events, so somebody can act on a REVIEW. Source: contract, 6.3. */
const HELD_BACK: Bands = { allowWatch: 30, softChallenge: 45, review: 60, block: 80 };

export const DEFAULT_POLICY: Policy = {
  version: 'default',
  mode: 'enforce',
  // Callers continue at REVIEW, so without it a score of 65 to 79 is challenged. Source: contract, 6.3.
  bands: { allowWatch: 30, softChallenge: 50, review: null, block: 80 },
  eventTypeBands: { payment: HELD_BACK, checkout: HELD_BACK },
  weights: {},
  thresholds: {},
  rulesOff: [],
  ignoredEntityKeys: ['tenant', 'merchant', 'country', 'order_id'],
  watchedCountries: new Set(),
  watchedAsns: new Set(),
  // Published numbers of the largest hosting companies, from their own peering records: Amazon 16509 14618, Google Cloud 396982, Microsoft
  // 8075, DigitalOcean 14061, OVH 16276, Hetzner 24940 213230, Linode 63949, Vultr 20473, Alibaba 45102 and in China 37963, Tencent 132203
  // and in China 45090, Oracle 31898, Contabo 51167, Scaleway 12876, Leaseweb 60781 28753, M247 9009.
  hostingAsns: new Set([
    16509, 14618, 396982, 8075, 14061, 16276, 24940, 213230, 63949, 20473, 45102, 37963, 132203, 45090, 31898, 51167,
    12876, 60781, 28753, 9009,
  ]),
  // The exits of iCloud Private Relay are at Akamai 36183, Cloudflare 13335 and Fastly 54113; satellite: Starlink 14593 and 45700, Viasat
  // 40306 and 7155, Hughes 6621, OneWeb 800.
  relayAsns: new Set([36183, 13335, 54113, 14593, 45700, 40306, 7155, 6621, 800]),
  trustedNetworks: {},
  trustedAgents: {},
  agents: {},
  modelFirstDay: 'silent',
  grant: 'optional',
  sampleRate: 0.01,
  logFeaturesSample: 0.05,
  logIdentities: 'hashed',
  logRequestsDays: 0,
  rulesTripFactor: 5,
  ownRules: [],
  attributes: DEFAULT_ATTRIBUTES,
  counters: {},
};
