import { describe, expect, it } from 'vitest';
import { evaluateRules, tuneRules } from '../../../../src/risk/evaluate.ts';
import type { Facts } from '../../../../src/risk/facts.ts';
import type { EntityHistory, HistoryFacts, PlaceHistory, SurgeHistory } from '../../../../src/risk/history.ts';
import { DEFAULT_POLICY, type Policy } from '../../../../src/risk/policy/policy.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';
import { fastestLeg } from '../../../../src/risk/travel.ts';
import { CALM_GEO, facts } from '../../../support/facts.ts';
import { history, place } from '../../../support/history.ts';

const EVENT_TYPES = ['login', 'signup', 'checkout', 'payment', 'search', 'password_reset', ''] as const;

/** The result of a rule with its weight, called like by the engine. */
function find(code: string, overrides: Partial<Facts>, thresholds: Policy['thresholds'] = {}) {
  const policy: Policy = { ...DEFAULT_POLICY, thresholds };
  const only = tuneRules(RULES, policy).filter(({ rule }) => rule.code === code);
  expect(only).toHaveLength(1);
  return evaluateRules(only, facts(overrides), policy).contributions[0] ?? null;
}

const weightOf = (...given: Parameters<typeof find>): number | null => find(...given)?.weight ?? null;

/** A rule that counts, and the facts for a number. */
interface Counting {
  readonly weight: number;
  /** The threshold's name, and the default rules' number. */
  readonly name: string;
  readonly threshold: number;
  /** "Over N", or "N or more". */
  readonly fires: 'over' | 'from';
  readonly on: readonly string[];
  readonly history: (count: number) => HistoryFacts;
}

const entity = (overrides: Partial<EntityHistory>): HistoryFacts => history({ entities: [{}, overrides, {}] });
const stranger = (surge: SurgeHistory): HistoryFacts => history({ entities: [{ isNew: true }], surge });
const cold = { coldShare10m: 0.7, coldShare1h: 0.7 };

