/**
 * Finds the mailbox behind an e-mail address, as far as its provider's rules are known: everything after `+` is a tag, and some providers
 * ignore dots or have tags of another form. Source: the providers' help pages.
 *
 * Choice: dots count for any domain that is not listed, since `a.bc@` and `ab.c@` are two people at most providers; so they also count for
 * a company's own domain at Google.
 */

/** Domains of providers that have several domains for one mailbox. */
const SAME_DOMAIN: ReadonlyMap<string, string> = new Map([
  ['googlemail.com', 'gmail.com'],
  ['pm.me', 'proton.me'],
  ['protonmail.com', 'proton.me'],
  ['protonmail.ch', 'proton.me'],
]);

const IGNORED: ReadonlyMap<string, RegExp> = new Map([
  ['gmail.com', /\./g],
  ['proton.me', /[._-]/g],
]);

const YAHOO = /^(?:yahoo|ymail|rocketmail)\./;

/** `local` and `domain` in lower case, without a tag after `+`. */
export function canonicalMailbox(local: string, domain: string): string {
  const own = SAME_DOMAIN.get(domain) ?? domain;
  const ignored = IGNORED.get(own);
  let name = ignored === undefined ? local : local.replace(ignored, '');
  // Yahoo's disposable addresses: base-keyword@yahoo.com.
  const tag = YAHOO.test(own) ? name.indexOf('-', 1) : -1;
  if (tag > 0) name = name.slice(0, tag);
  // If only dots were left, the name stays unchanged: such a mailbox cannot exist.
  return `${name === '' ? local : name}@${own}`;
}
