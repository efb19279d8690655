import { hit, withThresholds } from '../rule.ts';

/**
 * Fires when the shared registry gives the fingerprint a risk of 50 up to 80; from there on `registry_known_bad` speaks alone:
 * who moves its `riskMin` moves `riskMax` here too. Source of the numbers: open points, section 3; of the weight: the default
 * rules.
 */
export const registrySuspicious = withThresholds({
  code: 'registry_suspicious',
  family: 'registry',
  weights: { default: 0.35 },
  thresholds: { riskMin: 50, riskMax: 80 },
  hint: 'the fingerprint has a raised risk in the shared registry',
  evaluate: ({ registry }, _policy, { riskMin, riskMax }) =>
    registry !== null && registry.risk >= riskMin && registry.risk < riskMax
      ? hit(`registry risk ${Math.floor(registry.risk)}`)
      : null,
});
