import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import { testCustomerOf } from '../../../../src/kernel/test-customers.ts';
import { bandsFor } from '../../../../src/risk/fuse.ts';
import { parsePolicy } from '../../../../src/risk/policy/policy-check.ts';
import { compilePolicies, DEFAULT_POLICY_SET, type PolicySet } from '../../../../src/risk/policy/policy-set.ts';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';
import { timesInFull } from '../../../support/long.ts';

const FIRST = 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const SECOND = 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAW';
const [ONE, TWO, OTHER] = [1, 2, 3] as CustomerNumber[] as [CustomerNumber, CustomerNumber, CustomerNumber];

function compile(file: object): PolicySet {
  const parsed = parsePolicy(JSON.stringify(file));
  if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.faults));
  // As it is sent between threads.
  const document = structuredClone(parsed.document);
  return compilePolicies(document, (id) => (id === FIRST ? ONE : id === SECOND ? TWO : null));
}

function weightOf(set: PolicySet, customer: CustomerNumber, eventType: string, code = 'ip_vpn'): number | undefined {
  return set.of(customer, eventType).rules.find(({ rule }) => rule.code === code)?.weights['default'];
}

describe('without a policy file', () => {
  test.each(['login', 'payment', 'checkout', 'search', '', 'constructor', '__proto__'])(
    'Without a policy file the event type %j has the defaults',
    (type) => {
      const active = DEFAULT_POLICY_SET.of(ONE, type);
      expect(active.bands).toEqual(bandsFor(type, DEFAULT_POLICY));
      expect(active.rules.map(({ rule }) => rule)).toEqual(RULES);
      expect(active.modelRule?.rule.code).toBe('model_score');
      expect([...active.ignoredEntityKeys]).toEqual(DEFAULT_POLICY.ignoredEntityKeys);
      expect(active.challenger).toBeNull();
      const { bands, eventTypeBands } = DEFAULT_POLICY;
      expect({ ...active.policy, bands, eventTypeBands }).toEqual(DEFAULT_POLICY);
    },
  );

  test('Without a policy file event types without their own settings share one policy', () => {
    expect(DEFAULT_POLICY_SET.of(ONE, 'login')).toBe(DEFAULT_POLICY_SET.of(TWO, 'something new'));
    expect(DEFAULT_POLICY_SET.of(ONE, 'payment')).toBe(DEFAULT_POLICY_SET.of(TWO, 'payment'));
  });
});