const COUNTING: Readonly<Record<string, Counting>> = {
  device_many_entities: {
    weight: 0.15,
    name: 'entities',
    threshold: 5,
    fires: 'over',
    on: EVENT_TYPES,
    history: (entities24h) => history({ device: { entities24h } }),
  },
  velocity_ip_1m: {
    weight: 0.2,
    name: 'decisions',
    threshold: 120,
    fires: 'over',
    on: EVENT_TYPES,
    history: (decisions1m) => history({ ip: { decisions1m } }),
  },
  velocity_ip_logins_10m: {
    weight: 0.6,
    name: 'logins',
    threshold: 10,
    fires: 'over',
    on: ['login'],
    history: (coldLogins10m) => history({ ip: { ...cold, coldShare1h: 0, coldLogins10m } }),
  },
  velocity_ip_entities_1h: {
    weight: 0.35,
    name: 'entities',
    threshold: 10,
    fires: 'over',
    on: ['login', 'signup', 'payment', 'checkout'],
    history: (coldEntities1h) => history({ ip: { ...cold, coldShare10m: 0, coldEntities1h } }),
  },
  velocity_ip_signups_24h: {
    weight: 0.25,
    name: 'signups',
    threshold: 3,
    fires: 'over',
    on: ['signup'],
    history: (signups24h) => history({ ip: { signups24h } }),
  },
  velocity_ip_payments_1h: {
    weight: 0.55,
    name: 'payments',
    threshold: 10,
    fires: 'from',
    on: ['payment', 'checkout'],
    history: (coldPayments1h) => history({ ip: { ...cold, coldShare10m: 0, coldPayments1h } }),
  },
  login_failures_ip_24h: {
    weight: 0.55,
    name: 'failures',
    threshold: 8,
    fires: 'over',
    on: ['login'],
    history: (loginsFailed24h) =>
      history({
        ip: { loginsFailed24h, accountsFailing24h: 3 },
        entities: [{ networkIsNew: true }],
        crowd: { address: { logins24h: loginsFailed24h, strangers24h: 3, usualShare: 0.2 } },
      }),
  },
  login_failures_entity_1h: {
    weight: 0.55,
    name: 'failures',
    threshold: 9,
    fires: 'over',
    on: ['login'],
    history: (loginsFailed1h) => entity({ loginsFailed1h }),
  },
  payment_declines_actor_1h: {
    weight: 0.5,
    name: 'declines',
    threshold: 4,
    fires: 'from',
    on: ['payment', 'checkout'],
    history: (declined1h) => entity({ declined1h }),
  },
  login_failures_surge_10m: {
    weight: 0.5,
    name: 'networks',
    threshold: 6,
    fires: 'from',
    on: ['login'],
    history: (networks10m) => stranger({ networks10m, usual: 0, badShare10m: 0.6 }),
  },
  payment_declines_surge_10m: {
    weight: 0.45,
    name: 'networks',
    threshold: 6,
    fires: 'from',
    on: ['payment', 'checkout'],
    history: (networks10m) => stranger({ networks10m, usual: 0, badShare10m: 0.6 }),
  },
  velocity_entity_1m: {
    weight: 0.3,
    name: 'decisions',
    threshold: 20,
    fires: 'over',
    on: EVENT_TYPES,
    history: (decisions1m) => entity({ decisions1m }),
  },
  velocity_entity_payments_1h: {
    weight: 0.55,
    name: 'payments',
    threshold: 10,
    fires: 'from',
    on: ['payment'],
    history: (payments1h) => entity({ payments1h }),
  },
  velocity_entity_devices_24h: {
    weight: 0.3,
    name: 'devices',
    threshold: 4,
    fires: 'over',
    on: EVENT_TYPES,
    history: (devices24h) => entity({ devices24h }),
  },
  velocity_entity_ips_1h: {
    weight: 0.35,
    name: 'networks',
    threshold: 5,
    fires: 'over',
    on: EVENT_TYPES,
    history: (networks1h) => entity({ networks1h }),
  },
  velocity_entity_countries_24h: {
    weight: 0.3,
    name: 'countries',
    threshold: 3,
    fires: 'over',
    on: EVENT_TYPES,
    history: (countries24h) => entity({ countries24h }),
  },
  velocity_session_1m: {
    weight: 0.35,
    name: 'decisions',
    threshold: 60,
    fires: 'over',
    on: EVENT_TYPES,
    history: (decisions1m) => history({ session: { decisions1m } }),
  },
  velocity_session_payments_1h: {
    weight: 0.5,
    name: 'payments',
    threshold: 5,
    fires: 'from',
    on: ['payment'],
    history: (payments1h) => history({ session: { payments1h } }),
  },
  session_many_networks: {
    weight: 0.62,
    name: 'networks',
    threshold: 3,
    fires: 'over',
    on: EVENT_TYPES,
    history: (regions1h) => history({ session: { regions1h } }),
  },
  velocity_machine_rhythm: {
    weight: 0.3,
    name: 'events',
    threshold: 8,
    fires: 'from',
    on: EVENT_TYPES,
    history: (events) => history({ session: { rhythm: { events, variation: 0.05 } } }),
  },
};

describe.each(Object.entries(COUNTING))('%s', (code, { weight, name, threshold, fires, on, history }) => {
  const [eventType = ''] = on;
  const step = fires === 'over' ? 1 : 0;

  it(`The rule fires ${fires} ${threshold}, and not one earlier`, () => {
    const first = threshold + step;
    expect(weightOf(code, { eventType, history: history(first - 1) })).toBeNull();
    expect(weightOf(code, { eventType, history: history(first) })).toBe(weight);
    expect(weightOf(code, { eventType, history: history(first + 1) })).toBe(weight);
  });

  it(`The rule uses the policy's ${name} instead of its own`, () => {
    const first = 40 + step;
    const thresholds = { [`${code}.${name}`]: 40 };
    expect(weightOf(code, { eventType, history: history(first - 1) }, thresholds)).toBeNull();
    const { many = 0 } = RULES.find((rule) => rule.code === code)?.weights ?? {};
    expect(weightOf(code, { eventType, history: history(first) }, thresholds)).toBe(Math.max(weight, many));
  });

  it('The rule fires only on its event types', () => {
    const many = history(threshold + 1);
    const firing = EVENT_TYPES.filter((eventType) => find(code, { eventType, history: many }) !== null);
    expect(new Set(firing)).toEqual(new Set(on));
  });

  it('The rule is quiet without history', () => {
    expect(find(code, { eventType, history: null })).toBeNull();
  });

  it("The rule's evidence has the number and its threshold", () => {
    const evidence = find(code, { eventType, history: history(threshold + 1) })?.evidence ?? '';
    expect(evidence).toContain(String(threshold + 1));
    if (name !== 'events') expect(evidence).toContain(fires === 'over' ? `over ${threshold}` : `${threshold} or more`);
  });
});

