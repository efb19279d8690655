import { Resolver } from 'node:dns/promises';

/** Questions to name servers that are not about where to connect. Each rejects with an error that has a `code`. */
export interface DnsQueries {
  /** Names of an address. */
  reverse(ip: string): Promise<readonly string[]>;
  addresses(host: string, version: 4 | 6): Promise<readonly string[]>;
  /** Names of the mail servers of a domain. */
  mail(domain: string): Promise<readonly string[]>;
}

/** Choice: ms of the first attempt at a server, doubled for the second. Nobody waits for the answer. */
const ATTEMPT_MS = 1_000;
const ATTEMPTS = 2;

/** Asks `server` (`address:port`), or the name servers of the machine. */
export function dnsQueries(server: string | null): DnsQueries {
  const resolver = new Resolver({ timeout: ATTEMPT_MS, tries: ATTEMPTS });
  if (server !== null) resolver.setServers([server]);
  return {
    reverse: (ip) => resolver.reverse(ip),
    mail: async (domain) => (await resolver.resolveMx(domain)).map(({ exchange }) => exchange),
    addresses: (host, version) => (version === 4 ? resolver.resolve4(host) : resolver.resolve6(host)),
  };
}

/** Whether the text is the address of a name server, with or without a port. */
export function isNameServer(text: string): boolean {
  try {
    new Resolver().setServers([text]);
    return true;
  } catch {
    return false;
  }
}

/** Whether the servers answered that there is no such record; any other failure may pass. */
export function isAbsentRecord(code: string): boolean {
  return code === 'ENOTFOUND' || code === 'ENODATA';
}