describe('precedence', () => {
  test("A customer's settings apply to its test keys", () => {
    const set = compile(LADDER);
    expect(weightOf(set, testCustomerOf(ONE), 'login')).toBe(0.4);
    expect(weightOf(set, testCustomerOf(OTHER), 'login')).toBe(0.2);
  });

  /** Weights by the part of the file that sets them: each more specific part sets a larger one. */
  const LADDER = {
    weights: { ip_vpn: 0.1, ip_proxy: 0.1 },
    event_types: { login: { weights: { ip_vpn: 0.2 } } },
    customers: {
      [FIRST]: { weights: { ip_vpn: 0.3 }, event_types: { login: { weights: { ip_vpn: 0.4 } } } },
      [SECOND]: { weights: { ip_hosting: 0.9 } },
    },
  };

  test.each([
    ['the top level goes before the defaults', OTHER, 'search', 0.1],
    ['an event type goes before the top level', OTHER, 'login', 0.2],
    ['a customer goes before the top level', ONE, 'search', 0.3],
    ['the event type of a customer goes before all others', ONE, 'login', 0.4],
    ['a customer that does not set it has the value of the top level', TWO, 'search', 0.1],
    ['a customer that does not set it has the value of the event type', TWO, 'login', 0.2],
  ])('Precedence: %s', (_name, customer, type, weight) => {
    expect(weightOf(compile(LADDER), customer, type)).toBe(weight);
  });

  test('A customer overrides the event type of the top level', () => {
    const set = compile({
      event_types: { login: { weights: { ip_vpn: 0.2 } } },
      customers: { [FIRST]: { weights: { ip_vpn: 0.3 } } },
    });
    expect(weightOf(set, ONE, 'login')).toBe(0.3);
  });

  test('Objects of a policy merge name by name', () => {
    const set = compile(LADDER);
    expect(weightOf(set, ONE, 'login', 'ip_proxy')).toBe(0.1);
    expect(weightOf(set, TWO, 'login', 'ip_hosting')).toBe(0.9);
    expect(weightOf(set, OTHER, 'login', 'ip_hosting')).toBe(0.3);
  });

  test('Lists of a policy replace earlier ones', () => {
    const set = compile({
      rules_off: ['ip_vpn'],
      watched_countries: ['KP'],
      watched_asns: [1],
      ignored_entity_keys: ['branch'],
      customers: {
        [FIRST]: { rules_off: ['ip_proxy'], watched_countries: [], event_types: { login: { rules_off: [] } } },
      },
    });
    const off = (customer: CustomerNumber, type: string): string[] => {
      const on = new Set(set.of(customer, type).rules.map(({ rule }) => rule.code));
      return RULES.map(({ code }) => code).filter((code) => !on.has(code));
    };
    expect(off(OTHER, 'login')).toEqual(['ip_vpn']);
    expect(off(ONE, 'search')).toEqual(['ip_proxy']);
    expect(off(ONE, 'login')).toEqual([]);
    expect(set.of(OTHER, '').policy.watchedCountries).toEqual(new Set(['KP']));
    expect(set.of(ONE, '').policy.watchedCountries).toEqual(new Set());
    expect(set.of(ONE, '').policy.watchedAsns).toEqual(new Set([1]));
    expect(set.of(ONE, '').ignoredEntityKeys).toEqual(new Set(['branch']));
  });

  test('A policy sets the weight of one level of a rule by the name code.level', () => {
    const levelled = RULES.find(({ weights }) => Object.keys(weights).some((level) => level !== 'default'));
    const level = Object.keys(levelled?.weights ?? {}).find((name) => name !== 'default');
    const set = compile({ weights: { [`${levelled?.code}.${level}`]: 0.123 } });
    const tuned = set.of(ONE, '').rules.find(({ rule }) => rule === levelled);
    expect(tuned?.weights).toEqual({ ...levelled?.weights, [String(level)]: 0.123 });
  });

  test("A threshold of a policy replaces the rule's own", () => {
    const own = RULES.find(({ thresholds }) => Object.keys(thresholds ?? {}).length > 0);
    const [name = ''] = Object.keys(own?.thresholds ?? {});
    const set = compile({ customers: { [FIRST]: { thresholds: { [`${own?.code}.${name}`]: 77 } } } });
    const tuned = (customer: CustomerNumber) => set.of(customer, '').rules.find(({ rule }) => rule === own);
    expect(tuned(ONE)?.thresholds).toEqual({ ...own?.thresholds, [name]: 77 });
    expect(tuned(OTHER)?.thresholds).toEqual(own?.thresholds);
  });

  test('A model that is switched off has no rule to fire', () => {
    const set = compile({ customers: { [FIRST]: { rules_off: ['model_score'] } } });
    expect(set.of(ONE, '').modelRule).toBeUndefined();
    expect(set.of(OTHER, '').modelRule?.rule.code).toBe('model_score');
  });

  test('A customer without a number has the common policies, with the version of the file', () => {
    const set = compile({ version: 'v3', customers: { [FIRST.replace('V', 'X')]: { sample_rate: 1 } } });
    for (const customer of [ONE, TWO, OTHER]) expect(set.of(customer, 'login')).toBe(set.of(OTHER, 'signup'));
    expect(set.version).toBe('v3');
    expect(set.of(ONE, 'login').policy.version).toBe('v3');
  });
});