describe('rules about addresses', () => {
  const busy = {
    decisions1m: 1e6,
    signups24h: 1e6,
    coldLogins10m: 1e6,
    coldPayments1h: 1e6,
    coldEntities1h: 1e6,
    coldShare10m: 1,
    coldShare1h: 1,
  };
  const fired = (eventType: string, ip: Parameters<typeof history>[0]): string[] =>
    RULES.map(({ code }) => code).filter(
      (code) => code.startsWith('velocity_ip_') && find(code, { eventType, history: history(ip) }) !== null,
    );

  it('Rules about addresses are quiet without a public address', () => {
    for (const eventType of EVENT_TYPES) expect(fired(eventType, { ip: null })).toEqual([]);
    expect(fired('login', { ip: busy })).not.toEqual([]);
  });

  it('Rules that count cold-start events are quiet while too few of the sessions are cold', () => {
    for (const eventType of EVENT_TYPES) {
      const codes = fired(eventType, { ip: { ...busy, coldShare10m: 0.69, coldShare1h: 0.69 } });
      expect(codes).toEqual(
        eventType === 'signup' ? ['velocity_ip_1m', 'velocity_ip_signups_24h'] : ['velocity_ip_1m'],
      );
    }
  });

  it.each([
    ['velocity_ip_logins_10m', 'login', { coldLogins10m: 11, coldShare10m: 0.5 }],
    ['velocity_ip_entities_1h', 'login', { coldEntities1h: 11, coldShare1h: 0.5 }],
    ['velocity_ip_payments_1h', 'payment', { coldPayments1h: 10, coldShare1h: 0.5 }],
  ])("%s uses the policy's share of cold sessions", (code, eventType, ip) => {
    const request = { eventType, history: history({ ip }) };
    expect(find(code, request)).toBeNull();
    expect(find(code, request, { [`${code}.coldShare`]: 0.5 })).not.toBeNull();
    expect(find(code, request, { [`${code}.coldShare`]: 0.51 })).toBeNull();
  });

  it('Sign-ups of an address weigh more over 6', () => {
    const signups = (signups24h: number) => ({
      eventType: 'signup',
      history: history({ ip: { signups24h }, session: { ageMs: 0 } }),
    });
    const code = 'velocity_ip_signups_24h';
    expect(weightOf(code, signups(6))).toBe(0.25);
    expect(weightOf(code, signups(7))).toBe(0.6);
    expect(weightOf(code, signups(7), { [`${code}.signupsMany`]: 7 })).toBe(0.25);
    expect(find(code, signups(7))?.evidence).toContain('over 6');
  });

  it('Up to 35 sign-ups of sessions that began over 12 s before count as a class that signs up by hand', () => {
    const code = 'velocity_ip_signups_24h';
    const signups = (signups24h: number, ageMs: number) => ({
      eventType: 'signup',
      history: history({ ip: { signups24h }, session: { isFirstEvent: false, ageMs } }),
    });
    expect(weightOf(code, signups(35, 12_001))).toBe(0.25);
    expect(weightOf(code, signups(36, 12_001))).toBe(0.6);
    expect(weightOf(code, signups(7, 12_000))).toBe(0.6);
    expect(weightOf(code, signups(7, 10_001), { [`${code}.byHandSeconds`]: 10 })).toBe(0.25);
    expect(weightOf(code, signups(20, 20_000), { [`${code}.byHandSignups`]: 19 })).toBe(0.6);
    // A policy that allows more for all sessions allows it for these, too.
    expect(weightOf(code, signups(40, 20_000), { [`${code}.signupsMany`]: 40 })).toBe(0.25);
  });
});

describe('device_new_for_entity', () => {
  const code = 'device_new_for_entity';
  const known = (knownForSeconds: number, deviceIsNew = true) => ({
    history: entity({ name: 'user_id', knownForSeconds, deviceIsNew }),
  });

  it('device_new_for_entity fires on a new device of an entity that has been known for over 24 h', () => {
    expect(weightOf(code, known(86_400))).toBeNull();
    expect(weightOf(code, known(86_401))).toBe(0.15);
    expect(find(code, known(90_000))?.evidence).toContain('user_id');
  });
  it('device_new_for_entity is quiet on a known device, and without history', () => {
    expect(find(code, known(90_000, false))).toBeNull();
    expect(find(code, { history: null })).toBeNull();
  });
  it("device_new_for_entity uses the policy's hours", () => {
    expect(find(code, known(7_200), { [`${code}.knownHoursMin`]: 1 })).not.toBeNull();
    expect(find(code, known(90_000), { [`${code}.knownHoursMin`]: 48 })).toBeNull();
  });
});

