import { describe, expect, test } from 'vitest';
import { explain } from '../../../src/risk/explain.ts';
import { fusedScore } from '../../../src/risk/fuse.ts';
import type { Bands } from '../../../src/risk/policy/policy.ts';

const BANDS: Bands = { allowWatch: 30, softChallenge: 50, review: null, block: 80 };

function record(...fired: readonly (readonly [code: string, weight: number])[]) {
  return { contributions: fired.map(([code, weight]) => ({ code, weight, evidence: '' })) };
}

describe('an explained decision', () => {
  test('Only the largest weight of a family counts, and the steps lead from 0 to the score', () => {
    const { contributions, families } = explain(
      record(['device_missing_user_agent', 0.3], ['device_http_library', 0.62], ['ip_hosting', 0.3]),
      BANDS,
    );
    expect(contributions.map(({ family, counts }) => [family, counts])).toEqual([
      ['client', false],
      ['client', true],
      ['network', true],
    ]);
    expect(families).toEqual([
      { family: 'client', reason: 'device_http_library', from: 0, to: 62 },
      { family: 'network', reason: 'ip_hosting', from: 62, to: 73.4 },
    ]);
  });

  test('Without a reason the next one of its family counts', () => {
    const { contributions } = explain(record(['device_missing_user_agent', 0.3], ['device_headless', 0.7]), BANDS);
    expect(contributions.map((one) => one.without)).toEqual([
      { score: 70, decision: 'SOFT_CHALLENGE' },
      { score: 30, decision: 'ALLOW_WATCH' },
    ]);
  });

  test('Without known bands the score without a reason is shown, and no decision', () => {
    expect(explain(record(['ip_tor_exit', 0.6]), null).contributions[0]?.without).toEqual({ score: 0, decision: null });
  });

  test('A block list makes the decision whatever else is found, and without it the rules do', () => {
    const { contributions, overriddenBy } = explain(record(['list_block', 1], ['ip_hosting', 0.3]), BANDS);
    expect(overriddenBy).toBe('list_block');
    expect(contributions.map((one) => one.without)).toEqual([
      { score: 30, decision: 'ALLOW_WATCH' },
      { score: 100, decision: 'BLOCK' },
    ]);
  });

  test('An allow list makes the decision ALLOW while the score shows the rest', () => {
    const { contributions, overriddenBy } = explain(record(['list_allow', 0], ['device_headless', 0.7]), BANDS);
    expect(overriddenBy).toBe('list_allow');
    expect(contributions.map((one) => one.without)).toEqual([
      { score: 70, decision: 'SOFT_CHALLENGE' },
      { score: 0, decision: 'ALLOW' },
    ]);
  });

  test('Nothing is known of a request without its missing token', () => {
    const { contributions, overriddenBy } = explain(record(['missing_session_token', 0.5]), BANDS);
    expect([contributions[0]?.without, contributions[0]?.family, overriddenBy]).toEqual([
      null,
      'token',
      'missing_session_token',
    ]);
  });

  test('Reasons of another version count each by itself', () => {
    const { families, contributions } = explain(record(['of_old', 0.5], ['of_older', 0.5]), BANDS);
    expect(families.map(({ family, to }) => [family, to])).toEqual([
      ['unknown', 50],
      ['unknown', 75],
    ]);
    expect(contributions.map((one) => one.without?.score)).toEqual([50, 50]);
  });

  test('The last step has the score that decide computes', () => {
    const weights = [0.1, 0.33, 0.05, 0.7, 0.25];
    const codes = ['ip_hosting', 'device_headless', 'session_pages', 'identity_random_email', 'journey_direct_hit'];
    const fired = codes.map((code, at) => [code, weights[at] ?? 0] as const);
    const { families } = explain(record(...fired), BANDS);
    const distinct = families.map(({ family }, at) => ({
      rule: { family: family as 'network' },
      weight: weights.toSorted((a, b) => b - a)[at] ?? 0,
    }));
    expect(families.at(-1)?.to).toBe(fusedScore(distinct));
  });
});
