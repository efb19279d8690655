import { describe, expect, it } from 'vitest';
import { evaluateRules, tuneRules } from '../../../../src/risk/evaluate.ts';
import type { Facts, GeoFacts } from '../../../../src/risk/facts.ts';
import { fuse } from '../../../../src/risk/fuse.ts';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';
import { CALM_GEO, collectorToken, facts } from '../../../support/facts.ts';
import { history, place } from '../../../support/history.ts';

/** The scenarios of the default rules: the result for each kind of shopper and attacker, with all rules together. */

const TUNED = tuneRules(RULES, DEFAULT_POLICY);

/** Without the collector and with only a city database, like the scenarios, unless a scenario overrides it. */
function judge(overrides: Partial<Facts>) {
  const request = facts({ token: { kind: 'opaque', isBroken: false }, geo: city(), ...overrides });
  return fuse(evaluateRules(TUNED, request, DEFAULT_POLICY).contributions, request, DEFAULT_POLICY);
}

function city(overrides: Partial<GeoFacts> = {}): GeoFacts {
  return { ...CALM_GEO, accuracyKm: null, asn: null, organisation: null, ...overrides };
}

const first = { isFirstEvent: true, ageMs: 0, previousCountry: null };
const stranger = { knownForSeconds: 0 };
/** A session of an unknown identity at an address where all are unknown. */
const cold = (ip: Parameters<typeof history>[0]) =>
  history({ session: first, entities: [stranger], ip: { coldShare10m: 1, coldShare1h: 1, ...ip?.ip } });
const known = history();
const direct = { referrer: null };

interface Walk {
  readonly who: string;
  readonly what: Partial<Facts>;
  readonly reasons: readonly string[];
  readonly score: number;
  readonly decision: string;
}

