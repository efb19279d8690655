/**
 * The mailbox behind an e-mail address, as far as its provider's rules are known: everything behind `+` is a tag, and some providers
 * ignore dots or have tags of another form. Source: the providers' help pages.
 *
 * Choice: dots of a domain that is not listed count, since `a.bc@` and `ab.c@` are two people at most providers; a company's own domain
 * at Google keeps its dots, too.
 */

/** Domains of one provider, whose mailboxes have several of them. */
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

/** `local` and `domain` in lower case, without a tag behind `+`. */
export function canonicalMailbox(local: string, domain: string): string {
  const own = SAME_DOMAIN.get(domain) ?? domain;
  const ignored = IGNORED.get(own);
  let name = ignored === undefined ? local : local.replace(ignored, '');
  // Yahoo's disposable addresses: base-keyword@yahoo.com.
  const tag = YAHOO.test(own) ? name.indexOf('-', 1) : -1;
  if (tag > 0) name = name.slice(0, tag);
  // A name of nothing but dots is nobody's.
  return `${name === '' ? local : name}@${own}`;
}
