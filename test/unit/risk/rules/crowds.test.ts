import { describe, expect, it } from 'vitest';
import {
  isValueKey,
  type CrowdHistory,
  type NetworkColdLogins,
  type ValuesHistory,
} from '../../../../src/risk/crowds.ts';
import { evaluateRules, tuneRules } from '../../../../src/risk/evaluate.ts';
import type { HistoryFacts, IpHistory } from '../../../../src/risk/history.ts';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';
import { facts } from '../../../support/facts.ts';
import { history } from '../../../support/history.ts';

const DAY = 86_400;
const EVENT_TYPES = ['login', 'signup', 'checkout', 'payment', 'search'] as const;

/** The result of a rule, called like by the engine; null if it is quiet. */
function find(code: string, eventType: string, given: HistoryFacts) {
  const only = tuneRules(RULES, DEFAULT_POLICY).filter(({ rule }) => rule.code === code);
  expect(only).toHaveLength(1);
  const fired = evaluateRules(only, facts({ eventType, history: given }), DEFAULT_POLICY).contributions[0];
  return fired === undefined ? null : { weight: Number(fired.weight.toFixed(3)), evidence: fired.evidence };
}

/** The event types on which a rule fires. */
function typesOf(code: string, given: HistoryFacts): string[] {
  return EVENT_TYPES.filter((eventType) => find(code, eventType, given) !== null);
}

const crowd = (given: Partial<CrowdHistory>, more: Parameters<typeof history>[0] = {}): HistoryFacts =>
  history({ ...more, crowd: given });

describe.each([
  [
    'strangers_surge_10m',
    'login',
    9,
    'logins of unknown identities, from 9 networks in 10 min (9 or more; usually 0.0)',
  ],
  ['signup_surge_1h', 'signup', 14, 'sign-ups from 14 networks in 1 h (14 or more; usually 0.0)'],
])('%s', (code, eventType, least, evidence) => {
  const seen = (networks: number, usual = 0, customerAgeSeconds = 8 * DAY) =>
    find(code, eventType, crowd({ surge: { networks, slowNetworks: 0, usual }, customerAgeSeconds }));

  it('The surge rule fires from its number of networks on, and its evidence has the usual number', () => {
    expect(seen(least - 1)).toBeNull();
    expect(seen(least)).toEqual({ weight: 0.5, evidence });
  });

  it('The surge rule fires only over 4.5 deviations above the usual number', () => {
    // (44 - 20) / √21 is 5.2, (40 - 20) / √21 is 4.4.
    expect(seen(44, 20)).not.toBeNull();
    expect(seen(40, 20)).toBeNull();
  });

  it('The surge rule is quiet in the first day of a customer and on other events', () => {
    expect(seen(least, 0, DAY - 1)).toBeNull();
    expect(seen(least, 0, DAY)).not.toBeNull();
    expect(typesOf(code, crowd({ surge: { networks: 50, slowNetworks: 0, usual: 0 } }))).toEqual([eventType]);
  });
});

describe('crowds of unknown accounts', () => {
  const stuffing = {
    surge: { networks: 50, slowNetworks: 0, usual: 0 },
    agent: { networks1h: 12, share: 0.9, usualShare: 0.01 },
  };
  const at = (code: string, strangers24h: number) =>
    find(code, 'login', crowd({ ...stuffing, address: { logins24h: 100, strangers24h, usualShare: 0.1 } }));

  it.each(['strangers_surge_10m', 'agent_surge_1h'])(
    '%s is quiet at an address to which known accounts return',
    (code) => {
      expect(at(code, 90)).not.toBeNull();
      expect(at(code, 89)).toBeNull();
    },
  );

  it('Unknown accounts are also detected on events that ask for codes, which customers name themselves', () => {
    const seen = (eventType: string) => find('strangers_surge_10m', eventType, crowd(stuffing))?.evidence ?? null;
    expect(seen('password_reset')).toContain('"password_reset" events of unknown identities, from 50 networks');
    expect(
      ['verify-otp', 'apply_coupon', 'gift_card_check', 'enter_pin'].filter((type) => seen(type) === null),
    ).toEqual([]);
    expect(['page_view', 'encode_video', 'shipping', 'recorder'].filter((type) => seen(type) !== null)).toEqual([]);
  });

  it('strangers_surge_10m is quiet while at most half of the reported outcomes are failures, as in a sale', () => {
    const seen = (badShare10m: number) =>
      find('strangers_surge_10m', 'login', crowd(stuffing, { surge: { networks10m: 9, usual: 0, badShare10m } }));
    expect(seen(0.5)).toBeNull();
    expect(seen(0.51)).not.toBeNull();
  });
});

