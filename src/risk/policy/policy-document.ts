import { type RowRetention, retentionIn } from './row-retention.ts';
import { bandsFor } from '../fuse.ts';
import type { AttributeDeclarations } from './attributes.ts';
import type { CounterDeclarations } from './counter-declarations.ts';
import type { GatePart } from './gate-settings.ts';
import type { OwnRule } from './own-rule.ts';
import { DEFAULT_POLICY, type Bands, type Policy } from './policy.ts';

/**
 * A parsed and validated policy file: plain data, so that it can be sent between threads. An absent part changes nothing.
 * Source: contract, 6.4.
 */
export interface PolicyDocument extends PolicyScope {
  /** The file's own version, else the start of its content's hash. */
  readonly version: string;
  /** By customer id. */
  readonly customers: ReadonlyMap<string, PolicyScope>;
  /** A policy that decides nothing: where it would decide differently, the decision is copied to the shadow review queue. */
  readonly challenger: Challenger | null;
}

export interface Challenger extends PolicyScope {
  readonly version: string;
}

/** Settings that are allowed for all customers, for one customer and for the challenger. */
export interface PolicyScope extends PolicyPart {
  /** Event type, in lower case → points added to its upper three bands. */
  readonly shifts?: ReadonlyMap<string, number> | undefined;
  /** Event type, in lower case → its overrides. */
  readonly eventTypes?: ReadonlyMap<string, PolicyPart> | undefined;
  readonly attributes?: AttributeDeclarations | undefined;
  readonly counters?: CounterDeclarations | undefined;
  readonly logRequestsDays?: number | undefined;
  /** How long rows are kept, ms. */
  readonly retention?: Partial<RowRetention> | undefined;
  readonly rulesTripFactor?: number | undefined;
  readonly gate?: GatePart | undefined;
}

/** Settings that are allowed for an event type too. The fields are those of `Policy`. */
export interface PolicyPart {
  readonly mode?: Policy['mode'] | undefined;
  readonly bands?: { readonly [Name in keyof Bands]?: Bands[Name] | undefined } | undefined;
  readonly weights?: Policy['weights'] | undefined;
  readonly thresholds?: Policy['thresholds'] | undefined;
  readonly rulesOff?: readonly string[] | undefined;
  readonly ignoredEntityKeys?: readonly string[] | undefined;
  readonly watchedCountries?: readonly string[] | undefined;
  readonly watchedAsns?: readonly number[] | undefined;
  readonly hostingAsns?: readonly number[] | undefined;
  readonly relayAsns?: readonly number[] | undefined;
  readonly trustedNetworks?: Policy['trustedNetworks'] | undefined;
  readonly trustedAgents?: Policy['trustedAgents'] | undefined;
  readonly agents?: Policy['agents'] | undefined;
  readonly modelFirstDay?: Policy['modelFirstDay'] | undefined;
  readonly grant?: Policy['grant'] | undefined;
  readonly sampleRate?: number | undefined;
  readonly logFeaturesSample?: number | undefined;
  readonly logIdentities?: Policy['logIdentities'] | undefined;
  readonly rules?: readonly OwnRule[] | undefined;
}

/** A message about a policy file. `pointer` is RFC 6901 into the file, `''` for all of it. */
export interface PolicyNote {
  readonly pointer: string;
  readonly message: string;
}

/** One part in order of precedence: a later one overrides an earlier one. */
export interface PolicyAsset {
  readonly part: PolicyPart &
    Pick<PolicyScope, 'shifts' | 'attributes' | 'counters' | 'logRequestsDays' | 'retention' | 'rulesTripFactor'>;
  /** True if the part is for this event type only. */
  readonly ofEventType: boolean;
}

/**
 * Returns the parts that apply to an event type, from the least to the most specific: the file's top level, its event type, the customer,
 * the customer's event type; after them the challenger and its event type if requested.
 */
export function assetsOf(scopes: readonly PolicyScope[], eventType: string): readonly PolicyAsset[] {
  const layers: PolicyAsset[] = [];
  for (const scope of scopes) {
    layers.push({ part: scope, ofEventType: false });
    const part = scope.eventTypes?.get(eventType);
    if (part !== undefined) layers.push({ part, ofEventType: true });
  }
  return layers;
}

/** Returns every event type for which these scopes have settings, including those that have default bands of their own. */
export function eventTypesOf(scopes: readonly PolicyScope[]): ReadonlySet<string> {
  const names = new Set(Object.keys(DEFAULT_POLICY.eventTypeBands));
  for (const { shifts, eventTypes, rules } of scopes) {
    for (const name of shifts?.keys() ?? []) names.add(name);
    for (const name of eventTypes?.keys() ?? []) names.add(name);
    for (const rule of rules ?? []) for (const name of rule.eventTypes ?? []) names.add(name);
  }
  return names;
}

/** Returns the codes of all own rules in these scopes, of whatever event type. */
export function codesIn(scopes: readonly PolicyScope[]): ReadonlySet<string> {
  const parts = scopes.flatMap((scope) => [scope, ...(scope.eventTypes?.values() ?? [])]);
  return new Set(parts.flatMap(({ rules = [] }) => rules.map(({ code }) => code)));
}

/** From the lowest to the highest. */
export const BAND_NAMES = ['allowWatch', 'softChallenge', 'review', 'block'] as const;

/**
 * Returns the bands of an event type including its shift. Choice: a band set for the event type itself is used as written, so the shift is
 * only added to the other ones.
 */
