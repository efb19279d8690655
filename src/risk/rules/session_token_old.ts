import { TIMESTAMP_WINDOW_SECONDS } from '../../kernel/limits.ts';
import { hit, withThresholds } from './rule.ts';

/**
 * Fires when the collector's token was issued over 24 h ago, as replayed tokens are, or in the future. Quiet for other tokens, which have
 * no date. Source of the first number: the default rules. Choice: the weight; tabs stay open for days.
 * Choice: "in the future" starts where a signed request's timestamp is rejected, since the browser's clock wrote the date.
 */
export const sessionTokenOld = withThresholds({
  code: 'session_token_old',
  family: 'token',
  weights: { default: 0.05 },
  thresholds: { ageHoursMin: 24, aheadSecondsMin: TIMESTAMP_WINDOW_SECONDS },
  hint: 'the session token is too old or from the future',
  quietedBy: 'other tokens, which have no date',
  evaluate({ token, nowSeconds }, _policy, { ageHoursMin, aheadSecondsMin }) {
    if (token.kind !== 'collector') return null;
    const ageSeconds = nowSeconds - token.issuedAtSeconds;
    if (ageSeconds > ageHoursMin * 3_600) return hit(`issued ${Math.floor(ageSeconds / 3_600)} h ago`);
    return ageSeconds < -aheadSecondsMin ? hit('issued in the future') : null;
  },
});
