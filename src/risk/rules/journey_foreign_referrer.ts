import { TRUSTED_REFERRERS } from '../data/trusted-referrers.ts';
import { isUnder, parseDomain } from '../../kernel/registrable-domain.ts';
import { hit, type Rule } from './rule.ts';

/** Source: the default rules. */
const LATE_STEPS: ReadonlySet<string> = new Set(['checkout', 'payment']);

/**
 * Fires when a checkout or payment was reached from a page on another registrable domain, such as a phishing page or a carder's test page.
 * Source of the weight: the default rules.
 *
 * Quiet when either is not a web address with a domain; for known payment, login and mail providers, which send people back; and, by
 * choice, when both domains differ only in their suffix (example.de and example.com are one shop).
 */
export const journeyForeignReferrer: Rule = {
  code: 'journey_foreign_referrer',
  family: 'journey',
  weights: { default: 0.1 },
  hint: 'the referring page belongs to another site',
  quietedBy: 'payment, login and mail providers; domains that differ only in the suffix',
  evaluate({ eventType, url, referrer }) {
    if (!LATE_STEPS.has(eventType) || url === null || referrer === null || haveSameStart(url, referrer)) return null;
    if (!isWeb(url) || !isWeb(referrer)) return null;
    // Handles other spellings of the same host without the public suffix list.
    if (hostText(url) === hostText(referrer)) return null;
    const here = parseDomain(url);
    const there = parseDomain(referrer);
    if (here === null || there === null || here.label === there.label) return null;
    return isUnder(there.host, TRUSTED_REFERRERS) ? null : hit(`came from ${there.registrable}`.slice(0, 200));
  },
};

const HTTPS = 'https://';

/** Recognises the usual case, both with `https://` and the same host, without regular expressions. */
function haveSameStart(url: string, referrer: string): boolean {
  if (!url.startsWith(HTTPS) || !referrer.startsWith(HTTPS)) return false;
  for (let at = HTTPS.length; ; at++) {
    const isEnd = endsHost(url, at);
    if (isEnd || endsHost(referrer, at)) return isEnd && endsHost(referrer, at);
    if (url.charCodeAt(at) !== referrer.charCodeAt(at)) return false;
  }
}

function endsHost(text: string, at: number): boolean {
  if (at >= text.length) return true;
  const character = text[at];
  return character === '/' || character === '?' || character === '#' || character === '\\';
}

function isWeb(text: string): boolean {
  return /^\s*https?:\/\//i.test(text);
}

/** Returns the text up to the first character that ends a host. Two equal texts are one site, even if they are malformed. */
function hostText(url: string): string | undefined {
  return /^\s*https?:\/\/([^/?#\\]*)/i.exec(url)?.[1];
}