export function bandsOf(layers: readonly PolicyAsset[], eventType: string): Bands {
  const shift = shiftOf(layers, eventType);
  const defaults = bandsFor(eventType, DEFAULT_POLICY);
  return {
    allowWatch: bandOf(layers, 'allowWatch', defaults, 0),
    softChallenge: bandOf(layers, 'softChallenge', defaults, shift),
    review: bandOf(layers, 'review', defaults, shift),
    block: bandOf(layers, 'block', defaults, shift),
  };
}

function bandOf<Name extends keyof Bands>(
  layers: readonly PolicyAsset[],
  name: Name,
  defaults: Bands,
  shift: number,
): Bands[Name] {
  let value: number | null = defaults[name];
  let isExact = false;
  for (const { part, ofEventType } of layers) {
    const own = part.bands?.[name];
    if (own === undefined) continue;
    value = own;
    isExact = ofEventType;
  }
  // Only review may be null.
  return (isExact || value === null ? value : value + shift) as Bands[Name];
}

function shiftOf(layers: readonly PolicyAsset[], eventType: string): number {
  let shift = 0;
  for (const { part } of layers) shift = part.shifts?.get(eventType) ?? shift;
  return shift;
}

/** Applies these parts to the default policy, for one event type only: `bands` are that type's. */
export function policyOf(
  layers: readonly PolicyAsset[],
  eventType: string,
  version: string,
  setOf: <T>(list: readonly T[]) => ReadonlySet<T>,
): Policy {
  const { watchedCountries, watchedAsns, hostingAsns, relayAsns } = DEFAULT_POLICY;
  const set = <T>(list: readonly T[] | undefined, otherwise: ReadonlySet<T>): ReadonlySet<T> =>
    list === undefined ? otherwise : setOf(list);
  return {
    version,
    mode: lastOf(layers, 'mode') ?? DEFAULT_POLICY.mode,
    bands: bandsOf(layers, eventType),
    eventTypeBands: NO_BANDS,
    weights: merged(layers, 'weights'),
    thresholds: merged(layers, 'thresholds'),
    rulesOff: lastOf(layers, 'rulesOff') ?? DEFAULT_POLICY.rulesOff,
    ignoredEntityKeys: lastOf(layers, 'ignoredEntityKeys') ?? DEFAULT_POLICY.ignoredEntityKeys,
    watchedCountries: set(lastOf(layers, 'watchedCountries'), watchedCountries),
    watchedAsns: set(lastOf(layers, 'watchedAsns'), watchedAsns),
    hostingAsns: set(lastOf(layers, 'hostingAsns'), hostingAsns),
    relayAsns: set(lastOf(layers, 'relayAsns'), relayAsns),
    trustedNetworks: merged(layers, 'trustedNetworks'),
    trustedAgents: merged(layers, 'trustedAgents'),
    agents: merged(layers, 'agents'),
    modelFirstDay: lastOf(layers, 'modelFirstDay') ?? DEFAULT_POLICY.modelFirstDay,
    grant: lastOf(layers, 'grant') ?? DEFAULT_POLICY.grant,
    sampleRate: lastOf(layers, 'sampleRate') ?? DEFAULT_POLICY.sampleRate,
    logFeaturesSample: lastOf(layers, 'logFeaturesSample') ?? DEFAULT_POLICY.logFeaturesSample,
    logIdentities: lastOf(layers, 'logIdentities') ?? DEFAULT_POLICY.logIdentities,
    logRequestsDays: requestDaysOf(layers.map(({ part }) => part)),
    rulesTripFactor:
      layers.findLast(({ part }) => part.rulesTripFactor !== undefined)?.part.rulesTripFactor ??
      DEFAULT_POLICY.rulesTripFactor,
    ownRules: ownRulesOf(layers),
    attributes: merged(layers, 'attributes'),
    counters: merged(layers, 'counters'),
  };
}

const NO_BANDS = {};

/** A rule replaces one with its code of a less specific part. */
function ownRulesOf(layers: readonly PolicyAsset[]): readonly OwnRule[] {
  const said = layers.filter(({ part }) => part.rules !== undefined);
  if (said.length === 0) return DEFAULT_POLICY.ownRules;
  return [
    ...new Map(said.flatMap(({ part }) => (part.rules ?? []).map((rule) => [rule.code, rule] as const))).values(),
  ];
}

/** Merges name by name. Returns the default's own object if no part changes it. */
function merged<
  Name extends 'weights' | 'thresholds' | 'trustedNetworks' | 'trustedAgents' | 'agents' | 'attributes' | 'counters',
>(layers: readonly PolicyAsset[], name: Name): Policy[Name] {
  const said = layers.filter(({ part }) => part[name] !== undefined);
  if (said.length === 0) return DEFAULT_POLICY[name];
  return Object.assign({}, DEFAULT_POLICY[name], ...said.map(({ part }) => part[name])) as Policy[Name];
}

/** Returns the days of the most specific part that names them; for callers that do not need a whole policy. */
export function requestDaysOf(parts: readonly Pick<PolicyScope, 'logRequestsDays' | 'retention'>[]): number {
  const days =
    parts.findLast(({ logRequestsDays }) => logRequestsDays !== undefined)?.logRequestsDays ??
    DEFAULT_POLICY.logRequestsDays;
  return Math.min(days, Math.floor(retentionIn(parts).requests / 86_400_000));
}

/** Returns the last value: a list replaces the previous one. */
function lastOf<Name extends keyof PolicyPart>(layers: readonly PolicyAsset[], name: Name): PolicyPart[Name] {
  return layers.findLast(({ part }) => part[name] !== undefined)?.part[name];
}
