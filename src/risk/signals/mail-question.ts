import type { EmailFacts } from '../facts.ts';

/** Answers to whether a domain receives mail, as they are shared between threads; 0 is not known. */
export const MAIL_CHECKS = { receives: 1, none: 2, unknown: 3 } as const;

/** First word of the question; the second is the domain. */
export const MAIL_QUESTION = 'mail_domain';

/** Source: RFC 1035, 2.3.1 and 2.3.4. */
const HOST = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;

/** Returns the question whether the domain receives mail; null where the lists of providers know, and for a name that no server has. */
export function mailQuestion({ domain, free, disposable }: EmailFacts): string | null {
  return free || disposable || !HOST.test(domain) ? null : `${MAIL_QUESTION} ${domain}`;
}