describe('velocity_machine_rhythm', () => {
  const code = 'velocity_machine_rhythm';
  const rhythm = (variation: number) => ({ history: history({ session: { rhythm: { events: 8, variation } } }) });

  it('velocity_machine_rhythm fires under 10 % of variation', () => {
    expect(weightOf(code, rhythm(0.099))).toBe(0.3);
    expect(weightOf(code, rhythm(0.1))).toBeNull();
    expect(weightOf(code, rhythm(0.101))).toBeNull();
  });
  it('velocity_machine_rhythm is quiet with too few events', () => {
    expect(find(code, { history: history({ session: { rhythm: null } }) })).toBeNull();
  });
  it("velocity_machine_rhythm uses the policy's variation", () => {
    expect(find(code, rhythm(0.15), { [`${code}.variationMax`]: 0.2 })).not.toBeNull();
  });
});

/** 877 km away, 837 beyond both radii. */
function fromParis(overrides: Partial<PlaceHistory>, ofEntity: Partial<EntityHistory> = {}): Partial<Facts> {
  return { history: entity({ name: 'user_id', places: [place(overrides)], ...ofEntity }) };
}

describe('travel', () => {
  const codes = (overrides: Partial<Facts>, thresholds: Policy['thresholds'] = {}): string[] =>
    ['travel_impossible', 'travel_improbable'].filter((code) => find(code, overrides, thresholds) !== null);
  /** The age of the location that gives this speed. */
  const at = (kmh: number): Partial<PlaceHistory> => ({ ageSeconds: (837.5 / kmh) * 3_600 });

  it('Travel is impossible over 1,000 km/h and improbable from 500 km/h on', () => {
    expect(codes(fromParis(at(1_005)))).toEqual(['travel_impossible']);
    expect(codes(fromParis(at(995)))).toEqual(['travel_improbable']);
    expect(codes(fromParis(at(505)))).toEqual(['travel_improbable']);
    expect(codes(fromParis(at(495)))).toEqual([]);
    expect(weightOf('travel_impossible', fromParis(at(2_000)))).toBe(0.62);
    expect(weightOf('travel_improbable', fromParis(at(700)))).toBe(0.2);
  });

  it('The travel rules require over 500 km beyond both radii', () => {
    expect(codes(fromParis({ ageSeconds: 60, accuracyKm: 350 }))).toEqual(['travel_impossible']);
    expect(codes(fromParis({ ageSeconds: 60, accuracyKm: 360 }))).toEqual([]);
    // Without a radius from the database both count as 200 km.
    const geo = { ...CALM_GEO, accuracyKm: null };
    expect(codes({ ...fromParis({ ageSeconds: 60, accuracyKm: 170 }), geo })).toEqual(['travel_impossible']);
    expect(codes({ ...fromParis({ ageSeconds: 60, accuracyKm: 200 }), geo })).toEqual([]);
  });

  it("The travel rules use the policy's numbers", () => {
    expect(codes(fromParis(at(995)), { 'travel_impossible.kmhMin': 900 })).toContain('travel_impossible');
    expect(codes(fromParis(at(2_000)), { 'travel_impossible.kmMin': 900 })).toEqual([]);
    expect(codes(fromParis(at(300)), { 'travel_improbable.kmhMin': 200 })).toEqual(['travel_improbable']);
    expect(codes(fromParis(at(1_100)), { 'travel_improbable.kmhMax': 1_200 })).toContain('travel_improbable');
    expect(codes(fromParis(at(700)), { 'travel_improbable.kmMin': 900 })).toEqual([]);
  });

  it('Travel at exactly 1,000 km/h is improbable and not impossible', () => {
    const overrides = fromParis(at(700));
    const leg = fastestLeg({ latitude: 52.52, longitude: 13.4, accuracyKm: 20 }, [place(at(700))], 500);
    const kmh = leg?.kmh ?? 0;
    expect(kmh).toBeCloseTo(700, -1);
    expect(codes(overrides, { 'travel_impossible.kmhMin': kmh })).toEqual(['travel_improbable']);
    expect(codes(overrides, { 'travel_improbable.kmhMin': kmh })).toEqual(['travel_improbable']);
    expect(codes(overrides, { 'travel_improbable.kmhMax': kmh })).toEqual(['travel_improbable']);
    expect(codes(overrides, { 'travel_improbable.kmMin': leg?.km ?? 0 })).toEqual([]);
  });

  it('The travel rules use the fastest leg of all entities and locations', () => {
    const slow = { name: 'phone', places: [place(at(600))] };
    const fast = { name: 'user_id', places: [place(at(200)), place({ ...at(3_000), country: 'BE' })] };
    const overrides = { history: history({ entities: [slow, fast, slow] }) };
    expect(codes(overrides)).toEqual(['travel_impossible']);
    expect(find('travel_impossible', overrides)?.evidence).toMatch(/^user_id: from BE /);
  });

  it("The evidence of travel has both locations, distance and time, but not the entity's value", () => {
    const entities = [{ name: 'email', value: 'anna@shop.example' }];
    const found = find('travel_impossible', { ...fromParis({ ageSeconds: 1_800 }), entities });
    expect(found?.evidence).toBe('user_id: from FR 48.9,2.4 to DE 52.5,13.4, 837 km beyond both radii in 0.5 h');
    const long = find('travel_impossible', fromParis({ ageSeconds: 60 }, { name: 'x'.repeat(300) }));
    expect(long?.evidence.length).toBeLessThanOrEqual(200);
    expect(long?.evidence).toContain(`${'x'.repeat(64)}: from`);
  });

  const fast = fromParis({ ageSeconds: 60 });
  it.each<[string, Partial<Facts>]>([
    ['within one session', fromParis({ ageSeconds: 60, sameSession: true })],
    ['near a familiar location', fromParis({ ageSeconds: 60 }, { placeIsFamiliar: true })],
    ['from a location of over 24 h ago', fromParis({ ageSeconds: 86_401 })],
    ['without a GeoIP database', { ...fast, geo: null }],
    ['without coordinates', { ...fast, geo: { ...CALM_GEO, latitude: null } }],
    ['behind a private relay', { ...fast, geo: { ...CALM_GEO, relay: true } }],
    ['behind a relay of the policy', { ...fast, geo: { ...CALM_GEO, asn: 36_183 } }],
    ['behind a VPN', { ...fast, geo: { ...CALM_GEO, vpn: true } }],
    ['without history', { ...fast, history: null }],
    ['without entities', { history: history({ entities: [] }) }],
  ])('The travel rules are quiet %s', (_, overrides) => {
    expect(codes(fast)).toEqual(['travel_impossible']);
    expect(codes(overrides)).toEqual([]);
  });
});

