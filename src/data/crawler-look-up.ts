import type { DnsQueries } from '../egress/dns-queries.ts';
import { crawlerDomains, NAME_CHECKS } from '../risk/signals/agent-operators.ts';
import { checkCrawlerName } from './crawler-names.ts';
import type { LookUp } from './look-ups.ts';

/** Source: the design of operators' own checks; addresses of crawlers move rarely. */
const CONFIRMED_SECONDS = 86_400;
const FAILED_SECONDS = 3_600;

/**
 * Answers whether an address is one of an operator's crawlers by its name. `hasFreshRanges`: the operator's published addresses were
 * fetched lately, so they decide and no name server is asked.
 */
export function crawlerLookUp(dns: DnsQueries, hasFreshRanges: (operator: string) => boolean): LookUp {
  return async (about) => {
    const [operator = '', ip = ''] = about.split(' ');
    const domains = crawlerDomains(operator);
    const check =
      domains.length === 0 || hasFreshRanges(operator) ? 'refuted' : await checkCrawlerName(ip, domains, dns);
    return {
      answer: NAME_CHECKS[check],
      name: check,
      keepSeconds: check === 'confirmed' ? CONFIRMED_SECONDS : FAILED_SECONDS,
    };
  };
}
