import { hit, withThresholds } from './rule.ts';

/**
 * Fires when the shared registry gives the fingerprint a risk of 80 or more, after its half-life. Quiet for a fingerprint that is not in
 * the registry. The evidence names neither customers nor their number. Source of the number: contract, 8.3; of the weight: the default
 * rules.
 */
export const registryKnownBad = withThresholds({
  code: 'registry_known_bad',
  family: 'registry',
  weights: { default: 0.7 },
  thresholds: { riskMin: 80 },
  hint: 'the fingerprint is known for fraud in the shared registry',
  quietedBy: 'the list has an allow entry',
  evaluate: ({ registry }, _policy, { riskMin }) =>
    registry !== null && registry.risk >= riskMin ? hit(`registry risk ${Math.round(registry.risk)}`) : null,
});
