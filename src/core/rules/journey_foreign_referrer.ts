import { TRUSTED_REFERRERS } from '../data/trusted-referrers.ts';
import { isUnder, parseDomain } from '../registrable-domain.ts';
import { hit, type Rule } from '../rule.ts';

/** Source: the default rules. */
const LATE_STEPS: ReadonlySet<string> = new Set(['checkout', 'payment']);

/**
 * Fires when a checkout or payment was reached from a page on another registrable domain, as phishing and test pages of carders
 * do. Source of the weight: the default rules.
 *
 * Quiet when either is no web address with a domain; for known payment, login and mail providers, who send people back; and,
 * by choice, when both domains differ only in their suffix (example.de and example.com are one shop).
 */
export const journeyForeignReferrer: Rule = {
  code: 'journey_foreign_referrer',
  family: 'journey',
  weights: { default: 0.1 },
  hint: 'the page was reached from a foreign site',
  evaluate({ eventType, url, referrer }) {
    if (!LATE_STEPS.has(eventType) || !isWeb(url) || !isWeb(referrer)) return null;
    // The usual case, without the public suffix list.
    if (hostText(url) === hostText(referrer)) return null;
    const here = parseDomain(url);
    const there = parseDomain(referrer);
    if (here === null || there === null || here.label === there.label) return null;
    return isUnder(there.host, TRUSTED_REFERRERS) ? null : hit(`came from ${there.registrable}`.slice(0, 200));
  },
};

function isWeb(text: string | null): text is string {
  return text !== null && /^\s*https?:\/\//i.test(text);
}

/** Up to the first character that ends a host; two equal texts are one site, whatever they mean. */
function hostText(url: string): string | undefined {
  return /^\s*https?:\/\/([^/?#\\]*)/i.exec(url)?.[1];
}
