import { describe, expect, it } from 'vitest';
import { evaluateRules, tuneRules } from '../../../../src/risk/evaluate.ts';
import type { AttributeValue } from '../../../../src/risk/facts.ts';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';
import { paymentHighNewAccount } from '../../../../src/risk/rules/payment_high_new_account.ts';
import { facts, NOW_SECONDS } from '../../../support/facts.ts';
import { history } from '../../../support/history.ts';

const RULES = tuneRules([paymentHighNewAccount], DEFAULT_POLICY);
const HOUR = 3_600;

function fired(
  { value = 350, usual = 100, known = 50 } = {},
  created: AttributeValue | null = NOW_SECONDS - HOUR,
  eventType = 'payment',
): { readonly weight: number; readonly evidence: string } | null {
  const attributes = new Map<string, AttributeValue>(created === null ? [] : [['account_created_at', created]]);
  const given = facts({ eventType, attributes, history: history({ amounts: { value, usual, known } }) });
  const [contribution = null] = evaluateRules(RULES, given, DEFAULT_POLICY).contributions;
  return contribution;
}

describe('payment_high_new_account', () => {
  it('payment_high_new_account fires from 3.5 times the usual amount on, with both as evidence', () => {
    expect(fired()).toMatchObject({
      weight: 0.45,
      evidence: '3.5 times the usual amount (3.5 or more), account 1.0 h old',
    });
    expect(fired({ value: 349 })).toBeNull();
    expect(fired({}, NOW_SECONDS - HOUR, 'checkout')).not.toBeNull();
    expect(fired({}, NOW_SECONDS - HOUR, 'login')).toBeNull();
  });

  it('payment_high_new_account needs an account of less than a day', () => {
    expect(fired({}, NOW_SECONDS - 24 * HOUR + 1)).not.toBeNull();
    expect(fired({}, NOW_SECONDS - 24 * HOUR)).toBeNull();
    expect(fired({}, NOW_SECONDS + HOUR / 2)).not.toBeNull();
    expect(fired({}, 1_000 * NOW_SECONDS)).toBeNull();
    expect(fired({}, null)).toBeNull();
    expect(fired({}, '2026-11-21')).toBeNull();
  });

  it('payment_high_new_account is quiet while few amounts are known', () => {
    expect(fired({ known: 49 })).toBeNull();
  });
});
