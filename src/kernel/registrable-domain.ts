import type * as Tldts from 'tldts';
import { loadCommonJs } from './load-package.ts';

const { parse } = loadCommonJs('tldts') as typeof Tldts;

/** A host's names under the public suffix list. Private suffixes (shops on one platform) count as suffixes. */
export interface Domain {
  /** Lower case, no port. */
  readonly host: string;
  /** `example.co.uk`. */
  readonly registrable: string;
  /** `example`: the part that a company uses in every country. */
  readonly label: string;
}

/** Choice: a host has at most 253 characters, and it is near the start of a URL. */
const TEXT_CHARACTERS_MAX = 2_048;

/** Returns the domain of a host's text or of a URL; null for addresses, bare suffixes, single words and invalid text. Never throws. */
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

/** Choice: no domain in our tables has more labels; limits the look-ups for a name of a hundred labels. */
const LABELS_MAX = 8;

/** Returns whether the host or one of its parent domains is in the set. */
export function isUnder(host: string, domains: ReadonlySet<string>): boolean {
  return someParent(host, (domain) => domains.has(domain));
}

/** Returns whether the condition holds for the host or one of its parent domains, the shortest first. */
export function someParent(host: string, holds: (domain: string) => boolean): boolean {
  let at = host.length;
  for (let labels = 0; labels < LABELS_MAX && at > 0; labels++) {
    at = host.lastIndexOf('.', at - 1);
    if (holds(host.slice(at + 1))) return true;
  }
  return false;
}
