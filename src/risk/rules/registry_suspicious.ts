import { hit, withThresholds } from './rule.ts';

/**
 * Fires when the shared registry gives the fingerprint a risk of 50 or more but under 80; from there on only `registry_known_bad` fires. A
 * policy that changes its `riskMin` must change `riskMax` here too. Source of the numbers: contract, 8.3; of the weight: the default rules.
 */
export const registrySuspicious = withThresholds({
  code: 'registry_suspicious',
  family: 'registry',
  weights: { default: 0.35 },
  thresholds: { riskMin: 50, riskMax: 80 },
  hint: 'the shared registry rates the fingerprint as suspicious',
  quietedBy: 'the list has an allow entry',
  evaluate: ({ registry }, _policy, { riskMin, riskMax }) =>
    registry !== null && registry.risk >= riskMin && registry.risk < riskMax
      ? hit(`registry risk ${Math.floor(registry.risk)}`)
      : null,
});
