import { describe, expect, test } from 'vitest';
import type { PolicyBody, RuleCountsBody } from '../../../src/contract/wire-types.ts';
import {
  selectRules,
  toRuleRows,
  type RuleSort,
  type RuleState,
} from '../../../src/web/dashboard/pages/rules/rule-rows.ts';

function rule(reason: string, fields: Partial<PolicyBody['rules'][number]> = {}): PolicyBody['rules'][number] {
  const settings = { enabled: true, weight: 0.5, levels: { default: 0.5 }, thresholds: {} };
  const texts = { sentence: `found ${reason}`, what_quiets_it: '' };
  return {
    reason,
    title: `Title ${reason}`,
    family: 'client',
    is_changed: false,
    event_types: [],
    ...settings,
    ...texts,
    ...fields,
  };
}

function counts(rules: readonly Partial<RuleCountsBody['rules'][number]>[]): RuleCountsBody {
  const none = { hits: 0, decisive: 0, alone: 0, precision: null };
  return { rules: rules.map((one) => ({ ...none, ...one })) } as unknown as RuleCountsBody;
}

const POLICY = {
  rules: [
    rule('a', { weight: 0.9 }),
    rule('b', { enabled: false, family: 'network' }),
    rule('c', { is_changed: true }),
    rule('d', { event_types: [{ event_type: 'login', enabled: false, weight: 0, levels: {}, thresholds: {} }] }),
  ],
} as unknown as PolicyBody;

const ROWS = toRuleRows(
  POLICY,
  counts([{ reason: 'c', hits: 2 }]),
  counts([
    { reason: 'c', hits: 5, alone: 1, precision: 0.5 },
    { reason: 'd', hits: 9, alone: 4, precision: 0.1 },
    { reason: 'of another version', hits: 9 },
  ]),
);

function names(text: string, state: RuleState, sort: RuleSort): string[] {
  return selectRules(ROWS, text, state, sort).map(({ rule: { reason } }) => reason);
}

describe('The table of rules', () => {
  test('has every rule of the policy with what it did, and no other', () => {
    expect(ROWS.map(({ rule: { reason }, day, week }) => [reason, day?.hits, week?.hits])).toEqual([
      ['a', undefined, undefined],
      ['b', undefined, undefined],
      ['c', 2, 5],
      ['d', undefined, 9],
    ]);
    expect(toRuleRows(POLICY, undefined, undefined)).toHaveLength(4);
  });

  test.each([
    ['hits', ['d', 'c', 'a', 'b']],
    ['alone', ['d', 'c', 'a', 'b']],
    ['precision', ['d', 'c', 'a', 'b']],
    ['weight', ['a', 'b', 'c', 'd']],
    ['name', ['a', 'b', 'c', 'd']],
  ] as const)('sorts by %s, rules of which nothing is known last', (sort, expected) => {
    expect(names('', 'all', sort)).toEqual(expected);
  });

  test.each([
    ['hit', ['d', 'c']],
    ['silent', ['a', 'b']],
    ['off', ['d', 'b']],
    ['changed', ['c']],
  ] as const)('filters those that are %s', (state, expected) => {
    expect(names('', state, 'hits')).toEqual(expected);
  });

  test('finds rules by name, family and sentence', () => {
    expect(names('NETWORK', 'all', 'name')).toEqual(['b']);
    expect(names(' found c ', 'all', 'name')).toEqual(['c']);
  });
});
