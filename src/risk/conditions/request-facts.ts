import type { Facts, GeoFacts, TokenFacts, TokenSignals } from '../facts.ts';
import type { ClaimedAgent } from '../signals/claimed-agent.ts';
import type { ConditionType, ConditionValue } from './condition.ts';
import { decisionFact as fact, type DecisionFact, type FactNotes } from './decision-fact.ts';
import { type DecisionInput, pageParts } from './decision-input.ts';

/** Facts of the request itself: the event, the address, the user agent, the page, the token. */

const HOUR_SECONDS = 3_600;
/** 1 January 1970 was a Thursday. */
const FIRST_WEEKDAY = 4;
/** Source: the collector sends at most these. */
const SIGNALS_MAX = 16;

const EVENT: readonly DecisionFact[] = [
  fact('event.type', 'text', 'the event type, in lower case', ({ facts }) => facts.eventType),
  fact('event.time', 'number', 'the time of the decision', ({ facts }) => facts.nowSeconds, { unit: 'Unix seconds' }),
  fact('event.hour', 'number', 'hour of the day', ({ facts }) => Math.floor(facts.nowSeconds / HOUR_SECONDS) % 24, {
    unit: '0 to 23, UTC',
  }),
  fact(
    'event.weekday',
    'number',
    'day of the week',
    ({ facts }) => (Math.floor(facts.nowSeconds / (24 * HOUR_SECONDS)) + FIRST_WEEKDAY) % 7,
    { unit: '0 (Sunday) to 6, UTC' },
  ),
  fact('event.public_key', 'boolean', 'the request was signed with a public key', ({ publicKey }) => publicKey),
  fact('outcome', 'text', 'the outcome that the request reports', ({ facts }) => facts.outcome, {
    absentWhen: 'the request reports none',
  }),
];

const NO_GEO = 'no database knows the address';
const NO_ANONYMISERS = 'there is no database of anonymisers';

function geo(
  name: string,
  type: ConditionType,
  meaning: string,
  read: (geo: GeoFacts) => ConditionValue | null,
): DecisionFact {
  return fact(name, type, meaning, ({ facts }) => (facts.geo === null ? null : read(facts.geo)), {
    absentWhen: NO_GEO,
  });
}

/** A flag that is false in a database of another kind, which says nothing. */
function anonymiser(name: string, meaning: string, read: (geo: GeoFacts) => boolean): DecisionFact {
  const known = (facts: GeoFacts): boolean | null =>
    read(facts) ? true : facts.anonymisersKnown === true ? false : null;
  return { ...geo(name, 'boolean', meaning, known), absentWhen: NO_ANONYMISERS };
}

const NO_ADDRESS = 'the request has no valid address';

const ADDRESS: readonly DecisionFact[] = [
  fact('ip.address', 'text', 'the address', ({ facts: { ip } }) => (ip?.kind === 'valid' ? ip.text : null), {
    absentWhen: NO_ADDRESS,
  }),
  fact('ip.version', 'number', '4 or 6', ({ facts: { ip } }) => (ip?.kind === 'valid' ? ip.version : null), {
    absentWhen: NO_ADDRESS,
  }),
  fact(
    'ip.public',
    'boolean',
    'neither private nor reserved',
    ({ facts: { ip } }) => (ip?.kind === 'valid' ? ip.public : null),
    {
      absentWhen: NO_ADDRESS,
    },
  ),
  geo('ip.country', 'text', 'ISO 3166-1 code, upper case', ({ country }) => country),
  geo('ip.asn', 'number', 'number of the network', ({ asn }) => asn),
  geo('ip.organisation', 'text', 'owner of the network', ({ organisation }) => organisation),
  geo('ip.hosting', 'boolean', 'the address of a data centre', ({ hosting, asn }) =>
    hosting || asn !== null ? hosting : null,
  ),
  anonymiser('ip.tor', 'an exit of Tor', ({ tor }) => tor),
  anonymiser('ip.vpn', 'a VPN', ({ vpn }) => vpn),
  anonymiser('ip.proxy', 'a public proxy', ({ proxy }) => proxy),
  anonymiser('ip.residential_proxy', 'a proxy on a home line', ({ residentialProxy }) => residentialProxy),
  anonymiser('ip.relay', 'a relay or a satellite network', ({ relay }) => relay),
];

const NO_AGENT = 'the request has no user agent';
const NOT_SUCH = 'the user agent names none';

/** The crawler that the user agent names, or that signed the request. */
function claimOf({ agentProof, agent }: Facts): ClaimedAgent | null {
  return agentProof ?? agent?.claimed ?? null;
}

