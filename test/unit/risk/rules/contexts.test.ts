import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';
import { evaluateRules, tuneRules } from '../../../../src/risk/evaluate.ts';
import type { Facts } from '../../../../src/risk/facts.ts';
import type { ContextHistory } from '../../../../src/risk/history.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';
import { facts } from '../../../support/facts.ts';
import { history, place } from '../../../support/history.ts';

const TUNED = tuneRules(RULES, DEFAULT_POLICY);

/** The rules that fired, with their weights. */
function fired(overrides: Partial<Facts>): Record<string, number> {
  const { contributions } = evaluateRules(TUNED, facts(overrides), DEFAULT_POLICY);
  return Object.fromEntries(contributions.map(({ rule, weight }) => [rule.code, weight]));
}

const NEW = { device: 'new', exactAgent: 'new', agent: 'new', network: 'new', place: 'new' } as const;
const first = { isFirstEvent: true };

describe('contexts unlike the account', () => {
  const at = (eventType: string, context: Partial<ContextHistory>, session = {}) =>
    fired({ eventType, history: history({ session, context }) });

  it.each(['login', 'checkout', 'payment'])(
    'A new context weighs .50 on a %s if device, network and location are new',
    (eventType) => {
      expect(at(eventType, { ...NEW, ratio: 2.01 }, first)).toMatchObject({ context_unlike_person: 0.5 });
      expect(at(eventType, { ...NEW, ratio: 2 }, first)).not.toHaveProperty('context_unlike_person');
    },
  );

  it('A new context weighs .50 at a lower ratio in a new country, once the account had two sessions or outcomes are reported', () => {
    const abroad = { ...NEW, country: 'new', ratio: 0.81 } as const;
    const surge = { networks10m: 0, usual: 0, badShare10m: 0 };
    const seen = (context: Partial<ContextHistory>, more: Parameters<typeof history>[0] = {}) =>
      fired({ eventType: 'login', history: history({ context, ...more }) })['context_unlike_person'];
    expect(seen({ ...abroad, sessions: 2 })).toBe(0.5);
    expect(seen({ ...abroad, sessions: 1 })).toBeUndefined();
    expect(seen({ ...abroad, sessions: 1 }, { surge })).toBe(0.5);
    expect(seen({ ...abroad, sessions: 2, ratio: 0.8 })).toBeUndefined();
    expect(seen({ ...abroad, sessions: 2, country: 'known' })).toBeUndefined();
  });

  it('A new context weighs .30 if two of its parts are new, or the ratio is lower', () => {
    expect(at('login', { ...NEW, place: 'known', ratio: 2 })).toEqual({ context_partly_unlike: 0.3 });
    expect(at('login', { ...NEW, ratio: 0.81 })).toEqual({ context_partly_unlike: 0.3 });
    expect(at('login', { ...NEW, ratio: 0.8 })).toEqual({});
  });

  it('A context with one new part is quiet, and so are other events', () => {
    expect(at('login', { device: 'new', ratio: 2 })).toEqual({});
    expect(at('search', { ...NEW, ratio: 2 })).toEqual({});
  });

  it('A context uses the user agent if there is no collector, and ignores unknown parts', () => {
    expect(at('login', { ...NEW, device: 'unknown', ratio: 2.1 })).toHaveProperty('context_unlike_person');
    expect(at('login', { ...NEW, device: 'unknown', exactAgent: 'known', ratio: 2 })).toEqual({
      context_partly_unlike: 0.3,
    });
    expect(at('login', { ...NEW, network: 'unknown', place: 'unknown', ratio: 2 })).toEqual({});
  });

  it.each(['checkout', 'payment', 'change_email', 'email-changed', 'shipping_address_update'])(
    'A new context adds .25 on a later %s of the session',
    (eventType) => {
      expect(at(eventType, { ...NEW, place: 'known', ratio: 1.6 })).toMatchObject({ context_then_value: 0.25 });
      expect(at(eventType, { ...NEW, ratio: 1.5 })).not.toHaveProperty('context_then_value');
      expect(at(eventType, { ...NEW, ratio: 1.6 }, first)).not.toHaveProperty('context_then_value');
      expect(at(eventType, { device: 'new', ratio: 1.6 })).not.toHaveProperty('context_then_value');
    },
  );

  it.each(['login', 'search', 'verify_email', 'address_lookup'])(
    'A new context adds nothing on a later %s',
    (eventType) => {
      expect(at(eventType, { ...NEW, ratio: 2 })).not.toHaveProperty('context_then_value');
    },
  );

  it('The evidence of a new context names its new parts in one sentence', () => {
    const request = facts({ eventType: 'login', history: history({ context: { ...NEW, sessions: 30, ratio: 2.34 } }) });
    const { contributions } = evaluateRules(TUNED, request, DEFAULT_POLICY);
    expect(contributions[0]?.evidence).toBe(
      'email: device, network and place are new to an account of 30 sessions, ratio 2.3 (over 2)',
    );
  });
});

