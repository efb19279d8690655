import { describe, expect, it } from 'vitest';
import { evaluateRules, tuneRules } from '../../../../src/risk/evaluate.ts';
import type { EntityHistory, HistoryFacts, IpHistory, SurgeHistory } from '../../../../src/risk/history.ts';
import { effectOf, OUTCOMES, stepOf } from '../../../../src/risk/event-outcome.ts';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';
import { facts } from '../../../support/facts.ts';
import { history } from '../../../support/history.ts';

/** The weight of a rule, called like by the engine; null if it is quiet. */
function weightOf(code: string, eventType: string, given: HistoryFacts): number | null {
  const only = tuneRules(RULES, DEFAULT_POLICY).filter(({ rule }) => rule.code === code);
  const fired = evaluateRules(only, facts({ eventType, history: given }), DEFAULT_POLICY).contributions[0];
  return fired === undefined ? null : Number(fired.weight.toFixed(3));
}

describe('what an outcome means', () => {
  it('An outcome is good, bad or neither, depending on the kind of event', () => {
    const effects = (eventType: string) => {
      const step = stepOf(eventType);
      return step === null ? null : OUTCOMES.map((outcome) => effectOf(step, outcome));
    };
    expect(effects('login')).toEqual(['good', 'bad', 'bad', 'good', 'bad']);
    expect(effects('payment')).toEqual(['good', null, 'bad', 'good', 'bad']);
    expect(effects('checkout')).toEqual(effects('payment'));
    expect(effects('signup')).toBeNull();
    expect(effectOf('login', null)).toBeNull();
  });
});

describe('login_failures_entity_1h', () => {
  const guessed = (...entities: readonly Partial<EntityHistory>[]) =>
    weightOf('login_failures_entity_1h', 'login', history({ entities }));

  it('login_failures_entity_1h is quiet for the owner, who has logged in there before', () => {
    expect(guessed({ loginsFailed1h: 12 })).toBe(0.55);
    expect(guessed({ loginsFailed1h: 12, hasSucceededHere: true })).toBeNull();
    expect(guessed({ loginsFailed1h: 12, hasSucceededHere: true }, { loginsFailed1h: 10 })).toBe(0.55);
  });
});

describe('the owner of an account of a day, on its device and network', () => {
  const at = (code: string, count: number, context: object | null, knownForSeconds = 86_400) =>
    weightOf(
      code,
      'login',
      history({
        context,
        entities: [{ loginsFailed1h: count, knownForSeconds }],
        crowd: { account: { name: 'email', logins1h: count } },
      }),
    );

  it.each([
    ['login_failures_entity_1h', 9],
    ['logins_entity_1h', 10],
  ])(
    'The owner of a day-old account on a known device and network may try twice as often before %s fires',
    (code, count) => {
      expect(at(code, count + 1, null)).not.toBeNull();
      expect(at(code, 2 * count, {})).toBeNull();
      expect(at(code, 2 * count + 1, {})).not.toBeNull();
      expect(at(code, count + 1, {}, 86_399)).not.toBeNull();
      expect(at(code, count + 1, { network: 'new' })).not.toBeNull();
    },
  );
});

describe('login_failures_elsewhere_1h', () => {
  const elsewhere = { device: 'new', network: 'new' };
  const at = (loginsFailed1h: number, context: object | null, entity: Partial<EntityHistory> = {}) =>
    weightOf('login_failures_elsewhere_1h', 'login', history({ context, entities: [{ loginsFailed1h, ...entity }] }));

  it('login_failures_elsewhere_1h fires on over 4 failed logins, from a device and a network that are new to the account', () => {
    expect(at(4, elsewhere)).toBeNull();
    expect(at(5, elsewhere)).toBe(0.5);
    expect(at(5, { ...elsewhere, device: 'unknown', exactAgent: 'new' })).toBe(0.5);
  });

  it('login_failures_elsewhere_1h is quiet on a known device or network, for accounts without history, and where a login succeeded', () => {
    expect(at(9, { ...elsewhere, device: 'known' })).toBeNull();
    expect(at(9, { ...elsewhere, network: 'known' })).toBeNull();
    expect(at(9, null)).toBeNull();
    expect(at(9, elsewhere, { hasSucceededHere: true })).toBeNull();
  });
});

