import { hit, withThresholds } from './rule.ts';

/**
 * Fires when over 60 decisions were about one session in 60 s, without exception: a script, or a token that many share.
 * Source of number and weight: the default rules.
 */
export const velocitySession1m = withThresholds({
  code: 'velocity_session_1m',
  family: 'session_volume',
  weights: { default: 0.35 },
  thresholds: { decisions: 60 },
  hint: 'the session makes very many requests',
  quietedBy: '',
  evaluate({ history }, _policy, { decisions }) {
    if (history === null || !(history.session.decisions1m > decisions)) return null;
    return hit(`${history.session.decisions1m} decisions in 1 min (over ${decisions})`);
  },
});
