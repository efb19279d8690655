import { isPayingStep } from './event-outcome.ts';
import type { AttributeValue, Facts } from './facts.ts';
import { clampTo, DAY_SECONDS, type FeatureGroup, HISTORY_GROUPS } from './feature-history.ts';
import { RULES } from './rules/rule-table.ts';

/** Choice: a token older than a week is no more informative than one of a week. */
const TOKEN_AGE_HOURS_MAX = 168;
/** Choice: browsers older than this are all equally old. */
const BROWSER_AGE_DAYS_MAX = 3_650;
/** Choice: an order of a hundred times the usual amount, or a hundred items, is as unusual as a larger one. */
const TIMES_USUAL_MAX = 100;
const ITEMS_MAX = 100;
/** Choice: an account of ten years counts as old as any. */
const ACCOUNT_DAYS_MAX = 3_650;

const EVENT_TYPES = ['login', 'signup', 'checkout', 'payment', 'search'] as const;

/**
 * The rules that a model may use: all except the customer's own lists, which override every model, and the model's own rule. A rule that
 * is off has not fired.
 */
const RULE_CODES: readonly string[] = RULES.filter(({ family }) => family !== 'list' && family !== 'model').map(
  ({ code }) => code,
);

/**
 * The columns that are computed from the facts. If "unknown" and "no" must differ, a separate column marks "known". The names are the
 * interface of models, so no name is ever removed; positions may change, because a manifest names its columns.
 */
const GROUPS: readonly FeatureGroup[] = [
  {
    names: [...EVENT_TYPES.map((type) => `event:${type}`), 'event:other', 'event:pays'],
    write(out, at, { eventType }) {
      const type = (EVENT_TYPES as readonly string[]).indexOf(eventType);
      out[at + (type === -1 ? EVENT_TYPES.length : type)] = 1;
      if (isPayingStep(eventType)) out[at + EVENT_TYPES.length + 1] = 1;
    },
  },
  {
    names: ['ip:given', 'ip:valid', 'ip:public', 'ip:v6'],
    write(out, at, { ip }) {
      if (ip === null) return;
      out[at] = 1;
      if (ip.kind !== 'valid') return;
      out[at + 1] = 1;
      if (ip.public) out[at + 2] = 1;
      if (ip.version === 6) out[at + 3] = 1;
    },
  },
  {
    names: [
      'geo:known',
      'geo:country_known',
      'geo:position_known',
      'geo:asn_known',
      'geo:tor',
      'geo:proxy',
      'geo:residential_proxy',
      'geo:hosting',
      'geo:vpn',
      'geo:relay',
    ],
    write(out, at, { geo }) {
      if (geo === null) return;
      out[at] = 1;
      if (geo.country !== null) out[at + 1] = 1;
      if (geo.latitude !== null) out[at + 2] = 1;
      if (geo.asn !== null) out[at + 3] = 1;
      if (geo.tor) out[at + 4] = 1;
      if (geo.proxy) out[at + 5] = 1;
      if (geo.residentialProxy) out[at + 6] = 1;
      if (geo.hosting) out[at + 7] = 1;
      if (geo.vpn) out[at + 8] = 1;
      if (geo.relay) out[at + 9] = 1;
    },
  },
  {
    names: [
      'token:none',
      'token:opaque',
      'token:collector',
      'token:age_hours',
      'token:webdriver',
      'token:no_plugins',
      'token:no_languages',
      'token:touch',
    ],
    write(out, at, { token, nowSeconds }) {
      if (token.kind === 'none') out[at] = 1;
      else if (token.kind === 'opaque') out[at + 1] = 1;
      else {
        const { signals, issuedAtSeconds } = token;
        out[at + 2] = 1;
        out[at + 3] = clampTo((nowSeconds - issuedAtSeconds) / 3_600, -1, TOKEN_AGE_HOURS_MAX);
        if (signals.webdriver === true) out[at + 4] = 1;
        if (signals.pluginCount === 0) out[at + 5] = 1;
        if (signals.languages?.length === 0) out[at + 6] = 1;
        if ((signals.touchPoints ?? 0) > 0) out[at + 7] = 1;
      }
    },
  },
  {
    names: ['entities:count', 'entities:has_email'],
    write(out, at, { entities }) {
      out[at] = entities.length;
      for (const { name } of entities) if (name.includes('email')) out[at + 1] = 1;
    },
  },
  {
    names: [
      'agent:given',
      'agent:length',
      'agent:bot',
      'agent:http_library',
      'agent:headless',
      'agent:ai',
      'agent:browser_known',
      'agent:browser_age_days',
      'agent:mobile',
      'agent:linux',
    ],
    write(out, at, { userAgent, agent, nowSeconds }) {
      if (userAgent !== null) {
        out[at] = 1;
        out[at + 1] = userAgent.length;
      }
      if (agent === null) return;
      if (isText(agent.bot)) out[at + 2] = 1;
      if (isText(agent.httpLibrary)) out[at + 3] = 1;
      if (isText(agent.headless)) out[at + 4] = 1;
      if (isText(agent.aiAgent)) out[at + 5] = 1;
      if (agent.browser !== 'other') out[at + 6] = 1;
      const releasedAtSeconds = agent.browserReleasedAtSeconds;
      if (releasedAtSeconds !== null)
        out[at + 7] = clampTo((nowSeconds - releasedAtSeconds) / DAY_SECONDS, 0, BROWSER_AGE_DAYS_MAX);
      if (agent.form === 'mobile' || agent.form === 'tablet') out[at + 8] = 1;
      if (agent.system === 'linux') out[at + 9] = 1;
    },
  },
  {
    names: ['headers:count', 'headers:accept_language', 'headers:client_hints', 'headers:tls'],
    write(out, at, { headers }) {
      if (headers.size === 0) return;
      out[at] = headers.size;
      if (headers.has('accept-language')) out[at + 1] = 1;
      if (headers.has('sec-ch-ua')) out[at + 2] = 1;
      if (headers.has('x-svc-ja3') || headers.has('x-svc-ja4')) out[at + 3] = 1;
    },
  },
  {
    names: ['url:given', 'url:length', 'url:query', 'referrer:given'],
    write(out, at, { url, referrer }) {
      if (url !== null) {
        out[at] = 1;
        out[at + 1] = url.length;
        if (url.includes('?')) out[at + 2] = 1;
      }
      if (isText(referrer)) out[at + 3] = 1;
    },
  },
  {
    names: ['registry:known', 'registry:risk', 'registry:customers'],
    write(out, at, { registry }) {
      if (registry === null) return;
      out[at] = 1;
      out[at + 1] = registry.risk / 100;
      out[at + 2] = Math.log1p(registry.customers);
    },
  },
  {
    // The hour as a point on a circle, so that 23:59 and 00:01 are close. UTC: the service does not know the local time.
    names: ['time:hour_sin', 'time:hour_cos'],
    write(out, at, { nowSeconds }) {
      if (nowSeconds !== circleSeconds) {
        const angle = ((nowSeconds % DAY_SECONDS) / DAY_SECONDS) * 2 * Math.PI;
        circleSin = Math.sin(angle);
        circleCos = Math.cos(angle);
        circleSeconds = nowSeconds;
      }
      out[at] = circleSin;
      out[at + 1] = circleCos;
    },
  },
  ...HISTORY_GROUPS,
  {
    names: [
      'order:amount',
      'order:usual_known',
      'order:times_usual',
      'order:items',
      'order:first',
      'account:created_known',
      'account:created_days',
      'account:email_verified',
      'account:email_unverified',
    ],
    write(out, at, { attributes, history, nowSeconds }) {
      if (attributes.size === 0) return;
      const amounts = history?.amounts ?? null;
      out[at] = Math.log1p(Math.max(0, numberOf(attributes, 'amount')));
      if (amounts !== null && amounts.usual > 0) {
        out[at + 1] = 1;
        out[at + 2] = clampTo(amounts.value / amounts.usual, 0, TIMES_USUAL_MAX);
      }
      out[at + 3] = clampTo(numberOf(attributes, 'item_count'), 0, ITEMS_MAX);
      if (attributes.get('first_order') === true) out[at + 4] = 1;
      if (attributes.has('account_created_at')) {
        out[at + 5] = 1;
        const seconds = nowSeconds - numberOf(attributes, 'account_created_at');
        out[at + 6] = clampTo(seconds / DAY_SECONDS, 0, ACCOUNT_DAYS_MAX);
      }
      if (attributes.get('email_verified') === true) out[at + 7] = 1;
      if (attributes.get('email_verified') === false) out[at + 8] = 1;
    },
  },
  {
    // 1 where both countries are known and differ.
    names: ['countries:card_ip', 'countries:card_billing', 'countries:card_shipping', 'countries:phone_ip'],
    write(out, at, { attributes, geo }) {
      if (attributes.size === 0) return;
      const ip = geo?.country ?? undefined;
      const card = attributes.get('card_country');
      if (differ(card, ip)) out[at] = 1;
      if (differ(card, attributes.get('billing_country'))) out[at + 1] = 1;
      if (differ(card, attributes.get('shipping_country'))) out[at + 2] = 1;
      if (differ(attributes.get('phone_country'), ip)) out[at + 3] = 1;
    },
  },
];

