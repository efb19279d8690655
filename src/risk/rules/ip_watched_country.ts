import { hit, type Rule } from './rule.ts';

/**
 * Fires when the country of the IP is on the policy's own list. The list is empty by default: the operator decides which countries to
 * watch. Source of the weight: the default rules.
 */
export const ipWatchedCountry: Rule = {
  code: 'ip_watched_country',
  family: 'network',
  weights: { default: 0.1 },
  hint: 'the country of the IP address is on your watch list',
  quietedBy: 'the list is empty, as it is by default',
  evaluate({ geo }, { watchedCountries }) {
    const country = geo?.country ?? null;
    return country !== null && watchedCountries.has(country) ? hit(country.slice(0, 8)) : null;
  },
};