const SHOPPERS: readonly Walk[] = [
  { who: 'search', what: { eventType: 'search', history: cold({}) }, reasons: [], score: 0, decision: 'ALLOW' },
  { who: 'login after it', what: { eventType: 'login', history: known }, reasons: [], score: 0, decision: 'ALLOW' },
  {
    who: 'checkout after it',
    what: { eventType: 'checkout', history: known },
    reasons: [],
    score: 0,
    decision: 'ALLOW',
  },
  {
    who: 'the same without referrers',
    what: { eventType: 'checkout', ...direct, history: known },
    reasons: ['journey_direct_hit'],
    score: 5,
    decision: 'ALLOW',
  },
  {
    who: 'checkout as first event, from an e-mail',
    what: { eventType: 'checkout', ...direct, history: cold({}) },
    reasons: ['journey_direct_hit'],
    score: 5,
    decision: 'ALLOW',
  },
  {
    who: 'first-time buyer of an integration that asks about payments alone',
    what: { eventType: 'payment', url: null, referrer: null, history: cold({ ip: { coldPayments1h: 1 } }) },
    reasons: ['journey_single_event'],
    score: 10,
    decision: 'ALLOW',
  },
  {
    who: 'from Wi-Fi to a mobile gateway 300 km off',
    what: {
      eventType: 'checkout',
      ...direct,
      history: history({
        session: { networkChanged: true, regions1h: 2 },
        entities: [{ networks1h: 2, places: [place({ latitude: 50.11, longitude: 8.68, ageSeconds: 60 })] }],
      }),
    },
    reasons: ['session_ip_change', 'journey_direct_hit'],
    score: 9.8,
    decision: 'ALLOW',
  },
  {
    who: 'VPN switched on in the middle',
    what: {
      eventType: 'checkout',
      ...direct,
      geo: city({ country: 'NL' }),
      history: history({
        session: { networkChanged: true, regions1h: 2, previousCountryAgeSeconds: 90 },
        entities: [{ networks1h: 2, countries24h: 2, places: [place({ ageSeconds: 60, sameSession: true })] }],
      }),
    },
    reasons: ['session_ip_change', 'session_country_change', 'journey_direct_hit'],
    score: 33.5,
    decision: 'ALLOW_WATCH',
  },
  {
    who: 'the same with an anonymiser database',
    what: {
      geo: city({ country: 'US', latitude: 40.7, longitude: -74, vpn: true }),
      history: history({
        session: { networkChanged: true, regions1h: 2, previousCountryAgeSeconds: 90 },
        entities: [{ networks1h: 2, countries24h: 2, places: [place({ ageSeconds: 60 })] }],
      }),
    },
    reasons: ['ip_vpn', 'session_ip_change', 'session_country_change'],
    score: 44,
    decision: 'ALLOW_WATCH',
  },
  {
    who: 'office of 11 with known people, on a busy Monday morning',
    what: {
      eventType: 'login',
      ...direct,
      history: history({
        session: first,
        ip: { decisions1m: 40, coldLogins10m: 3, coldEntities1h: 3, coldShare10m: 0.27, coldShare1h: 0.2 },
      }),
    },
    reasons: [],
    score: 0,
    decision: 'ALLOW',
  },
  {
    who: 'gateway of a carrier, with many strangers between known people',
    what: {
      eventType: 'login',
      ...direct,
      history: history({
        session: first,
        entities: [stranger],
        ip: { decisions1m: 119, coldLogins10m: 40, coldEntities1h: 200, coldShare10m: 0.6, coldShare1h: 0.6 },
      }),
    },
    reasons: [],
    score: 0,
    decision: 'ALLOW',
  },
  {
    who: 'new phone of a known customer',
    what: {
      eventType: 'login',
      token: collectorToken(),
      history: history({ session: first, entities: [{ deviceIsNew: true, devices24h: 2 }] }),
    },
    reasons: ['device_new_for_entity'],
    score: 15,
    decision: 'ALLOW',
  },
  {
    who: 'passenger who lands after a flight of 2 h 40',
    what: {
      eventType: 'login',
      history: history({
        session: first,
        entities: [{ countries24h: 2, places: [place({ latitude: 40.42, longitude: -3.7, ageSeconds: 9_600 })] }],
      }),
    },
    reasons: ['travel_improbable'],
    score: 20,
    decision: 'ALLOW',
  },
];