describe('sign-ups of a network', () => {
  const seen = (signups1h: number, addresses1h = 5, networks1h = 10) =>
    find('velocity_ip_signups_24h', 'signup', crowd({ signups: { signups1h, addresses1h, networks1h } }));

  it('Sign-ups of a network weigh .50 over 12, from 5 addresses on', () => {
    expect(seen(13)).toEqual({
      weight: 0.5,
      evidence: '13 sign-ups from 5 addresses of the network in 1 h (over 12)',
    });
    expect(seen(12)).toBeNull();
    expect(seen(13, 4)).toBeNull();
  });

  it("Sign-ups of a carrier's network are quiet for a customer with many networks", () => {
    expect(seen(13, 5, 51)).not.toBeNull();
    expect(seen(13, 5, 52)).toBeNull();
  });
});

describe('rules about crowds of unknown accounts', () => {
  const seen = (code: string, eventType: string, ageMs: number, slowNetworks = 0) =>
    find(
      code,
      eventType,
      crowd(
        { surge: { networks: 50, slowNetworks, usual: 0 } },
        { session: { ageMs }, entities: [{ isNew: true }], surge: { networks10m: 50, usual: 0, badShare10m: 1 } },
      ),
    );

  it.each([
    ['strangers_surge_10m', 'login'],
    ['login_failures_surge_10m', 'login'],
    ['signup_surge_1h', 'signup'],
  ])(
    '%s weighs 60 %% less in a session that began over 20 s before, unless most of the surge are such sessions',
    (code, eventType) => {
      expect(seen(code, eventType, 20_000)?.weight).toBe(0.5);
      expect(seen(code, eventType, 20_001)?.weight).toBe(0.2);
      expect(seen(code, eventType, 33_000)?.evidence).toContain('; its session began 33 s before');
      expect(seen(code, eventType, 33_000, 25)?.weight).toBe(0.2);
      expect(seen(code, eventType, 33_000, 26)?.weight).toBe(0.5);
    },
  );
});

describe('agent_surge_1h', () => {
  const seen = (networks1h: number, share: number, usualShare: number, customerAgeSeconds = 8 * DAY) =>
    find('agent_surge_1h', 'login', crowd({ agent: { networks1h, share, usualShare }, customerAgeSeconds }));

  it('agent_surge_1h fires on 10 networks with over 8 times the usual share', () => {
    expect(seen(10, 0.5, 0.06)).toEqual({
      weight: 0.4,
      evidence:
        'unknown identities with exactly this agent on 10 networks in 1 h (10 or more), 50 % of them; usually 6.0 %',
    });
    expect(seen(9, 0.5, 0.06)).toBeNull();
    expect(seen(10, 0.48, 0.06)).toBeNull();
  });

  it('agent_surge_1h is quiet in the first day of a customer, and on other events', () => {
    expect(seen(50, 1, 0, DAY - 1)).toBeNull();
    expect(typesOf('agent_surge_1h', crowd({ agent: { networks1h: 50, share: 1, usualShare: 0 } }))).toEqual([
      'login',
      'signup',
    ]);
  });
});

