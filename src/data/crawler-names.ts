import { type DnsQueries, isAbsentRecord } from '../egress/dns-queries.ts';
import { codeOf } from '../egress/faults.ts';
import { readIp } from '../risk/signals/ip.ts';

/** `refuted`: the address has no such name, or the name does not lead back. `unknown`: the name servers failed. */
export type NameCheck = 'confirmed' | 'refuted' | 'unknown';

/** Choice: an address of a crawler has one name. */
const NAMES_MAX = 4;
const HOST = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/;
const HOST_CHARACTERS_MAX = 253;

/**
 * Checks by forward-confirmed reverse DNS that an address belongs to the owner of one of the domains: its name must be below one of them,
 * and that name must lead back to it. The owner of an address can give it any name; only the owner of the domain can make that name lead
 * back. Makes at most two look-ups. Never rejects.
 */
export async function checkCrawlerName(ip: string, domains: readonly string[], dns: DnsQueries): Promise<NameCheck> {
  const read = readIp(ip);
  if (read.kind !== 'valid') return 'refuted';
  try {
    const names = (await dns.reverse(ip)).slice(0, NAMES_MAX).map(hostOf);
    const name = names.find((one) => domains.some((domain) => one.endsWith(`.${domain}`)));
    if (name === undefined) return 'refuted';
    const found = await dns.addresses(name, read.version);
    return found.some((address) => textOf(address) === read.text) ? 'confirmed' : 'refuted';
  } catch (error) {
    return isAbsentRecord(codeOf(error)) ? 'refuted' : 'unknown';
  }
}

/** Returns the host in lower case; `''` for a name that no host can have. */
function hostOf(name: string): string {
  const host = name.replace(/\.$/, '').toLowerCase();
  return host.length <= HOST_CHARACTERS_MAX && HOST.test(host) ? host : '';
}

function textOf(address: string): string | null {
  const read = readIp(address);
  return read.kind === 'valid' ? read.text : null;
}
