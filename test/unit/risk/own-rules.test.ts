import { describe, expect, test } from 'vitest';
import type { DecisionInput } from '../../../src/risk/conditions/decision-input.ts';
import { fuse } from '../../../src/risk/fuse.ts';
import { countedAttributes, DEFAULT_ATTRIBUTES } from '../../../src/risk/policy/attributes.ts';
import type { OwnRule } from '../../../src/risk/policy/own-rule.ts';
import { evaluateOwnRules, OwnRuleCompiler, type OwnFindings } from '../../../src/risk/policy/own-rules.ts';
import { parsePolicy } from '../../../src/risk/policy/policy-check.ts';
import { compilePolicies } from '../../../src/risk/policy/policy-set.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import { facts, listedAs } from '../../support/facts.ts';
import { history } from '../../support/history.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';

const own = (fields: Partial<OwnRule>): OwnRule => ({
  code: 'own_test',
  when: 'attributes.amount > 500',
  weight: null,
  decision: null,
  mode: 'enforce',
  eventTypes: null,
  note: '',
  expiresAtSeconds: null,
  ...fields,
});

function find(rules: readonly OwnRule[], overrides: Partial<DecisionInput> = {}): OwnFindings {
  return evaluateOwnRules(new OwnRuleCompiler().compile(rules, DEFAULT_POLICY, 'payment'), {
    facts: facts({ eventType: 'payment' }),
    publicKey: false,
    attributes: new Map([['amount', 812.5]]),
    score: 0,
    reasons: [],
    probability: null,
    inList: () => undefined,
    ...overrides,
  });
}

function decide(
  rules: readonly OwnRule[],
  list: 'block' | 'allow' | null = null,
  overrides: Partial<DecisionInput> = {},
): string {
  const found = find(rules, overrides);
  return fuse(found.enforced, { eventType: 'payment', list: listedAs(list) }, DEFAULT_POLICY, found).decision;
}

describe('rules of the customer', () => {
  test('A weight joins the score, and the evidence has the facts with their values', () => {
    const found = find([own({ weight: 0.5 })]);
    expect(found.enforced).toMatchObject([{ weight: 0.5, evidence: 'attributes.amount 812.5' }]);
    expect(fuse(found.enforced, { eventType: 'payment', list: null }, DEFAULT_POLICY, found)).toMatchObject({
      score: 50,
      reasons: ['own_test'],
    });
  });

  test.each([
    [1, ['own_new']],
    [2, ['own_known']],
    // Without a fingerprint nothing is known of a device: neither rule fires.
    [null, []],
  ])('A device that was seen on %s days is new, known, or neither', (days, codes) => {
    const past = history({ device: days === null ? null : { days } });
    const found = find(
      [
        own({ code: 'own_new', when: 'device.new', weight: 0.1 }),
        own({ code: 'own_known', when: 'device.known', weight: 0.1 }),
      ],
      { facts: facts({ eventType: 'payment', history: past }) },
    );
    expect(found.enforced.map(({ rule }) => rule.code)).toEqual(codes);
  });

  test('The severest decision is the mildest one; ALLOW counts alone, and never in a public request', () => {
    expect(decide([own({ decision: 'REVIEW' })])).toBe('REVIEW');
    expect(decide([own({ decision: 'REVIEW' }), own({ code: 'own_b', decision: 'ALLOW_WATCH' })])).toBe('REVIEW');
    const block = own({ code: 'own_weight', weight: 0.95 });
    expect(decide([block, own({ decision: 'ALLOW_WATCH' })])).toBe('BLOCK');
    expect(decide([block, own({ decision: 'ALLOW' })])).toBe('ALLOW');
    expect(decide([block, own({ decision: 'ALLOW' }), own({ code: 'own_b', decision: 'ALLOW_WATCH' })])).toBe('BLOCK');
    expect(decide([block, own({ decision: 'ALLOW' })], null, { publicKey: true })).toBe('BLOCK');
  });

  test('Lists of the customer go before its rules', () => {
    expect(decide([own({ decision: 'BLOCK' })], 'allow')).toBe('ALLOW');
    expect(decide([own({ decision: 'ALLOW' })], 'block')).toBe('BLOCK');
  });

  test('An observed, an expired and an unknown rule change nothing; the observed one is kept', () => {
    const found = find([
      own({ decision: 'BLOCK', mode: 'observe' }),
      own({ code: 'own_expired', decision: 'BLOCK', expiresAtSeconds: 1 }),
      own({ code: 'own_unknown', decision: 'BLOCK', when: 'attributes.item_count > 1' }),
      own({ code: 'own_other', decision: 'BLOCK', eventTypes: ['login'] }),
    ]);
    expect(found).toMatchObject({ enforced: [], floor: null, isExempt: false });
    expect(found.observed).toMatchObject([{ rule: { code: 'own_test' }, decides: 'BLOCK', isObserved: true }]);
  });

  test('Attributes of another type, undeclared ones, and in public requests those that are not public, do not count', () => {
    const sent = new Map<string, number | string>([
      ['amount', '812'],
      ['currency', 'EUR'],
      ['colour', 'red'],
    ]);
    expect([...countedAttributes(sent, DEFAULT_ATTRIBUTES, false).keys()]).toEqual(['currency']);
    expect(countedAttributes(sent, DEFAULT_ATTRIBUTES, true).size).toBe(0);
    const open = { ...DEFAULT_ATTRIBUTES, currency: { type: 'text', isPublic: true } } as const;
    expect([...countedAttributes(sent, open, true).keys()]).toEqual(['currency']);
  });
});