describe('values_per_actor_24h', () => {
  const seen = (given: Partial<ValuesHistory>, ip: Partial<IpHistory> = {}) =>
    find(
      'values_per_actor_24h',
      'payment',
      history({
        ip: { coldShare1h: 0.7, declined1h: 3, ...ip },
        values: { name: 'card', actor: 'session', ofActor24h: 1, ofBrowser24h: 0, ofAddress24h: 1, ...given },
      }),
    );

  it('values_per_actor_24h fires on 4 values of an actor and on 6 of an address', () => {
    expect(seen({ ofActor24h: 3 })).toBeNull();
    expect(seen({ ofActor24h: 4 })).toEqual({
      weight: 0.5,
      evidence: '4 values of card with one session in 24 h (4 or more)',
    });
    expect(seen({ ofAddress24h: 5 })).toBeNull();
    expect(seen({ ofAddress24h: 6 })?.evidence).toBe('6 values of card from one address in 24 h (6 or more)');
  });

  it('values_per_actor_24h is quiet for an address to which people return', () => {
    expect(seen({ ofAddress24h: 60 }, { coldShare1h: 0.69 })).toBeNull();
  });

  it('values_per_actor_24h is quiet for an address with under 3 declined payments, or under twice as many as succeeded', () => {
    expect(seen({ ofAddress24h: 60 }, { declined1h: 2 })).toBeNull();
    expect(seen({ ofAddress24h: 60 }, { declined1h: 5, paid1h: 3 })).toBeNull();
    expect(seen({ ofAddress24h: 60 }, { declined1h: 6, paid1h: 3 })).not.toBeNull();
  });

  it('values_per_actor_24h is quiet for a call centre that takes cards of callers, if payments succeed', () => {
    const desk = { actor: 'device', ofActor24h: 9 } as const;
    expect(seen(desk)).not.toBeNull();
    expect(seen(desk, { paid1h: 4 })).toBeNull();
    expect(seen({ ...desk, actor: 'session' }, { paid1h: 4 })).not.toBeNull();
  });

  it('values_per_actor_24h recognises keys that name a means of payment, and no others', () => {
    const keys = ['card', 'card_hash', 'gift_card', 'giftcard', 'IBAN', 'bank_account', 'cardFingerprint'];
    expect(keys.filter((name) => !isValueKey(name))).toEqual([]);
    const others = ['email', 'user_id', 'account', 'cardholder', 'card_type', 'card_bin', 'loyalty_card', 'id_card'];
    expect(others.filter((name) => isValueKey(name))).toEqual([]);
  });
});

describe('logins_entity_1h', () => {
  const seen = (logins1h: number, hasSucceededHere = false) =>
    find(
      'logins_entity_1h',
      'login',
      crowd({ account: { name: 'email', logins1h } }, { entities: [{ hasSucceededHere }] }),
    );

  it('logins_entity_1h fires over 10 logins, and not where the owner has logged in', () => {
    expect(seen(10)).toBeNull();
    expect(seen(11)).toEqual({ weight: 0.5, evidence: 'email: 11 logins in 1 h (over 10)' });
    expect(seen(11, true)).toBeNull();
  });
});

describe('strangers_ip_24h', () => {
  const seen = (
    strangers24h: number,
    logins24h: number,
    usualShare = 0.1,
    more: Parameters<typeof history>[0] = { entities: [{ isNew: true }] },
  ) => find('strangers_ip_24h', 'login', crowd({ address: { strangers24h, logins24h, usualShare } }, more));

  it('strangers_ip_24h fires over 24 logins of unknown accounts that are nine tenths of the logins', () => {
    expect(seen(24, 24)).toBeNull();
    expect(seen(25, 25)).toMatchObject({ weight: 0.5 });
    expect(seen(27, 30)).not.toBeNull();
    expect(seen(27, 31)).toBeNull();
  });

  it("strangers_ip_24h compares with the customer's usual share of unknown accounts", () => {
    // 25 of 25 are 2.9 deviations above a share of 0.55, 100 of 100 are 3.5 above 0.7; a share of 1 is that of the first day.
    expect(seen(25, 25, 0.55)).toBeNull();
    expect(seen(100, 100, 0.7)).not.toBeNull();
    expect(seen(1_000, 1_000, 1)).toBeNull();
  });

  it('strangers_ip_24h is quiet for accounts that were on the network before, and weighs less if logins succeed', () => {
    expect(seen(100, 100, 0.1, { entities: [{}] })).toBeNull();
    const ip = { accountsSucceeded24h: 9, knownAccountsSucceeded24h: 9 };
    expect(seen(100, 100, 0.1, { entities: [{ isNew: true }], ip })?.weight).toBe(0.2);
  });
});

