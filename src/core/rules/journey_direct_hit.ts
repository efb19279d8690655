import { hit, type Rule } from '../rule.ts';

/** Source: the default rules. */
const LATE_STEPS: ReadonlySet<string> = new Set(['checkout', 'payment']);

/**
 * Fires when a checkout or payment gives its `url` and no `referrer`: nothing led to the page. Quiet without a `url`, since then
 * the customer does not describe pages at all. Quiet on logins, which people reach by bookmarks and password managers.
 * Choice: the weight; bookmarks, mail programs and strict referrer policies make more shoppers look so than attackers.
 */
export const journeyDirectHit: Rule = {
  code: 'journey_direct_hit',
  family: 'journey',
  weights: { default: 0.05 },
  hint: 'the page was reached without coming from another page',
  evaluate({ eventType, url, referrer }) {
    const described = (url ?? '').trim() !== '';
    const led = (referrer ?? '').trim() !== '';
    return LATE_STEPS.has(eventType) && described && !led ? hit(`${eventType} without a referrer`) : null;
  },
};