/** The last point of the hour; the decisions of a second have the same. */
let circleSeconds = Number.NaN;
let circleSin = 0;
let circleCos = 0;

const COMPUTED_NAMES = GROUPS.flatMap(({ names }) => names);
/** Columns that `computeFeatures` fills; those of rules follow. */
export const COMPUTED_FEATURES = COMPUTED_NAMES.length;
/** Every column that a model may name. */
export const FEATURE_NAMES: readonly string[] = [...COMPUTED_NAMES, ...RULE_CODES.map((code) => `rule:${code}`)];

const COLUMN_OF: ReadonlyMap<string, number> = new Map(FEATURE_NAMES.map((name, column) => [name, column]));

/** Returns the column's number, for `fillFeatures`, or null. */
export function findColumn(name: string): number | null {
  return COLUMN_OF.get(name) ?? null;
}

const computed = new Float64Array(COMPUTED_FEATURES);

/** Returns the columns that are computed from the facts, valid until the next call. A value may be NaN or infinite. */
export function computeFeatures(facts: Facts): Float64Array {
  computed.fill(0);
  let at = 0;
  for (const group of GROUPS) {
    group.write(computed, at, facts);
    at += group.names.length;
  }
  return computed;
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
  const values = computeFeatures(facts);
  let at = offset;
  for (const column of columns) {
    const code = RULE_CODES[column - COMPUTED_FEATURES];
    const value = code === undefined ? (values[column] ?? 0) : Number(fired(code));
    out[at] = Number.isFinite(Math.fround(value)) ? value : 0;
    at += 1;
  }
}

/** 0 for an attribute that is absent. */
function numberOf(attributes: Facts['attributes'], name: string): number {
  const value = attributes.get(name);
  return typeof value === 'number' ? value : 0;
}

/** Compares country codes in any case. */
function differ(one: AttributeValue | undefined, other: AttributeValue | undefined): boolean {
  if (typeof one !== 'string' || typeof other !== 'string') return false;
  return one.toUpperCase() !== other.toUpperCase();
}

function isText(value: string | null | undefined): boolean {
  return value !== null && value !== undefined && value !== '';
}
