import { parse } from 'tldts';

/** A host's names under the public suffix list, private suffixes (shops on one platform) counted as suffixes. */
export interface Domain {
  /** Lower case, no port. */
  readonly host: string;
  /** `example.co.uk`. */
  readonly registrable: string;
  /** `example`: what a company keeps from country to country. */
  readonly label: string;
}

/** Choice: a host has at most 253 characters; a URL's host lies at its front. */
const TEXT_CHARACTERS_MAX = 2_048;

/** The domain of a host's text or of a URL; null for addresses, bare suffixes, single words and nonsense. Never throws. */
export function parseDomain(text: string): Domain | null {
  try {
    const { domain, hostname, domainWithoutSuffix, isIp } = parse(text.slice(0, TEXT_CHARACTERS_MAX).trim(), {
      allowPrivateDomains: true,
    });
    if (isIp === true || domain === null || hostname === null || domainWithoutSuffix === null) return null;
    return {
      host: hostname.toLowerCase(),
      registrable: domain.toLowerCase(),
      label: domainWithoutSuffix.toLowerCase(),
    };
  } catch {
    return null;
  }
}

export function registrableDomain(text: string): string | null {
  return parseDomain(text)?.registrable ?? null;
}

/** Whether the host or one of the domains above it is in the set. */
export function isUnder(host: string, domains: ReadonlySet<string>): boolean {
  for (let at = 0; at >= 0 && at < host.length;) {
    if (domains.has(host.slice(at))) return true;
    const dot = host.indexOf('.', at);
    at = dot < 0 ? -1 : dot + 1;
  }
  return false;
}
