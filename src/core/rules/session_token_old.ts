import { TIMESTAMP_WINDOW_SECONDS } from '../../limits.ts';
import { hit, type Rule } from '../rule.ts';

/** Source: the default rules: issued over 24 h ago. */
const TOKEN_AGE_SECONDS_MAX = 86_400;

/**
 * Fires when the collector's token was issued over 24 h ago, as replayed tokens are, or in the future. Quiet for other tokens,
 * which have no date.
 * Choice: "in the future" begins where a signed request's timestamp is refused, since the browser's clock wrote the date.
 */
export const sessionTokenOld: Rule = {
  code: 'session_token_old',
  family: 'token',
  weights: { default: 0.2 },
  hint: 'the session token is too old or from the future',
  evaluate({ token, nowSeconds }) {
    if (token.kind !== 'collector') return null;
    const age = nowSeconds - token.issuedAtSeconds;
    if (age > TOKEN_AGE_SECONDS_MAX) return hit(`issued ${Math.floor(age / 3_600)} h ago`);
    return age < -TIMESTAMP_WINDOW_SECONDS ? hit('issued in the future') : null;
  },
};
