import { hit, type Rule } from '../rule.ts';
import { KNOWN_BAD_RISK_MIN } from './registry_known_bad.ts';

/** Source: open points, section 3. */
const SUSPICIOUS_RISK_MIN = 50;

/**
 * Fires when the shared registry gives the fingerprint a risk of 50 up to 80; from there on `registry_known_bad` speaks alone.
 * Source of the weight: the default rules.
 */
export const registrySuspicious: Rule = {
  code: 'registry_suspicious',
  family: 'registry',
  weights: { default: 0.35 },
  hint: 'the fingerprint has a raised risk in the shared registry',
  evaluate: ({ registry }) =>
    registry !== null && registry.risk >= SUSPICIOUS_RISK_MIN && registry.risk < KNOWN_BAD_RISK_MIN
      ? hit(`registry risk ${Math.floor(registry.risk)}`)
      : null,
};
