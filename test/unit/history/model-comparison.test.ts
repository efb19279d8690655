import { describe, expect, test } from 'vitest';
import { LABEL_AGES, LabelAges } from '../../../src/history/label-ages.ts';
import { type ComparedDecision, ModelComparison, promotionGates } from '../../../src/history/model-comparison.ts';

const DAY_MS = 86_400_000;
const FRAUD = { isFraud: true, source: 'label' } as const;
const HONEST = { isFraud: false, source: 'label' } as const;

/** `sessions` of one decision each. */
function add(
  comparison: ModelComparison,
  name: string,
  sessions: number,
  one: Omit<ComparedDecision, 'session'>,
): void {
  for (let n = 0; n < sessions; n++) comparison.add({ session: `${name} ${n}`, ...one });
}

/** A challenger that fulfils every gate: it catches 10 frauds more and stops as many of the honest. */
function fit(): ModelComparison {
  const comparison = new ModelComparison();
  add(comparison, 'fraud', 40, { active: 'BLOCK', challenger: 'BLOCK', truth: FRAUD });
  add(comparison, 'missed', 10, { active: 'ALLOW', challenger: 'SOFT_CHALLENGE', truth: FRAUD });
  add(comparison, 'honest', 199, { active: 'ALLOW', challenger: 'ALLOW_WATCH', truth: HONEST });
  add(comparison, 'alarm', 1, { active: 'REVIEW', challenger: 'REVIEW', truth: HONEST });
  return comparison;
}

const failing = (comparison: ModelComparison, over: { shadowMs?: number; isShadowOnly?: boolean } = {}): string[] =>
  promotionGates(comparison.result(), { shadowMs: 3 * DAY_MS, isShadowOnly: false, ...over })
    .filter(({ holds }) => !holds)
    .map(({ name }) => name);

describe('Comparing a challenger with the active model', () => {
  test('Sessions are counted once, with the surest label of their decisions and an interval', () => {
    const comparison = new ModelComparison();
    const truth = { isFraud: false, source: 'challenge' } as const;
    comparison.add({ session: 'one', active: 'SOFT_CHALLENGE', challenger: 'ALLOW', truth });
    comparison.add({ session: 'one', active: 'ALLOW', challenger: 'ALLOW', truth: FRAUD });
    comparison.add({ session: 'two', active: 'ALLOW', challenger: 'REVIEW', truth: null });
    expect(comparison.result()).toEqual({
      decisions: 3,
      sessions: 2,
      alarms: {
        active: { part: 0, of: 0, share: null, low: null, high: null },
        challenger: { part: 0, of: 0, share: null, low: null, high: null },
      },
      catch: {
        active: { part: 1, of: 1, share: 1, low: 0.2065, high: 1 },
        challenger: { part: 0, of: 1, share: 0, low: 0, high: 0.7935 },
      },
      catchBySource: [expect.objectContaining({ source: 'label' })],
      unlabelled: { sessions: 1, onlyActive: 0, onlyChallenger: 1 },
    });
  });

  test('A challenger that catches more and alarms no more people fulfils every gate', () => {
    expect(failing(fit())).toEqual([]);
  });

  test('A challenger that is younger than three days or knows too few frauds fails', () => {
    expect(failing(fit(), { shadowMs: 3 * DAY_MS - 1 })).toEqual(['shadow_days']);
    expect(failing(fit(), { isShadowOnly: true })).toEqual(['training']);
    expect(failing(new ModelComparison())).toEqual(['fraud_labels', 'honest_labels']);
  });

  test('One honest session more than 0.1 points fails, and so does one source of labels that is worse', () => {
    const alarmed = fit();
    add(alarmed, 'more', 1, { active: 'ALLOW', challenger: 'SOFT_CHALLENGE', truth: HONEST });
    expect(failing(alarmed)).toEqual(['alarms']);
    add(alarmed, 'many', 800, { active: 'ALLOW', challenger: 'ALLOW', truth: HONEST });
    expect(failing(alarmed)).toEqual([]);

    const worse = fit();
    add(worse, 'review', 1, { active: 'BLOCK', challenger: 'ALLOW', truth: { isFraud: true, source: 'review' } });
    expect(failing(worse)).toEqual(['catch_by_source']);
  });
});

describe('Ages of labels', () => {
  test('Each counts in the first age that it fits, and sources without a label are left out', () => {
    const ages = new LabelAges();
    expect(ages.bySource()).toEqual([]);
    ages.add(FRAUD, 7 * DAY_MS);
    ages.add(FRAUD, 7 * DAY_MS + 1);
    ages.add(HONEST, 30 * DAY_MS + 1);
    const none = { fraud: 0, legitimate: 0 };
    const one = { fraud: 1, legitimate: 0 };
    expect(ages.bySource()).toEqual([{ source: 'label', ages: [one, one, { ...none, legitimate: 1 }] }]);
    expect(ages.bySource()[0]?.ages).toHaveLength(LABEL_AGES.length);
  });
});
