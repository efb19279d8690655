import { describe, expect, test } from 'vitest';
import { evaluateRules, hasFired, tuneRules } from '../../../src/risk/evaluate.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import type { Hit, Rule } from '../../../src/risk/rules/rule.ts';
import { RULES } from '../../../src/risk/rules/rule-table.ts';
import { facts } from '../../support/facts.ts';

function rule(code: string, hit: Hit | null, weights: Readonly<Record<string, number>> = { default: 0.4 }): Rule {
  return { code, family: 'client', weights, hint: code, quietedBy: '', evaluate: () => hit };
}

const NINETY_SIX = Array.from({ length: 96 }, (_, i) => rule(`rule_${i}`, { evidence: String(i) }));

describe('evaluating rules', () => {
  test('Rules that fired are returned in the order of the table, with weight and evidence', () => {
    const rules = tuneRules(
      [rule('a', { evidence: 'one' }), rule('b', null), rule('c', { evidence: 'three' })],
      DEFAULT_POLICY,
    );
    const evaluated = evaluateRules(rules, facts(), DEFAULT_POLICY);
    expect(evaluated.contributions.map(({ rule: { code }, weight, evidence }) => [code, weight, evidence])).toEqual([
      ['a', 0.4, 'one'],
      ['c', 0.4, 'three'],
    ]);
    expect([hasFired(evaluated, 'a'), hasFired(evaluated, 'b'), hasFired(evaluated, 'd')]).toEqual([
      true,
      false,
      false,
    ]);
    expect([evaluated.rulesLow, evaluated.rulesHigh]).toEqual([0b101, 0]);
  });

  test('A level has its own weight, a scale multiplies it, and an unknown level weighs nothing', () => {
    const weights = { default: 0.2, high: 0.6 };
    const rules = tuneRules(
      [
        rule('a', { evidence: '', level: 'high' }, weights),
        rule('b', { evidence: '', scale: 0.5 }, weights),
        rule('c', { evidence: '', level: 'nonsense' }, weights),
      ],
      DEFAULT_POLICY,
    );
    expect(evaluateRules(rules, facts(), DEFAULT_POLICY).contributions.map(({ weight }) => weight)).toEqual([
      0.6, 0.1, 0,
    ]);
  });

  test('The policy changes weights by code and by level, and switches rules off', () => {
    const weights = { default: 0.2, high: 0.6 };
    const policy = {
      ...DEFAULT_POLICY,
      weights: { a: 0.9, 'a.high': 0.1, 'b.default': 0.7 },
      rulesOff: ['c', 'not a rule'],
    };
    const rules = tuneRules([rule('a', null, weights), rule('b', null, weights), rule('c', null, weights)], policy);
    expect(rules.map(({ weights: tuned }) => tuned)).toEqual([
      { default: 0.9, high: 0.1 },
      { default: 0.2, high: 0.6 },
    ]);
  });

  test('A weight of 0 in the policy applies, and does not count as absent', () => {
    const [tuned] = tuneRules([rule('a', null)], { ...DEFAULT_POLICY, weights: { a: 0 } });
    expect(tuned?.weights['default']).toBe(0);
  });

  test('Switching a rule off does not shift the bits of the other rules', () => {
    const rules = tuneRules(NINETY_SIX, { ...DEFAULT_POLICY, rulesOff: ['rule_0', 'rule_40', 'rule_64'] });
    const evaluated = evaluateRules(rules, facts(), DEFAULT_POLICY);
    expect(evaluated.rulesLow).toBe(0xffff_fffe);
    expect(evaluated.rulesHigh).toBe(0xffff_feff);
    expect(evaluated.rulesTop).toBe(0xffff_fffe);
  });

  test.each([0, 1, 31, 32, 62, 63, 64, 95])('Rule %d has the bit of its position, as an unsigned number', (at) => {
    const one = NINETY_SIX.map((candidate, i) => (i === at ? candidate : rule(candidate.code, null)));
    const { rulesLow, rulesHigh, rulesTop } = evaluateRules(tuneRules(one, DEFAULT_POLICY), facts(), DEFAULT_POLICY);
    expect((BigInt(rulesTop) << 64n) | (BigInt(rulesHigh) << 32n) | BigInt(rulesLow)).toBe(1n << BigInt(at));
  });

  test('The calm shopper of the tests fires no rule', () => {
    const evaluated = evaluateRules(tuneRules(RULES, DEFAULT_POLICY), facts(), DEFAULT_POLICY);
    expect(evaluated.contributions.map(({ rule: { code } }) => code)).toEqual([]);
  });
});
