import { type DnsQueries, isAbsentRecord } from '../egress/dns-queries.ts';
import { codeOf } from '../egress/faults.ts';
import { MAIL_CHECKS } from '../risk/signals/mail-question.ts';
import type { LookUp } from './look-ups.ts';

const RECEIVES_SECONDS = 86_400;
const FAILED_SECONDS = 3_600;

/** Answers whether a domain receives mail. */
export function mailLookUp(dns: Pick<DnsQueries, 'addresses' | 'mail'>): LookUp {
  return async (domain) => {
    const check = await checkMail(domain, dns);
    return {
      answer: MAIL_CHECKS[check],
      name: check,
      keepSeconds: check === 'receives' ? RECEIVES_SECONDS : FAILED_SECONDS,
    };
  };
}

/**
 * A domain receives mail if it has a mail server, or without any such record an address (IPv4: a mail server with IPv6 alone is not worth a
 * third look-up). A single empty server says that it receives none. Source: RFC 5321, 5.1; RFC 7505.
 */
async function checkMail(
  domain: string,
  dns: Pick<DnsQueries, 'addresses' | 'mail'>,
): Promise<keyof typeof MAIL_CHECKS> {
  const servers = await answerOf(dns.mail(domain));
  if (typeof servers !== 'string') return servers.some((name) => name !== '' && name !== '.') ? 'receives' : 'none';
  if (servers === 'ENOTFOUND') return 'none';
  if (!isAbsentRecord(servers)) return 'unknown';
  const addresses = await answerOf(dns.addresses(domain, 4));
  if (typeof addresses !== 'string') return addresses.length > 0 ? 'receives' : 'none';
  return isAbsentRecord(addresses) ? 'none' : 'unknown';
}

/** Resolves with the code of a failure. */
function answerOf(asked: Promise<readonly string[]>): Promise<readonly string[] | string> {
  return asked.catch((error: unknown) => codeOf(error));
}