describe('the mode', () => {
  test('The mode is enforce, unless the file, an event type or a customer overrides it', () => {
    const file = { event_types: { login: { mode: 'observe' } }, customers: { [FIRST]: { mode: 'observe' } } };
    const modeOf = (customer: CustomerNumber, type: string) => compile(file).of(customer, type).policy.mode;
    expect([modeOf(OTHER, ''), modeOf(OTHER, 'login'), modeOf(ONE, '')]).toEqual(['enforce', 'observe', 'observe']);
    const back = compile({ mode: 'observe', customers: { [FIRST]: { mode: 'enforce' } } });
    expect([back.of(ONE, '').policy.mode, back.of(OTHER, '').policy.mode]).toEqual(['enforce', 'observe']);
  });
});

describe('bands', () => {
  const bandsOf = (file: object, type: string, customer = OTHER): readonly (number | null)[] => {
    const { bands, policy } = compile(file).of(customer, type);
    expect(policy.bands).toBe(bands);
    expect(bandsFor(type, policy)).toBe(bands);
    return [bands.allowWatch, bands.softChallenge, bands.review, bands.block];
  };

  test('Bands include the shift of their event type', () => {
    expect(bandsOf({ bands: { block: 90 } }, 'login')).toEqual([30, 50, null, 90]);
    expect(bandsOf({ bands: { block: 90 } }, 'payment')).toEqual([30, 45, 60, 90]);
    expect(bandsOf({ shifts: { refund: -10 } }, 'refund')).toEqual([30, 40, null, 70]);
    expect(bandsOf({ shifts: { payment: -5 } }, 'payment')).toEqual([30, 40, 55, 75]);
    expect(bandsOf({ shifts: { payment: -5 } }, 'checkout')).toEqual([30, 45, 60, 80]);
  });

  test('Bands have a REVIEW only if the defaults or the file set it', () => {
    const back = { bands: { review: 65 }, event_types: { search: { bands: { review: null } } } };
    expect(bandsOf(back, 'login')).toEqual([30, 50, 65, 80]);
    expect(bandsOf(back, 'payment')).toEqual([30, 45, 65, 80]);
    expect(bandsOf(back, 'search')).toEqual([30, 50, null, 80]);
    expect(bandsOf({ event_types: { login: { bands: { review: 65 } } } }, 'login')).toEqual([30, 50, 65, 80]);
    expect(bandsOf({ bands: { review: null } }, 'checkout')).toEqual([30, 45, null, 80]);
    const customers = { [FIRST]: { bands: { review: 70 } } };
    expect(bandsOf({ customers }, 'login', ONE)).toEqual([30, 50, 70, 80]);
    expect(bandsOf({ customers }, 'login')).toEqual([30, 50, null, 80]);
  });

  test('Bands set for an event type are used as written', () => {
    const file = { event_types: { payment: { bands: { block: 70 } } } };
    expect(bandsOf(file, 'payment')).toEqual([30, 45, 60, 70]);
    const customers = { [FIRST]: { bands: { block: 90 }, shifts: { payment: -1 } } };
    expect(bandsOf({ ...file, customers }, 'payment', ONE)).toEqual([30, 44, 59, 89]);
  });
});

describe('the challenger', () => {
  test('The challenger is applied on top of the active policy, and changes nothing in it', () => {
    const file = {
      weights: { ip_vpn: 0.1 },
      customers: { [FIRST]: { weights: { ip_proxy: 0.2 } } },
    };
    const challenger = {
      version: 'next',
      weights: { ip_vpn: 0.5 },
      rules_off: ['model_score'],
      event_types: { refund: { bands: { block: 66 } } },
    };
    const plain = compile(file);
    const set = compile({ ...file, version: plain.version, challenger });
    for (const type of ['login', 'refund', 'payment']) {
      const { challenger: other, ...active } = set.of(ONE, type);
      expect({ ...active, challenger: null }).toEqual(plain.of(ONE, type));
      const weights = Object.fromEntries(
        (other?.rules ?? []).map(({ rule, weights }) => [rule.code, weights['default']]),
      );
      expect(weights).toMatchObject({ ip_vpn: 0.5, ip_proxy: 0.2 });
      expect(other?.modelRule).toBeUndefined();
      expect(other?.policy.version).toBe('next');
    }
    expect(set.of(ONE, 'refund').challenger?.bands.block).toBe(66);
    expect(set.of(ONE, 'refund').bands.block).toBe(80);
  });
});

