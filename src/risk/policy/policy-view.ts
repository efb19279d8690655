import { counterText } from './counter-declarations.ts';
import type { OwnRule } from './own-rule.ts';
import type { Family, Rule } from '../rules/rule.ts';
import { RULES } from '../rules/rule-table.ts';
import {
  assetsOf,
  BAND_NAMES,
  codesIn,
  eventTypesOf,
  policyOf,
  type PolicyDocument,
  type PolicyScope,
} from './policy-document.ts';
import { THRESHOLDS, WEIGHTS } from './policy-names.ts';
import type { Bands, Policy } from './policy.ts';
import { type RowRetention, retentionIn } from './row-retention.ts';

/** What a policy file means for one customer, for people to read. Not for decisions: nothing here is cached. */
export class PolicyView {
  readonly version: string;
  readonly #scopes: readonly PolicyScope[];
  readonly #document: PolicyDocument;

  constructor(document: PolicyDocument, customerId: string, scopes = ownScopes(document, customerId)) {
    this.#document = document;
    this.#scopes = scopes;
    this.version = document.version;
  }

  /** Event types with settings of their own, sorted. */
  get eventTypes(): readonly string[] {
    return [...eventTypesOf(this.#scopes)].sort();
  }

  /** `''` for event types without settings of their own. */
  policyOf(eventType: string): Policy {
    return policyOf(assetsOf(this.#scopes, eventType), eventType, this.version, (list) => new Set(list));
  }

  /** How long the customer's rows are kept, ms. */
  get retention(): RowRetention {
    return retentionIn(this.#scopes);
  }

  /** Codes of the file's own rules, of whatever event type. */
  get ruleCodes(): ReadonlySet<string> {
    return codesIn(this.#scopes);
  }

  /** Returns the file's own rules, each code once: as it is without event types, else as of the first event type that has it. */
  ownRules(): readonly OwnRule[] {
    const byCode = new Map(this.policyOf('').ownRules.map((rule) => [rule.code, rule]));
    for (const eventType of this.eventTypes) {
      for (const rule of this.policyOf(eventType).ownRules)
        if (!byCode.has(rule.code)) byCode.set(rule.code, { ...rule, eventTypes: rule.eventTypes ?? [eventType] });
    }
    return [...byCode.values()];
  }

  /** Returns the same with the challenger's settings; null without one. */
  challenger(): PolicyView | null {
    const { challenger } = this.#document;
    if (challenger === null) return null;
    const document = { ...this.#document, version: challenger.version, challenger: null };
    return new PolicyView(document, '', [...this.#scopes, challenger]);
  }
}

function ownScopes(document: PolicyDocument, customerId: string): readonly PolicyScope[] {
  const own = document.customers.get(customerId);
  return own === undefined ? [document] : [document, own];
}

export interface RuleSettings {
  readonly enabled: boolean;
  /** The largest weight of the levels. */
  readonly weight: number;
  readonly levels: Readonly<Record<string, number>>;
  readonly thresholds: Readonly<Record<string, number>>;
}

export interface RuleView extends RuleSettings {
  readonly reason: string;
  readonly family: Family;
  readonly isChanged: boolean;
  readonly eventTypes: readonly ({ readonly eventType: string } & RuleSettings)[];
  readonly sentence: string;
  readonly quietedBy: string;
}

/** Returns every rule with its settings, in the order of the table of rules. */
export function rulesOf(view: PolicyView): readonly RuleView[] {
  return [...eachRule(view)];
}

/** Yields the same one by one, for callers that must not block. */
export function* eachRule(view: PolicyView): Generator<RuleView> {
  const common = view.policyOf('');
  const types = view.eventTypes.map((eventType) => ({ eventType, policy: view.policyOf(eventType) }));
  for (const rule of RULES) {
    const own = settingsOf(rule, common);
    const eventTypes = types
      .map(({ eventType, policy }) => ({ eventType, ...settingsOf(rule, policy) }))
      .filter((settings) => !isSame(settings, own));
    yield {
      reason: rule.code,
      family: rule.family,
      ...own,
      isChanged: eventTypes.length > 0 || !isSame(own, settingsOf(rule, UNCHANGED)),
      eventTypes,
      sentence: rule.hint,
      quietedBy: rule.quietedBy,
    };
  }
}

type Tuning = Pick<Policy, 'weights' | 'thresholds' | 'rulesOff'>;

const UNCHANGED: Tuning = { weights: {}, thresholds: {}, rulesOff: [] };

function settingsOf(rule: Rule, { weights, thresholds, rulesOff }: Tuning): RuleSettings {
  const named = (level: string): string => (level === 'default' ? rule.code : `${rule.code}.${level}`);
  const levels = Object.fromEntries(
    Object.entries(rule.weights).map(([level, weight]) => [level, weights[named(level)] ?? weight]),
  );
  return {
    enabled: !rulesOff.includes(rule.code),
    weight: Math.max(0, ...Object.values(levels)),
    levels,
    thresholds: Object.fromEntries(
      Object.entries(rule.thresholds ?? {}).map(([name, value]) => [name, thresholds[`${rule.code}.${name}`] ?? value]),
    ),
  };
}

function isSame(a: RuleSettings, b: RuleSettings): boolean {
  const textOf = ({ enabled, levels, thresholds }: RuleSettings): string =>
    JSON.stringify([enabled, levels, thresholds]);
  return textOf(a) === textOf(b);
}

export interface Difference {
  /** Null for event types without settings of their own. */
  readonly eventType: string | null;
  readonly kind: 'band' | 'weight' | 'threshold' | 'rule' | 'setting';
  readonly name: string;
  readonly before: SettingValue;
  readonly after: SettingValue;
}

export type SettingValue = string | number | boolean | null;

/**
 * Returns what differs, at most `max`: first of event types without settings of their own, then of each event type what differs in another
 * way. `pause` is awaited between event types.
 */
export async function differences(
  before: PolicyView,
  after: PolicyView,
  max: number,
  pause: () => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly differences: readonly Difference[]; readonly isTruncated: boolean }> {
  const all = differencesOf(before, after, '');
  const known = new Set(all.map(textOf));
  for (const type of [...new Set([...before.eventTypes, ...after.eventTypes])].sort()) {
    await pause();
    all.push(...differencesOf(before, after, type).filter((one) => !known.has(textOf(one))));
    if (all.length > max) break;
  }
  return { differences: all.slice(0, max), isTruncated: all.length > max };
}

function textOf({ kind, name, before, after }: Difference): string {
  return JSON.stringify([kind, name, before, after]);
}

function differencesOf(before: PolicyView, after: PolicyView, eventType: string): Difference[] {
  const was = settings(before.policyOf(eventType));
  const is = settings(after.policyOf(eventType));
  const found: Difference[] = [];
  for (const [key, now] of is) {
    const then = was.get(key);
    if (then === undefined || then.value === now.value) continue;
    const { kind, name } = now;
    found.push({ eventType: eventType === '' ? null : eventType, kind, name, before: then.value, after: now.value });
  }
  return found;
}

interface Setting extends Pick<Difference, 'kind' | 'name'> {
  readonly value: SettingValue;
}

/** The decision that each band leads to. */
const BAND_DECISIONS: Readonly<Record<keyof Bands, string>> = {
  allowWatch: 'ALLOW_WATCH',
  softChallenge: 'SOFT_CHALLENGE',
  review: 'REVIEW',
  block: 'BLOCK',
};

/** Returns every setting; two policies have the same ones. */
function settings(policy: Policy): ReadonlyMap<string, Setting> {
  const found = new Map<string, Setting>();
  const add = (kind: Difference['kind'], name: string, value: SettingValue): void => {
    found.set(`${kind} ${name}`, { kind, name, value });
  };
  add('setting', 'mode', policy.mode);
  for (const name of BAND_NAMES) add('band', BAND_DECISIONS[name], policy.bands[name]);
  for (const { code } of RULES) add('rule', code, !policy.rulesOff.includes(code));
  for (const [name, { value }] of WEIGHTS) add('weight', name, policy.weights[name] ?? value);
  for (const [name, { value }] of THRESHOLDS) add('threshold', name, policy.thresholds[name] ?? value);
  add('setting', 'ignored_entity_keys', listText(policy.ignoredEntityKeys));
  add('setting', 'watched_countries', listText(policy.watchedCountries));
  add('setting', 'watched_asns', listText(policy.watchedAsns));
  add('setting', 'hosting_asns', listText(policy.hostingAsns));
  add('setting', 'relay_asns', listText(policy.relayAsns));
  add('setting', 'trusted_networks', namesText(policy.trustedNetworks));
  add('setting', 'trusted_agents', namesText(policy.trustedAgents));
  for (const [purpose, action] of Object.entries(policy.agents)) add('setting', `agents.${purpose}`, action);
  add('setting', 'model.first_day', policy.modelFirstDay);
  add('setting', 'grant', policy.grant);
  add('setting', 'rules_trip_factor', policy.rulesTripFactor === 0 ? 'off' : policy.rulesTripFactor);
  for (const rule of policy.ownRules) add('setting', `rules.${rule.code}`, ruleText(rule));
  for (const [name, { type, isPublic }] of Object.entries(policy.attributes))
    add('setting', `attributes.${name}`, isPublic ? `${type}, public` : type);
  for (const [name, counter] of Object.entries(policy.counters))
    add('setting', `counters.${name}`, counterText(counter));
  add('setting', 'sample_rate', policy.sampleRate);
  add('setting', 'log_features_sample', policy.logFeaturesSample);
  add('setting', 'log_identities', policy.logIdentities);
  add('setting', 'log_requests', policy.logRequestsDays === 0 ? 'off' : `${policy.logRequestsDays}d`);
  return found;
}

/** Choice: enough to recognise a list; a change far behind in a long one shows as the same number of items with another start or end. */
const LISTED_MAX = 20;

function listText(list: Iterable<string | number>): string {
  const items = [...list];
  const shown = items.slice(0, LISTED_MAX).join(', ');
  return items.length > LISTED_MAX ? `${shown} … (${items.length})` : shown;
}

function namesText(named: Readonly<Record<string, readonly string[]>>): string {
  const parts = Object.entries(named).filter(([, list]) => list.length > 0);
  return parts.map(([name, list]) => `${name}: ${listText(list)}`).join('; ');
}

function ruleText({ when, weight, decision, mode, eventTypes }: OwnRule): string {
  const effect = decision ?? `weight ${String(weight)}`;
  return `${mode} ${effect}${eventTypes === null ? '' : ` on ${eventTypes.join(', ')}`}: ${when}`;
}
