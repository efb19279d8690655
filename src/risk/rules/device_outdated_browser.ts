import { hit, withThresholds } from './rule.ts';

const YEAR_SECONDS = 365.25 * 86_400;

/**
 * Fires when the browser's major version was released more than 4 years ago: spoofed agents are copied once and kept for years. Quiet when
 * the date is unknown, as for televisions, consoles, and browsers with their own engine; for Safari the last minor version of the major
 * counts. Source of the number: the default rules. Choice: the weight; people do keep old devices.
 */
export const deviceOutdatedBrowser = withThresholds({
  code: 'device_outdated_browser',
  family: 'client',
  weights: { default: 0.05 },
  thresholds: { ageYearsMin: 4 },
  hint: 'the browser is years out of date',
  quietedBy: 'its date is unknown; televisions, consoles, browsers with their own engine',
  evaluate({ agent, nowSeconds }, _policy, { ageYearsMin }) {
    const released = agent?.browserReleasedAtSeconds ?? null;
    if (agent === null || released === null || !(nowSeconds - released > ageYearsMin * YEAR_SECONDS)) return null;
    return hit(`${agent.browser} ${agent.browserMajor ?? '?'}`);
  },
});
