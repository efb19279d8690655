import { hit, type Rule } from './rule.ts';

/** Source: the default rules. */
const LATE_STEPS: ReadonlySet<string> = new Set(['checkout', 'payment']);

/**
 * Fires when a checkout or payment gives its `url` but no `referrer`: no other page led to it. Quiet without a `url`, since then the
 * customer does not describe pages at all. Quiet on logins, which people reach by bookmarks and password managers.
 * Choice: the weight; bookmarks, mail programs and strict referrer policies make this more common among shoppers than among attackers.
 */
export const journeyDirectHit: Rule = {
  code: 'journey_direct_hit',
  family: 'journey',
  weights: { default: 0.05 },
  hint: 'the checkout or payment has no referring page',
  quietedBy: 'no url; logins',
  evaluate({ eventType, url, referrer }) {
    const described = (url ?? '').trim() !== '';
    const led = (referrer ?? '').trim() !== '';
    return LATE_STEPS.has(eventType) && described && !led ? hit(`${eventType} without a referrer`) : null;
  },
};
