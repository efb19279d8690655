import { expect, test } from 'vitest';
import type { OwnRuleRow } from '../../../src/contract/wire-types.ts';
import {
  behaviourOf,
  conditionOf,
  NEW_RULE,
  rulesToTry,
  whyNotReady,
} from '../../../src/web/dashboard/pages/rules/own-rule-form.ts';

const row = (fields: Partial<OwnRuleRow>): OwnRuleRow => ({
  code: 'own_other',
  when: 'score > 1',
  weight: 0.1,
  decision: null,
  mode: 'observe',
  event_types: null,
  note: '',
  expires_at: null,
  source: 'api',
  shadowed: false,
  errors: [],
  warnings: [],
  predicted: null,
  tripped_at: null,
  tripped: null,
  created_at: 1,
  updated_at: 1,
  fired_24h: 0,
  observed_24h: 0,
  people_24h: 0,
  ...fields,
});

const FORM = { ...NEW_RULE, code: 'own_a', when: 'score > 2', eventTypes: 'payment, checkout' };

test('A rule is tried enforced, beside the other rules of the API that run', () => {
  const rules = [
    row({}),
    row({ code: 'own_a', when: 'score > 3' }),
    row({ code: 'own_file', source: 'policy' }),
    row({ code: 'own_hidden', shadowed: true }),
    row({ code: 'own_broken', errors: [{ code: 'syntax_error', line: 1, column: 1, message: '' }] }),
  ];
  expect(rulesToTry(FORM, rules)).toEqual([
    expect.objectContaining({ code: 'own_other', mode: 'observe', weight: 0.1 }),
    expect.objectContaining({
      code: 'own_a',
      mode: 'enforce',
      when: 'score > 2',
      event_types: ['payment', 'checkout'],
    }),
  ]);
});

test('Only what decides on which decisions a rule fires is its condition', () => {
  expect(conditionOf({ ...FORM, note: 'x', effect: 'BLOCK', eventTypes: ' payment,checkout ' })).toBe(
    conditionOf(FORM),
  );
  for (const other of [{ when: 'score > 3' }, { eventTypes: '' }, { code: 'own_b' }])
    expect(conditionOf({ ...FORM, ...other })).not.toBe(conditionOf(FORM));
});

test('A rule with another effect on the same decisions behaves in another way', () => {
  expect(behaviourOf({ ...FORM, note: 'x' })).toBe(behaviourOf(FORM));
  for (const other of [{ effect: 'BLOCK' }, { effect: 'weight' }, { when: 'score > 3' }])
    expect(behaviourOf({ ...FORM, ...other })).not.toBe(behaviourOf(FORM));
});

test('The first reason why a rule cannot be saved is a sentence', () => {
  const ok = { kind: 'ok', cost: 1, warnings: [], sample: null } as const;
  const error = { message: '', line: 2, column: 7 };
  expect(whyNotReady(NEW_RULE, { kind: 'empty' })).toBe('The rule needs a code and a condition first.');
  expect(whyNotReady({ ...FORM, code: 'own_' }, ok)).toBe('The rule needs a code first.');
  expect(whyNotReady({ ...FORM, effect: 'weight', weight: '2' }, ok)).toBe('The weight must be from 0 to 1.');
  expect(whyNotReady(FORM, { kind: 'checking' })).toBe('The condition is being checked.');
  expect(whyNotReady(FORM, { kind: 'faults', errors: [error] })).toBe(
    'The condition has an error in line 2, column 7.',
  );
  expect(whyNotReady(FORM, { kind: 'faults', errors: [error, error] })).toBe(
    'The condition has 2 errors, the first in line 2, column 7.',
  );
  for (const check of [ok, { kind: 'unknown' }] as const) expect(whyNotReady(FORM, check)).toBeNull();
});