describe('rules in a policy file', () => {
  const file = (rules: unknown, more: object = {}): string => JSON.stringify({ rules, ...more });

  test('They apply by customer and event type; the more specific part replaces a rule with its code', () => {
    const id = `cus_${'0'.repeat(26)}`;
    const text = file([{ code: 'own_a', when: 'score > 1', weight: 0.1 }], {
      attributes: { colour: { type: 'text' } },
      event_types: { login: { rules: [{ code: 'own_b', when: 'attributes.colour == "red"', decision: 'REVIEW' }] } },
      customers: { [id]: { rules: [{ code: 'own_a', when: 'score > 2', weight: 0.2, mode: 'enforce' }] } },
    });
    const parsed = parsePolicy(text);
    if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.faults));
    const set = compilePolicies(parsed.document, () => 7 as CustomerNumber);
    const codes = (customer: number, type: string): unknown =>
      set.of(customer as CustomerNumber, type).own?.map(({ own: { code, weight, mode } }) => [code, weight, mode]) ??
      null;
    expect(codes(1, 'search')).toEqual([['own_a', 0.1, 'observe']]);
    expect(codes(1, 'login')).toEqual([
      ['own_a', 0.1, 'observe'],
      ['own_b', null, 'observe'],
    ]);
    expect(codes(7, 'search')).toEqual([['own_a', 0.2, 'enforce']]);
  });

  test('A rule for one event type is compiled for that type only', () => {
    const parsed = parsePolicy(file([{ code: 'own_a', when: 'score > 1', weight: 0.1, event_types: ['refund'] }]));
    if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.faults));
    const set = compilePolicies(parsed.document, () => null);
    expect(set.of(1 as CustomerNumber, 'refund').own).toHaveLength(1);
    expect(set.of(1 as CustomerNumber, 'login').own).toBeNull();
  });

  test.each<readonly [unknown, string, RegExp]>([
    [[{ code: 'own_a', when: 'scor > 1', weight: 0.1 }], '/rules/0/when', /line 1, column 1: .*Did you mean score/],
    [[{ code: 'a', when: 'score > 1', weight: 0.1 }], '/rules/0/code', /own_/],
    [[{ code: 'own_a', when: 'score > 1' }], '/rules/0', /either weight or decision/],
    [[{ code: 'own_a', when: 'score > 1', weight: 0.1, decision: 'BLOCK' }], '/rules/0', /either weight or decision/],
    [Array.from({ length: 2 }, () => ({ code: 'own_a', when: 'score > 1', weight: 0.1 })), '/rules', /each code once/],
    [Array.from({ length: 201 }, (_none, n) => ({ code: `own_${n}`, when: 'true', weight: 0.1 })), '/rules', /200/],
    [
      Array.from({ length: 150 }, (_none, n) => ({
        code: `own_${n}`,
        when: `page.path.matches("^/${'(ab|cd)'.repeat(20)}")`,
        weight: 0.1,
      })),
      '/rules',
      /steps together/,
    ],
  ])('A file with a wrong rule is refused whole: %#', (rules, pointer, message) => {
    const parsed = parsePolicy(file(rules));
    const faults = parsed.kind === 'faults' ? parsed.faults : [];
    expect(faults.map((fault) => fault.pointer)).toContain(pointer);
    expect(faults.map((fault) => fault.message).join(' ')).toMatch(message);
  });
});