describe('many customers', () => {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  const idOf = (n: number): string =>
    `cus_${'0'.repeat(23)}${alphabet[n >> 10]}${alphabet[(n >> 5) & 31]}${alphabet[n & 31]}`;

  test('Policies of many customers share equal parts and keep their own', () => {
    const all = Array.from({ length: 5_000 }, (_, n) => n);
    const file = {
      customers: Object.fromEntries(
        all.map((n) => [idOf(n), n % 2 === 0 ? { sample_rate: n / 5_000 } : { weights: { ip_vpn: n / 5_000 } }]),
      ),
    };
    const parsed = parsePolicy(JSON.stringify(file));
    if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.faults));
    const numbers = new Map(all.map((n) => [idOf(n), (n + 1) as CustomerNumber]));
    const set = compilePolicies(parsed.document, (id) => numbers.get(id) ?? null);
    for (let round = 0; round < 2; round++) {
      const said = all.map((n) => {
        const customer = (n + 1) as CustomerNumber;
        return n % 2 === 0 ? set.of(customer, 'login').policy.sampleRate : weightOf(set, customer, 'login');
      });
      expect(said).toEqual(all.map((n) => n / 5_000));
    }
    const two = set.of(3 as CustomerNumber, 'login');
    expect(set.of(3 as CustomerNumber, 'login')).toBe(two);
    expect(set.of(5 as CustomerNumber, 'login').rules).toBe(two.rules);
    const [a, b] = [set.of(2 as CustomerNumber, '').rules, set.of(4 as CustomerNumber, '').rules];
    expect(a.filter((tuned) => !b.includes(tuned)).map(({ rule }) => rule.code)).toEqual(['ip_vpn']);
  });
});

describe('any file that is valid', () => {
  const near = (band: number) => fc.integer({ min: band - 8, max: band + 8 });
  const bands = fc.record(
    { allow_watch: near(35), soft_challenge: near(50), review: fc.option(near(65)), block: near(85) },
    { requiredKeys: [] },
  );
  const type = fc.constantFrom('login', 'payment', 'search', 'refund');
  const shifts = fc.dictionary(type, fc.integer({ min: -10, max: 10 }), { maxKeys: 3 });
  const part = fc.record(
    { bands, weights: fc.record({ ip_vpn: fc.double({ min: 0, max: 1, noNaN: true }) }) },
    { requiredKeys: [] },
  );
  const scope = fc.record(
    { bands, shifts, event_types: fc.dictionary(type, part, { maxKeys: 3 }) },
    { requiredKeys: [] },
  );
  const file = fc.record(
    {
      bands,
      shifts,
      event_types: fc.dictionary(type, part, { maxKeys: 2 }),
      customers: fc.record({ [FIRST]: scope }),
      challenger: scope,
    },
    { requiredKeys: [] },
  );

  test('Any valid file gives everybody bands that rise', () => {
    let valid = 0;
    fc.assert(
      fc.property(file, (given) => {
        const parsed = parsePolicy(JSON.stringify(given));
        if (parsed.kind === 'faults') {
          for (const { message } of parsed.faults) expect(message).toContain('bands must rise');
          return;
        }
        valid += 1;
        const set = compilePolicies(parsed.document, () => ONE);
        const told: number[][] = [];
        for (const eventType of ['login', 'payment', 'checkout', 'search', 'refund', 'new']) {
          for (const customer of [ONE, OTHER]) {
            const active = set.of(customer, eventType);
            for (const { bands: all } of [active, active.challenger ?? active]) {
              const review = all.review ?? all.softChallenge + 2e-9;
              told.push([0, all.allowWatch, all.softChallenge - 1e-9, review - 2e-9, all.block - 3e-9, 100]);
            }
          }
        }
        expect(told).toEqual(told.map((rising) => rising.toSorted((a, b) => a - b)));
      }),
      { seed: 20_261_121, numRuns: timesInFull(2_000) },
    );
    expect(valid).toBeGreaterThan(200);
  });
});