const ATTACKERS: readonly Walk[] = [
  {
    who: 'stuffer, 10th login from one address',
    what: { eventType: 'login', url: null, history: cold({ ip: { coldLogins10m: 10, coldEntities1h: 10 } }) },
    reasons: [],
    score: 0,
    decision: 'ALLOW',
  },
  {
    who: 'stuffer, 11th',
    what: { eventType: 'login', url: null, history: cold({ ip: { coldLogins10m: 11, coldEntities1h: 11 } }) },
    reasons: ['velocity_ip_logins_10m', 'velocity_ip_entities_1h'],
    score: 60,
    decision: 'SOFT_CHALLENGE',
  },
  {
    who: 'stuffer, 200th, by a direct hit',
    what: {
      eventType: 'login',
      ...direct,
      history: cold({ ip: { decisions1m: 150, coldLogins10m: 200, coldEntities1h: 200 } }),
    },
    reasons: ['velocity_ip_1m', 'velocity_ip_logins_10m', 'velocity_ip_entities_1h'],
    score: 60,
    decision: 'SOFT_CHALLENGE',
  },
  {
    who: 'carder, 9th checkout from one address',
    what: { eventType: 'checkout', history: cold({ ip: { coldPayments1h: 9, coldEntities1h: 9 } }) },
    reasons: [],
    score: 0,
    decision: 'ALLOW',
  },
  {
    who: 'carder, 10th',
    what: { eventType: 'checkout', history: cold({ ip: { coldPayments1h: 10, coldEntities1h: 10 } }) },
    reasons: ['velocity_ip_payments_1h'],
    score: 55,
    decision: 'SOFT_CHALLENGE',
  },
  {
    who: 'carder, 10th, by payments that open their sessions',
    what: { eventType: 'payment', history: cold({ ip: { coldPayments1h: 10, coldEntities1h: 10 } }) },
    reasons: ['velocity_ip_payments_1h', 'journey_single_event'],
    score: 59.5,
    decision: 'SOFT_CHALLENGE',
  },
  ...([1, 3, 4, 6, 7] as const).map((signups24h): Walk => {
    const score = signups24h > 6 ? 60 : signups24h > 3 ? 25 : 0;
    return {
      who: `sign-up farm, account ${signups24h}`,
      what: { eventType: 'signup', history: cold({ ip: { signups24h } }) },
      reasons: score === 0 ? [] : ['velocity_ip_signups_24h'],
      score,
      decision: score === 60 ? 'SOFT_CHALLENGE' : 'ALLOW',
    };
  }),
  {
    who: 'traveller: a thief of an account, far away',
    what: {
      eventType: 'login',
      geo: city({ country: 'BR', latitude: -23.55, longitude: -46.63 }),
      history: history({ session: first, entities: [{ countries24h: 2, networks1h: 2, places: [place()] }] }),
    },
    reasons: ['travel_impossible'],
    score: 62,
    decision: 'SOFT_CHALLENGE',
  },
  {
    who: 'token on 3 networks',
    what: { eventType: 'search', history: history({ session: { networkChanged: true, regions1h: 3 } }) },
    reasons: ['session_ip_change'],
    score: 5,
    decision: 'ALLOW',
  },
  {
    who: 'token on 4 networks',
    what: { eventType: 'search', history: history({ session: { networkChanged: true, regions1h: 4 } }) },
    reasons: ['session_ip_change', 'session_many_networks'],
    score: 62,
    decision: 'SOFT_CHALLENGE',
  },
  {
    who: 'one script that pays again and again in one session',
    what: {
      eventType: 'payment',
      history: history({ session: { payments1h: 12, rhythm: { events: 12, variation: 0.02 } } }),
    },
    reasons: ['velocity_session_payments_1h', 'velocity_machine_rhythm'],
    score: 50,
    decision: 'SOFT_CHALLENGE',
  },
  {
    who: 'stuffer over many addresses, with fresh tokens, on the first day',
    what: { eventType: 'login', ...direct, history: cold({ ip: { coldLogins10m: 1, coldEntities1h: 1 } }) },
    reasons: [],
    score: 0,
    decision: 'ALLOW',
  },
];

describe.each([
  ['shoppers', SHOPPERS],
  ['attackers', ATTACKERS],
])('%s', (_, walks) => {
  it.each(walks)('The scenario has its reasons, score and decision: $who', ({ what, reasons, score, decision }) => {
    expect(judge(what)).toMatchObject({ reasons, score, decision });
  });
});

it('The history rules of a single family never cause a BLOCK by themselves', () => {
  const everything = history({
    session: { decisions1m: 1e3, payments1h: 1e3, networkChanged: true, regions1h: 9, agentChanged: true },
    ip: { decisions1m: 1e3, coldLogins10m: 1e3, coldEntities1h: 1e3, coldShare10m: 1, coldShare1h: 1 },
    entities: [{ decisions1m: 1e3, networks1h: 9, countries24h: 9, places: [place({ ageSeconds: 60 })] }],
  });
  // One rule of each family: more at once than any single attacker causes.
  expect(judge({ eventType: 'login', history: everything }).decision).toBe('BLOCK');
  for (const family of ['ip_volume', 'entity_volume', 'session_volume', 'movement', 'token']) {
    const rules = TUNED.filter(({ rule }) => rule.family === family);
    const request = facts({ eventType: 'login', history: everything });
    const { contributions } = evaluateRules(rules, request, DEFAULT_POLICY);
    expect(contributions).not.toEqual([]);
    expect(fuse(contributions, request, DEFAULT_POLICY).decision).not.toBe('BLOCK');
  }
});
