import type { Facts, GeoFacts, RegistryFacts, TokenFacts } from './facts.ts';
import type { EntityHistory, HistoryFacts } from './history.ts';
import { RULES } from './rules/rule-table.ts';

/** One column of the model's input: a finite number computed from the facts of one request and the rules that fired on them. */
export interface Feature {
  /** Stable: model files name their columns by it. A column that changes its meaning gets a new name. */
  readonly name: string;
  compute(facts: Facts, fired: (ruleCode: string) => boolean): number;
}

/** Choice: a token older than a week is no more informative than one of a week. */
const TOKEN_AGE_HOURS_MAX = 168;
/** Choice: browsers older than this are all equally old. */
const BROWSER_AGE_DAYS_MAX = 3_650;
const DAY_SECONDS = 86_400;
/** Choice: an entity known for a month counts as fully known. */
const ENTITY_KNOWN_HOURS_MAX = 720;

const EVENT_TYPES = ['login', 'signup', 'checkout', 'payment', 'search'] as const;

/**
 * The rules that a model may use: all except the customer's own lists, which override every model, and the model's own rule. A rule that
 * is off has not fired.
 */
const RULE_CODES: readonly string[] = RULES.filter(({ family }) => family !== 'list' && family !== 'model').map(
  ({ code }) => code,
);

/**
 * Every column that a model may name. Unknown values are 0; if "unknown" and "no" must differ, a separate column marks "known". The names
 * are the interface of models, so no name is ever removed; positions may change, because a manifest names its columns.
 */
export const FEATURES: readonly Feature[] = [
  ...EVENT_TYPES.map((type) => feature(`event:${type}`, (facts) => flag(facts.eventType === type))),

  feature('ip:given', (facts) => flag(facts.ip !== null)),
  feature('ip:valid', (facts) => flag(facts.ip?.kind === 'valid')),
  feature('ip:public', (facts) => flag(facts.ip?.kind === 'valid' && facts.ip.public)),
  feature('ip:v6', (facts) => flag(facts.ip?.kind === 'valid' && facts.ip.version === 6)),

  geo('geo:known', () => 1),
  geo('geo:country_known', (found) => flag(found.country !== null)),
  geo('geo:position_known', (found) => flag(found.latitude !== null)),
  geo('geo:asn_known', (found) => flag(found.asn !== null)),
  geo('geo:tor', (found) => flag(found.tor)),
  geo('geo:proxy', (found) => flag(found.proxy)),
  geo('geo:residential_proxy', (found) => flag(found.residentialProxy)),
  geo('geo:hosting', (found) => flag(found.hosting)),
  geo('geo:vpn', (found) => flag(found.vpn)),
  geo('geo:relay', (found) => flag(found.relay)),

  feature('token:none', (facts) => flag(facts.token.kind === 'none')),
  feature('token:opaque', (facts) => flag(facts.token.kind === 'opaque')),
  feature('token:collector', (facts) => flag(facts.token.kind === 'collector')),
  feature('token:age_hours', (facts) => tokenAgeHours(facts.token, facts.nowSeconds)),
  signal('token:webdriver', (signals) => flag(signals.webdriver === true)),
  signal('token:no_plugins', (signals) => flag(signals.pluginCount === 0)),
  signal('token:no_languages', (signals) => flag(signals.languages?.length === 0)),
  signal('token:touch', (signals) => flag((signals.touchPoints ?? 0) > 0)),

  feature('entities:count', (facts) => facts.entities.length),
  feature('entities:has_email', (facts) => flag(facts.entities.some((entity) => entity.name.includes('email')))),

  feature('agent:given', (facts) => flag(facts.userAgent !== null)),
  feature('agent:length', (facts) => facts.userAgent?.length ?? 0),
  feature('agent:bot', (facts) => flag(isText(facts.agent?.bot))),
  feature('agent:http_library', (facts) => flag(isText(facts.agent?.httpLibrary))),
  feature('agent:headless', (facts) => flag(isText(facts.agent?.headless))),
  feature('agent:ai', (facts) => flag(isText(facts.agent?.aiAgent))),
  feature('agent:browser_known', (facts) => flag(facts.agent !== null && facts.agent.browser !== 'other')),
  feature('agent:browser_age_days', (facts) => browserAgeDays(facts)),
  feature('agent:mobile', (facts) => flag(facts.agent?.form === 'mobile' || facts.agent?.form === 'tablet')),
  feature('agent:linux', (facts) => flag(facts.agent?.system === 'linux')),

  feature('headers:count', (facts) => facts.headers.size),
  feature('headers:accept_language', (facts) => flag(facts.headers.has('accept-language'))),
  feature('headers:client_hints', (facts) => flag(facts.headers.has('sec-ch-ua'))),
  feature('headers:tls', (facts) => flag(facts.headers.has('x-svc-ja3') || facts.headers.has('x-svc-ja4'))),

  feature('url:given', (facts) => flag(facts.url !== null)),
  feature('url:length', (facts) => facts.url?.length ?? 0),
  feature('url:query', (facts) => flag(facts.url?.includes('?') ?? false)),
  feature('referrer:given', (facts) => flag(isText(facts.referrer))),

  registry('registry:known', () => 1),
  registry('registry:risk', (entry) => entry.risk / 100),
  registry('registry:customers', (entry) => Math.log1p(entry.customers)),

  // The hour as a point on a circle, so that 23:59 and 00:01 are close. UTC: the service does not know the local time.
  feature('time:hour_sin', (facts) => Math.sin(dayAngle(facts.nowSeconds))),
  feature('time:hour_cos', (facts) => Math.cos(dayAngle(facts.nowSeconds))),

  history('history:known', () => 1),
  history('history:session_age_seconds', ({ session }) => clamp(session.ageMs / 1_000, 0, DAY_SECONDS)),
  history('history:session_decisions_1m', ({ session }) => session.decisions1m),
  history('history:ip_decisions_1m', ({ ip }) => ip?.decisions1m ?? 0),
  history('history:ip_cold_share_1h', ({ ip }) => ip?.coldShare1h ?? 0),
  history('history:ip_cold_logins_10m', ({ ip }) => ip?.coldLogins10m ?? 0),
  history('history:entity_decisions_1m', ({ entities }) => largest(entities, (entity) => entity.decisions1m)),
  history('history:entity_devices_24h', ({ entities }) => largest(entities, (entity) => entity.devices24h)),
  history('history:entity_networks_1h', ({ entities }) => largest(entities, (entity) => entity.networks1h)),
  history('history:entity_known_hours', ({ entities }) => largest(entities, knownHours)),
  history('history:device_entities_24h', ({ device }) => device?.entities24h ?? 0),
  history('history:context_ratio', ({ context }) => context?.ratio ?? 0),

  ...RULE_CODES.map((code) => feature(`rule:${code}`, (_facts, fired) => flag(fired(code)))),
];