describe('sessions that move', () => {
  it('session_ip_change fires on another network', () => {
    expect(weightOf('session_ip_change', { history: history({ session: { networkChanged: true } }) })).toBe(0.05);
    expect(find('session_ip_change', { history: history() })).toBeNull();
    expect(find('session_ip_change', { history: null })).toBeNull();
  });

  it('session_agent_change fires on another browser or system', () => {
    expect(weightOf('session_agent_change', { history: history({ session: { agentChanged: true } }) })).toBe(0.35);
    const moved = history({ session: { agentChanged: true, networkChanged: true } });
    expect(weightOf('session_agent_change', { history: moved })).toBe(0.5);
    expect(find('session_agent_change', { history: history() })).toBeNull();
    expect(find('session_agent_change', { history: null })).toBeNull();
  });

  describe('session_country_change', () => {
    const code = 'session_country_change';
    const after = (previousCountryAgeSeconds: number, previousCountry: string | null = 'FR') => ({
      history: history({ session: { previousCountry, previousCountryAgeSeconds } }),
    });

    it('session_country_change fires on another country within 30 min', () => {
      expect(weightOf(code, after(0))).toBe(0.3);
      expect(weightOf(code, after(1_800))).toBe(0.3);
      expect(weightOf(code, after(1_801))).toBeNull();
      expect(find(code, after(720))?.evidence).toBe('DE, 12 min after FR');
    });
    it('session_country_change fires for a VPN too', () => {
      expect(weightOf(code, { ...after(60), geo: { ...CALM_GEO, vpn: true } })).toBe(0.3);
    });
    it('session_country_change is quiet in the same country, if one of the two is unknown, and without history', () => {
      expect(find(code, after(60, 'DE'))).toBeNull();
      expect(find(code, after(60, null))).toBeNull();
      expect(find(code, { ...after(60), geo: { ...CALM_GEO, country: null } })).toBeNull();
      expect(find(code, { ...after(60), geo: null })).toBeNull();
      expect(find(code, { history: null })).toBeNull();
    });
    it("session_country_change uses the policy's minutes", () => {
      expect(find(code, after(1_801), { [`${code}.minutesMax`]: 60 })).not.toBeNull();
      expect(find(code, after(601), { [`${code}.minutesMax`]: 10 })).toBeNull();
    });
  });
});

