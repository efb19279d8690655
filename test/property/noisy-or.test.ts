import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fusedScore, type Contribution } from '../../src/risk/fuse.ts';
import type { Family } from '../../src/risk/rules/rule.ts';

const FAMILIES: readonly Family[] = [
  'registry',
  'client',
  'tls',
  'device',
  'network',
  'movement',
  'token',
  'journey',
  'identity',
  'model',
];

/** Weights as in policies, in hundredths, and as given by models. */
const weight = fc.oneof(
  fc.nat(100).map((hundredths) => hundredths / 100),
  fc.double({ min: 0, max: 1, noNaN: true }),
);
const contribution = fc
  .record({ family: fc.constantFrom(...FAMILIES), weight, code: fc.nat() })
  .map(({ family, weight, code }): Contribution => ({
    rule: { code: `rule_${code}`, family, weights: { default: weight }, hint: '', quietedBy: '', evaluate: () => null },
    weight,
    evidence: '',
  }));
const contributions = fc.array(contribution, { maxLength: 15 });

describe('the fused score', () => {
  test('The fused score is between 0 and 100 with at most one decimal', () => {
    fc.assert(
      fc.property(contributions, (all) => {
        const score = fusedScore(all);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(100);
        expect(Number(score.toFixed(1))).toBe(score);
      }),
      { numRuns: 3_000 },
    );
  });

  test('The fused score never decreases when a contribution is added at any position', () => {
    fc.assert(
      fc.property(contributions, contribution, fc.nat(15), (all, added, at) => {
        expect(fusedScore([...all.slice(0, at), added, ...all.slice(at)])).toBeGreaterThanOrEqual(fusedScore(all));
      }),
      { numRuns: 5_000 },
    );
  });

  test('The fused score does not depend on the order of contributions', () => {
    const shuffled = contributions.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length })),
    );
    fc.assert(
      fc.property(shuffled, ([all, other]) => {
        expect(fusedScore(other)).toBe(fusedScore(all));
      }),
      { numRuns: 10_000 },
    );
  });

  test('The fused score equals the result of exact integer arithmetic for weights in hundredths', () => {
    const exact = fc.uniqueArray(fc.record({ family: fc.constantFrom(...FAMILIES), hundredths: fc.nat(100) }), {
      selector: ({ family }) => family,
      maxLength: FAMILIES.length,
    });
    fc.assert(
      fc.property(exact, (all) => {
        let calm = 1n;
        for (const { hundredths } of all) calm *= BigInt(100 - hundredths);
        const one = 100n ** BigInt(all.length);
        // Tenths of a point; halves are rounded up.
        const tenths = ((one - calm) * 2000n + one) / (2n * one);
        const given = all.map(({ family, hundredths }) => ({
          rule: { code: family, family, weights: {}, hint: '', quietedBy: '', evaluate: () => null },
          weight: hundredths / 100,
          evidence: '',
        }));
        expect(fusedScore(given)).toBe(Number(tenths) / 10);
      }),
      { numRuns: 20_000 },
    );
  });
});