const COLUMN_OF: ReadonlyMap<string, number> = new Map(FEATURES.map((entry, column) => [entry.name, column]));

/** Returns the column's number, for `fillFeatures`, or null. */
export function findColumn(name: string): number | null {
  return COLUMN_OF.get(name) ?? null;
}

/**
 * Writes one row, `Float32[columns.length]`, at `offset`. Every number is finite, also after rounding to 32 bits: any other value becomes
 * 0, because one NaN in its input makes a model's whole output NaN.
 */
export function fillFeatures(
  columns: readonly number[],
  facts: Facts,
  fired: (ruleCode: string) => boolean,
  out: Float32Array,
  offset: number,
): void {
  let at = offset;
  for (const column of columns) {
    const value = FEATURES[column]?.compute(facts, fired) ?? 0;
    out[at] = Number.isFinite(Math.fround(value)) ? value : 0;
    at += 1;
  }
}

function feature(name: string, compute: Feature['compute']): Feature {
  return { name, compute };
}

function geo(name: string, compute: (found: GeoFacts) => number): Feature {
  return { name, compute: (facts) => (facts.geo === null ? 0 : compute(facts.geo)) };
}

function registry(name: string, compute: (entry: RegistryFacts) => number): Feature {
  return { name, compute: (facts) => (facts.registry === null ? 0 : compute(facts.registry)) };
}

function history(name: string, compute: (known: HistoryFacts) => number): Feature {
  return { name, compute: (facts) => (facts.history === null ? 0 : compute(facts.history)) };
}

/** 0 without entities. */
function largest(entities: readonly EntityHistory[], compute: (entity: EntityHistory) => number): number {
  let most = 0;
  for (const entity of entities) most = Math.max(most, compute(entity));
  return most;
}

function knownHours({ knownForSeconds }: EntityHistory): number {
  return clamp(knownForSeconds / 3_600, 0, ENTITY_KNOWN_HOURS_MAX);
}

type Signals = Extract<TokenFacts, { kind: 'collector' }>['signals'];

function signal(name: string, compute: (signals: Signals) => number): Feature {
  return { name, compute: (facts) => (facts.token.kind === 'collector' ? compute(facts.token.signals) : 0) };
}

function flag(value: boolean): number {
  return value ? 1 : 0;
}

function isText(value: string | null | undefined): boolean {
  return value !== null && value !== undefined && value !== '';
}

function tokenAgeHours(token: TokenFacts, nowSeconds: number): number {
  if (token.kind !== 'collector') return 0;
  return clamp((nowSeconds - token.issuedAtSeconds) / 3_600, -1, TOKEN_AGE_HOURS_MAX);
}

function browserAgeDays(facts: Facts): number {
  const releasedAtSeconds = facts.agent?.browserReleasedAtSeconds ?? null;
  if (releasedAtSeconds === null) return 0;
  return clamp((facts.nowSeconds - releasedAtSeconds) / DAY_SECONDS, 0, BROWSER_AGE_DAYS_MAX);
}

function dayAngle(nowSeconds: number): number {
  return ((nowSeconds % DAY_SECONDS) / DAY_SECONDS) * 2 * Math.PI;
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