describe('cold_logins_network_1h', () => {
  const ofNetwork = (network: Partial<NetworkColdLogins>, isKnown = false) =>
    find(
      'cold_logins_network_1h',
      'login',
      crowd(
        {
          network: { cold1h: 0, logins1h: 0, addresses1h: 5, failed1h: 0, succeeded1h: 0, usualShare: 0.2, ...network },
        },
        { entities: [{ networkIsNew: !isKnown }] },
      ),
    );
  const seen = (cold1h: number, logins1h: number, addresses1h = 5, usualShare = 0.2, isKnown = false) =>
    ofNetwork({ cold1h, logins1h, addresses1h, usualShare }, isKnown);

  it('cold_logins_network_1h fires over 20 cold-start logins from 5 addresses', () => {
    expect(seen(20, 20)).toBeNull();
    expect(seen(21, 21)?.weight).toBe(0.55);
    expect(seen(21, 21, 4)).toBeNull();
  });

  it('cold_logins_network_1h is quiet in networks with returning accounts, for these accounts, and if cold starts are usual', () => {
    expect(seen(88, 100)).toBeNull();
    expect(seen(95, 100, 5, 0.2, true)).toBeNull();
    expect(seen(95, 100, 5, 0.75)).toBeNull();
  });

  it('cold_logins_network_1h fires on over 10 failed logins, over 80 % of the known outcomes, even if cold starts are usual or few', () => {
    const failing = { cold1h: 14, logins1h: 14, usualShare: 1 };
    expect(ofNetwork({ ...failing, failed1h: 10 })).toBeNull();
    expect(ofNetwork({ ...failing, failed1h: 11, succeeded1h: 2 })).toEqual({
      weight: 0.55,
      evidence: '11 of 13 logins from 5 addresses of the network failed in 1 h (over 10)',
    });
    expect(ofNetwork({ ...failing, failed1h: 12, succeeded1h: 3 })).toBeNull();
    expect(ofNetwork({ ...failing, failed1h: 11, addresses1h: 4 })).toBeNull();
    expect(ofNetwork({ ...failing, failed1h: 11, logins1h: 16 })).toBeNull();
    expect(ofNetwork({ ...failing, failed1h: 11 }, true)).toBeNull();
  });
});

describe('rules about e-mail', () => {
  it('email_same_mailbox fires on 3 spellings, and not on logins', () => {
    expect(find('email_same_mailbox', 'signup', crowd({ spellings30d: 2 }))).toBeNull();
    expect(find('email_same_mailbox', 'signup', crowd({ spellings30d: 3 }))?.weight).toBe(0.55);
    expect(typesOf('email_same_mailbox', crowd({ spellings30d: 9 }))).toEqual(['signup', 'checkout', 'payment']);
  });

  it('email_new_domain_surge fires on 5 networks at a domain of under 3 days, unless the customer is as new', () => {
    const seen = (networks3d: number, knownForSeconds = DAY, customerAgeThenSeconds = 9 * DAY) =>
      find(
        'email_new_domain_surge',
        'signup',
        crowd({ mailDomain: { networks3d, knownForSeconds, customerAgeThenSeconds } }),
      );
    expect(seen(4)).toBeNull();
    expect(seen(5)).toEqual({
      weight: 0.5,
      evidence: 'sign-ups from 5 networks at a mail domain first seen 24 h ago (5 or more)',
    });
    expect(seen(5, 3 * DAY)).toBeNull();
    expect(seen(5, DAY, 3 * DAY - 1)).toBeNull();
  });
});

describe('session_pages', () => {
  it('session_pages fires over 110 events in 10 min, or 240 in 1 h', () => {
    const seen = (events10m: number, events1h: number) =>
      find('session_pages', 'search', history({ session: { pages: { events10m, events1h } } }));
    expect(seen(110, 240)).toBeNull();
    expect(seen(111, 111)).toEqual({ weight: 0.56, evidence: '111 events of the session in 10 min (over 110)' });
    expect(seen(60, 241)?.evidence).toBe('241 events of the session in 1 h (over 240)');
  });
});
