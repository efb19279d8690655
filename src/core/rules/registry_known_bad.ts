import { hit, type Rule } from '../rule.ts';

/** Source: open points, section 3. */
export const KNOWN_BAD_RISK_MIN = 80;

/**
 * Fires when the shared registry gives the fingerprint a risk of 80 or more, after its half-life. Quiet for a fingerprint that
 * is not in it. The evidence names no customer and no number of them. Source of the weight: the default rules.
 */
export const registryKnownBad: Rule = {
  code: 'registry_known_bad',
  family: 'registry',
  weights: { default: 0.7 },
  hint: 'the fingerprint is known for fraud in the shared registry',
  evaluate: ({ registry }) =>
    registry !== null && registry.risk >= KNOWN_BAD_RISK_MIN ? hit(`registry risk ${Math.round(registry.risk)}`) : null,
};
