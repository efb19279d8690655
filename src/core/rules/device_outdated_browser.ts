import { hit, type Rule } from '../rule.ts';

/** Source: the default rules: more than 4 years behind. A year is 365.25 days. */
const AGE_SECONDS_MAX = 4 * 365.25 * 86_400;

/**
 * Fires when the browser's major version was released more than 4 years ago: spoofed agents are copied once and kept for years.
 * Quiet when the date is not known, as for televisions, consoles, and browsers with an engine of their own; for Safari the last
 * minor version of the major counts. Source of the weight: the default rules; low, since some people do keep old devices.
 */
export const deviceOutdatedBrowser: Rule = {
  code: 'device_outdated_browser',
  family: 'client',
  weights: { default: 0.15 },
  hint: 'the browser is more than four years old',
  evaluate({ agent, nowSeconds }) {
    const released = agent?.browserReleasedAtSeconds ?? null;
    if (agent === null || released === null || !(nowSeconds - released > AGE_SECONDS_MAX)) return null;
    return hit(`${agent.browser} ${agent.browserMajor ?? '?'}`);
  },
};
