import { hit, withThresholds } from './rule.ts';

/**
 * Fires when the session was in another country at most 30 min ago, according to its last address with a known country. Quiet without a
 * country database. Source of number and weight: the default rules; turning on a VPN during a session has the same effect, so alone it only
 * reaches ALLOW_WATCH.
 */
export const sessionCountryChange = withThresholds({
  code: 'session_country_change',
  family: 'movement',
  weights: { default: 0.3 },
  thresholds: { minutesMax: 30 },
  hint: 'the session moved to another country',
  quietedBy: 'either country is unknown',
  evaluate({ geo, history }, _policy, { minutesMax }) {
    const country = geo?.country ?? null;
    if (history === null || country === null) return null;
    const { previousCountry, previousCountryAgeSeconds } = history.session;
    if (previousCountry === null || previousCountry === country) return null;
    const minutes = previousCountryAgeSeconds / 60;
    if (!(minutes <= minutesMax)) return null;
    return hit(`${country.slice(0, 8)}, ${Math.round(minutes)} min after ${previousCountry.slice(0, 8)}`);
  },
});
