import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { registryRiskAt } from '../../../../src/risk/registry/registry-risk.ts';

const DAY = 86_400;

describe('registry risk', () => {
  test.each([
    [0, 96],
    [7, 96],
    [21, 48],
    [35, 24],
    [14, 96 / Math.SQRT2],
  ])('%i days after a fingerprint was last seen its risk is %d', (days, risk) => {
    expect(registryRiskAt(96, 1000, 1000 + days * DAY)).toBeCloseTo(risk, 9);
  });

  test('A fingerprint last seen ahead of the clock has the risk of now', () => {
    expect(registryRiskAt(80, 2000, 1000)).toBe(80);
  });

  test('The registry risk never rises with time and stays between 0 and the stored risk', () => {
    const seconds = fc.integer({ min: 0, max: 2 ** 32 });
    fc.assert(
      fc.property(fc.float({ min: 0, max: 100, noNaN: true }), seconds, seconds, seconds, (risk, seen, a, b) => {
        const early = registryRiskAt(risk, seen, Math.min(a, b));
        const late = registryRiskAt(risk, seen, Math.max(a, b));
        expect(late).toBeLessThanOrEqual(early);
        expect(late).toBeGreaterThanOrEqual(0);
        expect(early).toBeLessThanOrEqual(risk);
      }),
    );
  });
});
