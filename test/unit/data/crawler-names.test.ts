import { describe, expect, test } from 'vitest';
import { crawlerLookUp } from '../../../src/data/crawler-look-up.ts';
import { checkCrawlerName } from '../../../src/data/crawler-names.ts';
import type { DnsQueries } from '../../../src/egress/dns-queries.ts';
import { NAME_CHECKS } from '../../../src/risk/signals/agent-operators.ts';

const DOMAINS = ['googlebot.com'];

function absent(code: string): Promise<never> {
  return Promise.reject(Object.assign(new Error(code), { code }));
}

/** Name servers that know these names of addresses, and these addresses of names; a text is an error code. */
function dnsOf(
  names: Readonly<Record<string, readonly string[] | string>>,
  addresses: Readonly<Record<string, readonly string[] | string>> = {},
): DnsQueries & { readonly asked: string[] } {
  const asked: string[] = [];
  const answer = (found: readonly string[] | string | undefined): Promise<readonly string[]> =>
    typeof found === 'object' ? Promise.resolve(found) : absent(found ?? 'ENOTFOUND');
  return {
    asked,
    reverse(ip) {
      asked.push(ip);
      return answer(names[ip]);
    },
    mail: () => absent('ENODATA'),
    addresses(host, version) {
      asked.push(`${host} ${version}`);
      return answer(addresses[host]);
    },
  };
}

const REAL = 'crawl-81-2-69-160.googlebot.com';

describe('forward-confirmed reverse DNS', () => {
  test.each([
    ['81.2.69.160', { '81.2.69.160': [REAL] }, { [REAL]: ['81.2.69.1', '81.2.69.160'] }, 'confirmed'],
    [
      '81.2.69.160',
      { '81.2.69.160': ['other.example', `${REAL.toUpperCase()}.`] },
      { [REAL]: ['81.2.69.160'] },
      'confirmed',
    ],
    ['2a00:1450::1', { '2a00:1450::1': [REAL] }, { [REAL]: ['2A00:1450:0:0:0:0:0:1'] }, 'confirmed'],
    // Anybody can give his address the name of a crawler.
    ['81.2.69.160', { '81.2.69.160': [REAL] }, { [REAL]: ['66.249.66.1'] }, 'refuted'],
    ['81.2.69.160', { '81.2.69.160': [REAL] }, {}, 'refuted'],
    ['81.2.69.160', { '81.2.69.160': ['googlebot.com.attacker.example'] }, {}, 'refuted'],
    ['81.2.69.160', { '81.2.69.160': ['notgooglebot.com'] }, { 'notgooglebot.com': ['81.2.69.160'] }, 'refuted'],
    ['81.2.69.160', { '81.2.69.160': ['a b\u0000.googlebot.com'] }, {}, 'refuted'],
    ['81.2.69.160', { '81.2.69.160': [`${'a.'.repeat(130)}googlebot.com`] }, {}, 'refuted'],
    ['81.2.69.160', {}, {}, 'refuted'],
    ['81.2.69.160', { '81.2.69.160': 'ETIMEOUT' }, {}, 'unknown'],
    ['81.2.69.160', { '81.2.69.160': [REAL] }, { [REAL]: 'ESERVFAIL' }, 'unknown'],
    ['no address', {}, {}, 'refuted'],
  ])('An address %s with the names %j and their addresses %j is %s', async (ip, names, addresses, check) => {
    const dns = dnsOf(names, addresses);
    expect(await checkCrawlerName(ip, DOMAINS, dns)).toBe(check);
    expect(dns.asked.length).toBeLessThanOrEqual(2);
  });

  test('A confirmed address is kept for a day, any other answer for an hour', async () => {
    const dns = dnsOf({ '81.2.69.160': [REAL], '81.2.69.161': 'ETIMEOUT' }, { [REAL]: ['81.2.69.160'] });
    const lookUp = crawlerLookUp(dns, () => false);
    expect(await lookUp('google 81.2.69.160')).toMatchObject({ answer: NAME_CHECKS.confirmed, keepSeconds: 86_400 });
    expect(await lookUp('google 81.2.69.161')).toMatchObject({ answer: NAME_CHECKS.unknown, keepSeconds: 3_600 });
    // Bing's crawlers have other names.
    expect(await lookUp('bing 81.2.69.160')).toMatchObject({ answer: NAME_CHECKS.refuted, keepSeconds: 3_600 });
  });

  test('No name server is asked for an operator without documented names, or with ranges that were fetched lately', async () => {
    const dns = dnsOf({ '81.2.69.160': [REAL] }, { [REAL]: ['81.2.69.160'] });
    expect(await crawlerLookUp(dns, () => false)('openai 81.2.69.160')).toMatchObject({ answer: NAME_CHECKS.refuted });
    expect(await crawlerLookUp(dns, () => true)('google 81.2.69.160')).toMatchObject({ answer: NAME_CHECKS.refuted });
    expect(dns.asked).toEqual([]);
  });
});