describe('login_failures_ip_24h', () => {
  const failing = { loginsFailed24h: 12, accountsFailing24h: 3 };
  const at = (ip: Partial<IpHistory>, entity: Partial<EntityHistory> = { networkIsNew: true }, strangers24h = 3) =>
    weightOf(
      'login_failures_ip_24h',
      'login',
      history({ ip, entities: [entity], crowd: { address: { logins24h: 12, strangers24h, usualShare: 0.2 } } }),
    );

  it('login_failures_ip_24h requires over four failures for each account that succeeded, and one that did not', () => {
    expect(at({ ...failing, accountsSucceeded24h: 2 })).toBe(0.55);
    expect(at({ ...failing, accountsSucceeded24h: 3 })).toBeNull();
    expect(at({ ...failing, accountsFailing24h: 1 })).toBe(0.55);
    expect(at({ ...failing, accountsFailing24h: 0 })).toBeNull();
  });

  it('login_failures_ip_24h also fires if over 8 accounts fail, however often others succeed, until as many known ones do', () => {
    const few = { loginsFailed24h: 9, accountsSucceeded24h: 20 };
    expect(at({ ...few, accountsFailing24h: 8 })).toBeNull();
    expect(at({ ...few, accountsFailing24h: 9 })).toBe(0.55);
    expect(at({ ...few, accountsFailing24h: 9, knownAccountsSucceeded24h: 8 })).toBe(0.55);
    expect(at({ ...few, accountsFailing24h: 9, knownAccountsSucceeded24h: 9 })).toBeNull();
    expect(at({ ...few, accountsFailing24h: 9, accountsSucceeded24h: 35 })).toBe(0.55);
    expect(at({ ...few, accountsFailing24h: 9, accountsSucceeded24h: 36 })).toBeNull();
  });

  it('login_failures_ip_24h is quiet for accounts that were on the network before', () => {
    expect(at(failing, {})).toBeNull();
  });

  it('login_failures_ip_24h is quiet for a forgotten password: one account that fails again, and no unknown ones', () => {
    expect(at(failing, { networkIsNew: true }, 2)).toBeNull();
    expect(at(failing, { networkIsNew: true, loginsFailed1h: 4 })).toBeNull();
  });
});

describe('a surge', () => {
  const stuffing: SurgeHistory = { networks10m: 20, usual: 2, badShare10m: 0.8 };
  const seen = (surge: Partial<SurgeHistory>, entity: Partial<EntityHistory> = { isNew: true }) =>
    weightOf('login_failures_surge_10m', 'login', history({ entities: [entity], surge: { ...stuffing, ...surge } }));

  it('A surge requires over four deviations above the usual number', () => {
    expect(seen({})).toBe(0.5);
    // (20 − 10) / √11 is 3.0; (20 − 8) / √9 is 4.
    expect(seen({ usual: 10 })).toBeNull();
    expect(seen({ usual: 8 })).toBeNull();
    expect(seen({ usual: 7.9 })).toBe(0.5);
  });

  it('A surge requires that over half of all outcomes are failures', () => {
    expect(seen({ badShare10m: 0.5 })).toBeNull();
    expect(seen({ badShare10m: 0.51 })).toBe(0.5);
  });

  it('A surge applies to unknown accounts, and to accounts on a new network with a new agent', () => {
    expect(seen({}, {})).toBeNull();
    expect(seen({}, { networkIsNew: true })).toBeNull();
    expect(seen({}, { agentIsNew: true })).toBeNull();
    expect(seen({}, { networkIsNew: true, agentIsNew: true })).toBe(0.5);
  });

  it('A surge of declined payments applies to guests, and to no known account', () => {
    const pay = (entities: readonly Partial<EntityHistory>[]) =>
      weightOf('payment_declines_surge_10m', 'checkout', history({ entities, surge: stuffing }));
    expect(pay([])).toBe(0.45);
    expect(pay([{ isNew: true }, {}])).toBeNull();
  });
});

describe('payment_declines_actor_1h', () => {
  const declined = (given: Parameters<typeof history>[0]) =>
    weightOf('payment_declines_actor_1h', 'payment', history(given));

  it('payment_declines_actor_1h counts by session, person or address', () => {
    expect(declined({ session: { declined1h: 4 } })).toBe(0.5);
    expect(declined({ entities: [{}, { declined1h: 4 }] })).toBe(0.5);
    expect(declined({ ip: { declined1h: 4, paid1h: 4 } })).toBe(0.5);
    expect(declined({ session: { declined1h: 3 }, ip: { declined1h: 3 } })).toBeNull();
  });

  it('payment_declines_actor_1h is quiet for an address where most payments succeed', () => {
    expect(declined({ ip: { declined1h: 4, paid1h: 5 } })).toBeNull();
  });
});