describe('journeys', () => {
  const began = (ageMs: number, isFirstEvent = false) => history({ session: { ageMs, isFirstEvent } });
  const first = began(0, true);

  it('journey_single_event fires on a payment that opens its session', () => {
    const firing = EVENT_TYPES.filter((eventType) => find('journey_single_event', { eventType, history: first }));
    expect(firing).toEqual(['payment']);
    expect(weightOf('journey_single_event', { eventType: 'payment', history: first })).toBe(0.1);
    expect(find('journey_single_event', { eventType: 'payment', history: began(0) })).toBeNull();
    expect(find('journey_single_event', { eventType: 'payment', history: null })).toBeNull();
  });

  it("journey_too_fast fires on a payment or checkout within 3 s of the session's first event", () => {
    const code = 'journey_too_fast';
    const firing = EVENT_TYPES.filter((eventType) => find(code, { eventType, history: began(3_000) }));
    expect(firing).toEqual(['checkout', 'payment']);
    expect(weightOf(code, { history: began(3_000) })).toBe(0.05);
    expect(weightOf(code, { history: began(3_001) })).toBeNull();
    expect(find(code, { history: first })).toBeNull();
    expect(find(code, { history: null })).toBeNull();
    expect(find(code, { history: began(1_001) }, { [`${code}.secondsMax`]: 1 })).toBeNull();
    expect(find(code, { history: began(4_000) }, { [`${code}.secondsMax`]: 4 })).not.toBeNull();
  });

  it("journey_too_fast weighs more from the session's fourth event in these 3 s on, because that is a program", () => {
    const code = 'journey_too_fast';
    const began = (decisions1m: number, ageMs: number) => ({
      eventType: 'payment',
      history: history({ session: { isFirstEvent: false, ageMs, decisions1m } }),
    });
    expect(weightOf(code, began(3, 1_000))).toBe(0.05);
    expect(weightOf(code, began(4, 3_000))).toBe(0.5);
    expect(find(code, began(4, 1_900))?.evidence).toBe('payment 1.9 s after the session began, as its event 4');
    expect(weightOf(code, began(4, 3_001))).toBeNull();
    expect(weightOf(code, began(4, 1_000), { [`${code}.events`]: 5 })).toBe(0.05);
  });
});

describe('thresholds of rules that need no history', () => {
  it.each<[string, Partial<Facts>, Policy['thresholds'], number | null]>([
    ['registry_known_bad', { registry: { risk: 85, customers: 3 } }, { 'registry_known_bad.riskMin': 90 }, null],
    ['registry_known_bad', { registry: { risk: 70, customers: 3 } }, { 'registry_known_bad.riskMin': 70 }, 0.7],
    ['registry_suspicious', { registry: { risk: 85, customers: 3 } }, { 'registry_suspicious.riskMax': 90 }, 0.35],
    ['registry_suspicious', { registry: { risk: 40, customers: 3 } }, { 'registry_suspicious.riskMin': 40 }, 0.35],
    ['session_token_old', {}, { 'session_token_old.ageHoursMin': 0.1 }, 0.05],
    ['session_token_old', { nowSeconds: 0 }, { 'session_token_old.aheadSecondsMin': 1e10 }, null],
    ['device_outdated_browser', { nowSeconds: 4e9 }, { 'device_outdated_browser.ageYearsMin': 200 }, null],
  ])('%s of %j uses the thresholds %j', (code, overrides, thresholds, weight) => {
    expect(weightOf(code, overrides, thresholds)).toBe(weight);
  });

  it('A rule that is evaluated without a threshold uses its own', () => {
    const rule = RULES.find(({ code }) => code === 'registry_suspicious');
    const registry = { risk: 60, customers: 3 };
    expect(rule?.evaluate(facts({ registry }), DEFAULT_POLICY, {})).not.toBeNull();
    expect(rule?.evaluate(facts({ registry }), DEFAULT_POLICY, { riskMin: 61 })).toBeNull();
  });
});

it('A calm shopper with history fires nothing', () => {
  const fired = evaluateRules(tuneRules(RULES, DEFAULT_POLICY), facts({ history: history() }), DEFAULT_POLICY);
  expect(fired.contributions).toEqual([]);
});