describe('travel_impossible', () => {
  const far = place({ latitude: 40.7, longitude: -74, country: 'US' });
  const travel = (context: Partial<ContextHistory> | null, from = far) =>
    fired({ history: history({ context, entities: [{ places: [from] }] }) })['travel_impossible'];

  it('travel_impossible weighs less for devices and agents that the account knows, and within one country', () => {
    expect(travel(null)).toBe(0.62);
    expect(travel(NEW)).toBe(0.62);
    expect(travel({ ...NEW, agent: 'known' })).toBe(0.4);
    expect(travel({ ...NEW, exactAgent: 'known' })).toBe(0.2);
    expect(travel({ ...NEW, device: 'known' })).toBe(0.2);
  });

  it('travel_impossible is quiet between two networks that the account has had for a day', () => {
    expect(travel({ ...NEW, network: 'known' })).toBe(0.62);
    expect(travel({ ...NEW, network: 'known' }, { ...far, isFamiliar: true })).toBeUndefined();
    expect(travel(NEW, { ...far, isFamiliar: true })).toBe(0.62);
  });
});

describe('device_many_entities', () => {
  const shared = (entities24h: number, networks24h: number) =>
    fired({ eventType: 'login', history: history({ device: { entities24h, networks24h } }) })['device_many_entities'];

  it('device_many_entities weighs .15 on a device with up to 2 networks and 60 entities', () => {
    expect(shared(7, 2)).toBe(0.15);
    expect(shared(60, 1)).toBe(0.15);
    expect(shared(61, 1)).toBe(0.5);
  });

  it('device_many_entities requires over 3 entities for each network', () => {
    expect(shared(10, 3)).toBe(0.5);
    expect(shared(9, 3)).toBeUndefined();
  });
});

describe('velocity_entity_1m', () => {
  const made = (eventType: string, own: number) =>
    fired({ eventType, history: history({ session: { decisions1m: own }, entities: [{ decisions1m: 30 }] }) })[
      'velocity_entity_1m'
    ];

  it('velocity_entity_1m weighs .50 if something can be guessed and session or address made half of the decisions', () => {
    expect(['login', 'checkout', 'payment', 'password_reset', 'coupon'].map((type) => made(type, 15))).toEqual(
      Array.from({ length: 5 }, () => 0.5),
    );
    expect(made('search', 30)).toBe(0.3);
    expect(made('login', 14)).toBe(0.3);
  });
});

describe('session_taken_over', () => {
  const taken = (context: Partial<ContextHistory> | null) =>
    fired({ history: history({ session: { leftItsOrigin: true }, context }) })['session_taken_over'];

  it('session_taken_over weighs .50, and is quiet on a device or a network that the account knows', () => {
    expect(taken(null)).toBe(0.5);
    expect(taken(NEW)).toBe(0.5);
    expect(taken({ ...NEW, exactAgent: 'known' })).toBe(0.5);
    expect(taken({ ...NEW, device: 'known' })).toBeUndefined();
    expect(taken({ ...NEW, network: 'known' })).toBeUndefined();
    expect(fired({ history: history() })).not.toHaveProperty('session_taken_over');
  });
});

describe('counts that others raise with the name of an account', () => {
  const driven = { networks1h: 9, countries24h: 5, devices24h: 9, decisions1m: 50, payments1h: 20, declined1h: 9 };
  const strangers = (context: Partial<ContextHistory> | null, session = {}) =>
    fired({ eventType: 'payment', history: history({ session, context, entities: [driven] }) });

  it('Counts raised by others weigh fully against an unknown device and network', () => {
    const full = {
      velocity_entity_ips_1h: 0.35,
      velocity_entity_countries_24h: 0.3,
      velocity_entity_devices_24h: 0.3,
      velocity_entity_1m: 0.3,
      velocity_entity_payments_1h: 0.55,
      payment_declines_actor_1h: 0.5,
    };
    expect(strangers(null)).toEqual(full);
    expect(strangers(NEW)).toEqual(full);
    // Many people have the same user agent.
    expect(strangers({ ...NEW, device: 'unknown', exactAgent: 'known' })).toEqual(full);
  });

  it('Counts raised by others do not weigh against the account on its own device and network', () => {
    expect(strangers({})).toEqual({ velocity_entity_payments_1h: 0.275 });
    expect(strangers({ device: 'unknown' })).toEqual({ velocity_entity_payments_1h: 0.275 });
  });

  it("Counts raised by others weigh half on the account's own device or network", () => {
    expect(strangers({ network: 'new' })).toMatchObject({ velocity_entity_ips_1h: 0.175, velocity_entity_1m: 0.3 });
    expect(strangers({ device: 'new' })).toMatchObject({ velocity_entity_countries_24h: 0.15 });
  });

  it('Counts weigh fully against a session that raised them itself', () => {
    expect(strangers({}, { decisions1m: 40, payments1h: 10 })).toMatchObject({
      velocity_entity_1m: 0.5,
      velocity_entity_payments_1h: 0.55,
    });
  });
});