describe('rules that outcomes quiet', () => {
  it("velocity_ip_signups_24h weighs 60 % less at a shop's tablet, where customers log in", () => {
    const at = (accountsSucceeded24h: number) =>
      weightOf(
        'velocity_ip_signups_24h',
        'signup',
        history({
          ip: { signups24h: 7, accountsSucceeded24h, knownAccountsSucceeded24h: 5 },
          session: { ageMs: 0 },
        }),
      );
    expect(at(8)).toBe(0.6);
    expect(at(9)).toBe(0.24);
  });

  const cold = { coldLogins10m: 20, coldEntities1h: 20, coldShare10m: 1, coldShare1h: 1 };

  it.each([
    ['velocity_ip_logins_10m', 0.6, 0.24],
    ['velocity_ip_entities_1h', 0.35, 0.14],
  ])('%s weighs 60 %% less if logins at the address succeed', (code, usual, quiet) => {
    const at = (ip: Partial<IpHistory>) => weightOf(code, 'login', history({ ip: { ...cold, ...ip } }));
    expect(at({})).toBe(usual);
    expect(at({ knownAccountsSucceeded24h: 2 })).toBe(usual);
    expect(at({ knownAccountsSucceeded24h: 3 })).toBe(quiet);
    expect(at({ knownAccountsSucceeded24h: 10, accountsFailing24h: 9 })).toBe(quiet);
    expect(at({ knownAccountsSucceeded24h: 10, accountsFailing24h: 10 })).toBe(usual);
    expect(at({ accountsSucceeded24h: 12, accountsFailing24h: 3 })).toBe(quiet);
    expect(at({ accountsSucceeded24h: 12, accountsFailing24h: 4 })).toBe(usual);
  });

  it('velocity_session_payments_1h weighs half if the payments succeeded', () => {
    const paid = (session: object) => weightOf('velocity_session_payments_1h', 'payment', history({ session }));
    expect(paid({ payments1h: 5 })).toBe(0.5);
    expect(paid({ payments1h: 5, paid1h: 4 })).toBe(0.25);
    expect(paid({ payments1h: 5, paid1h: 2 })).toBe(0.25);
    expect(paid({ payments1h: 5, paid1h: 1 })).toBe(0.5);
    expect(paid({ payments1h: 5, paid1h: 3, declined1h: 1 })).toBe(0.25);
    expect(paid({ payments1h: 5, paid1h: 3, declined1h: 2 })).toBe(0.5);
  });

  it('A buyer of many gifts, with at most two cards of an account that has been known for a week, is not challenged up to 19 payments', () => {
    const bought = (payments1h: number, entity: Partial<EntityHistory> = {}, ofActor24h = 1) => {
      const given = history({
        session: { payments1h },
        entities: [{ payments1h, knownForSeconds: 7 * 86_400, ...entity }],
        values: { name: 'card', actor: 'session', ofActor24h, ofBrowser24h: 0, ofAddress24h: 1 },
      });
      return ['velocity_session_payments_1h', 'velocity_entity_payments_1h'].map((code) =>
        weightOf(code, 'payment', given),
      );
    };
    expect(bought(10)).toEqual([0.25, null]);
    expect(bought(19)).toEqual([0.25, null]);
    expect(bought(20)).toEqual([0.5, 0.55]);
    expect(bought(12, { knownForSeconds: 7 * 86_400 - 1 })).toEqual([0.5, 0.55]);
    expect(bought(12, {}, 2)).toEqual([0.25, null]);
    expect(bought(12, {}, 3)).toEqual([0.5, 0.55]);
    // The session pays for other accounts as well.
    expect(bought(12, { payments1h: 11 })).toEqual([0.5, 0.55]);
  });

  it('velocity_session_payments_1h weighs half with at most two cards, up to 9 payments', () => {
    const paid = (payments1h: number, ofActor24h: number) =>
      weightOf(
        'velocity_session_payments_1h',
        'payment',
        history({
          session: { payments1h },
          values: { name: 'card', actor: 'session', ofActor24h, ofBrowser24h: 0, ofAddress24h: ofActor24h },
        }),
      );
    expect([paid(5, 1), paid(9, 2)]).toEqual([0.25, 0.25]);
    expect([paid(5, 3), paid(10, 1)]).toEqual([0.5, 0.5]);
  });
});