const AGENT: readonly DecisionFact[] = [
  fact('agent.text', 'text', 'the whole user agent', ({ facts }) => facts.userAgent, { absentWhen: NO_AGENT }),
  fact('agent.browser', 'text', 'the family of the browser', ({ facts }) => facts.agent?.browser, {
    absentWhen: NO_AGENT,
  }),
  fact('agent.major', 'number', 'major version of the browser', ({ facts }) => facts.agent?.browserMajor, {
    absentWhen: 'it is unknown',
  }),
  fact('agent.system', 'text', 'the operating system', ({ facts }) => facts.agent?.system, { absentWhen: NO_AGENT }),
  fact('agent.form', 'text', 'desktop, mobile, tablet or other', ({ facts }) => facts.agent?.form, {
    absentWhen: NO_AGENT,
  }),
  fact('agent.bot', 'text', 'name of the crawler or bot', ({ facts }) => facts.agent?.bot, { absentWhen: NOT_SUCH }),
  fact('agent.ai', 'text', 'name of the AI agent', ({ facts }) => facts.agent?.aiAgent, { absentWhen: NOT_SUCH }),
  fact('agent.library', 'text', 'name of the HTTP library', ({ facts }) => facts.agent?.httpLibrary, {
    absentWhen: NOT_SUCH,
  }),
  fact('agent.headless', 'text', 'the mark of automation', ({ facts }) => facts.agent?.headless, {
    absentWhen: NOT_SUCH,
  }),
  fact('agent.claimed', 'text', 'the crawler that it names', ({ facts }) => claimOf(facts)?.name, {
    absentWhen: NOT_SUCH,
  }),
  fact('agent.operator', 'text', 'whose crawler it names', ({ facts }) => claimOf(facts)?.operator, {
    absentWhen: NOT_SUCH,
  }),
  fact(
    'agent.purpose',
    'text',
    'search, ai_training, ai_user, monitor, preview or shopping',
    ({ facts }) => claimOf(facts)?.purpose,
    { absentWhen: NOT_SUCH },
  ),
  fact(
    'agent.verified',
    'text',
    'how it proved it: range (published address), dns (name of its address), signature; none: it did not',
    ({ facts }) => facts.agentProof?.verified,
    { absentWhen: 'it names no crawler, or nothing is known of its operator’s addresses' },
  ),
  fact('agent.app', 'text', 'name of an unknown program', ({ facts }) => facts.agent?.appStack, {
    absentWhen: NOT_SUCH,
  }),
];

const PAGE: readonly DecisionFact[] = [
  fact('page.host', 'text', 'host of the page, lower case', ({ facts }) => pageParts(facts.url)?.host, {
    absentWhen: 'the request has no URL',
  }),
  fact('page.path', 'text', 'path of the page, without its query', ({ facts }) => pageParts(facts.url)?.path, {
    absentWhen: 'the request has no URL',
  }),
  fact('referrer.host', 'text', 'host of the page before', ({ facts }) => pageParts(facts.referrer)?.host, {
    absentWhen: 'the request has no referrer',
  }),
];

type CollectorToken = Extract<TokenFacts, { readonly kind: 'collector' }>;

function ofToken(
  name: string,
  type: ConditionType,
  meaning: string,
  read: (token: CollectorToken, input: DecisionInput) => ConditionValue | null,
  notes: FactNotes = {},
): DecisionFact {
  const absentWhen = notes.absentWhen ?? 'the token is not one of the collector';
  return fact(
    `token.${name}`,
    type,
    meaning,
    (input) => (input.facts.token.kind === 'collector' ? read(input.facts.token, input) : null),
    { ...notes, absentWhen },
  );
}

function ofBrowser(name: string, type: ConditionType, meaning: string, key: keyof TokenSignals): DecisionFact {
  const read = ({ signals }: CollectorToken): ConditionValue | null => signals[key] as ConditionValue | null;
  const notes = {
    absentWhen: 'the collector did not report it',
    ...(type === 'list' ? { itemsMax: SIGNALS_MAX } : {}),
  };
  return ofToken(name, type, meaning, read, notes);
}

const TOKEN: readonly DecisionFact[] = [
  fact('token.kind', 'text', 'collector or opaque', ({ facts }) => facts.token.kind),
  ofToken(
    'age_hours',
    'number',
    'age of the token',
    ({ issuedAtSeconds }, { facts }) => (facts.nowSeconds - issuedAtSeconds) / HOUR_SECONDS,
    {
      unit: 'hours',
    },
  ),
  fact('token.granted', 'boolean', 'a page of the customer made the token', ({ facts }) => facts.grant?.fault === null),
  fact(
    'token.replayed',
    'boolean',
    'the same token was decided before',
    ({ facts }) => facts.history?.isTokenReplayed,
    {
      absentWhen: 'the history is unavailable',
    },
  ),
  ofBrowser('webdriver', 'boolean', 'the browser says that a program drives it', 'webdriver'),
  ofBrowser('languages', 'list', 'languages of the browser', 'languages'),
  ofBrowser('platform', 'text', 'platform that the browser names', 'platform'),
  ofBrowser('time_zone', 'text', 'time zone of the browser', 'timeZone'),
  ofBrowser('touch_points', 'number', 'touches that the screen takes at once', 'touchPoints'),
  ofBrowser('screen_width', 'number', 'width of the screen in CSS pixels', 'screenWidth'),
  ofBrowser('screen_height', 'number', 'height of the screen in CSS pixels', 'screenHeight'),
  ofBrowser('web_view', 'text', 'the kind of app that shows the page', 'webView'),
  ofBrowser('automation', 'list', 'codes of traces of automation', 'automation'),
];

export const REQUEST_FACTS: readonly DecisionFact[] = [...EVENT, ...ADDRESS, ...AGENT, ...PAGE, ...TOKEN];
