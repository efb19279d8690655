import { parseUrl } from '../kernel/parse-url.ts';
import { allowsLoopback, type EgressPolicy, isLiteral, judgeAddress } from './public-address.ts';

/** Parses the URLs of outgoing requests, and checks them at registration. */

/** Source: contract, 10.1. */
const URL_CHARACTERS_MAX = 2048;

export interface Target {
  /** `https://host:port`; the port is omitted if it is the default of the scheme. */
  readonly origin: string;
  readonly isSecure: boolean;
  /** In lower case, in the spelling of the URL standard. IPv6 addresses have no brackets. */
  readonly host: string;
  readonly port: number;
  /** Includes the query. */
  readonly path: string;
  /** The host is an IP address, so no DNS look-up is needed. */
  readonly isLiteral: boolean;
}

/** Returns null if the text is not an absolute http or https URL with a host. Drops the fragment and user info: neither is ever sent. */
export function readTarget(text: string): Target | null {
  const url = parseUrl(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  const isSecure = url.protocol === 'https:';
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  if (host === '' || port === 0) return null;
  const path = `${url.pathname}${url.search}`;
  return { origin: url.origin, isSecure, host, port, path, isLiteral: isLiteral(host) };
}

export interface TargetFault {
  readonly code: 'blocked_url' | 'invalid';
  /** Public text. */
  readonly detail: string;
}

/**
 * The check at registration. Performs no DNS look-up, because the addresses of a name are checked at every dial. Returns null if the URL is
 * acceptable. Source: contract, 10.1.
 */
export function checkTarget(text: string, policy: EgressPolicy): TargetFault | null {
  const fault = formFault(text);
  if (fault !== null) return { code: 'invalid', detail: fault };
  const target = readTarget(text);
  if (target === null) return { code: 'invalid', detail: 'The URL cannot be read.' };
  if (isLocalName(target.host) && !allowsLoopback(policy))
    return { code: 'blocked_url', detail: 'The host refers to this machine.' };
  if (target.isLiteral && judgeAddress(target.host, target.port, policy).kind === 'blocked')
    return { code: 'blocked_url', detail: 'The address is not allowed.' };
  return null;
}

/** Rejects spellings that the URL standard would silently correct. The URL that is stored and shown should be the one that is called. */
function formFault(text: string): string | null {
  if (text.length > URL_CHARACTERS_MAX) return `The URL is longer than ${URL_CHARACTERS_MAX} characters.`;
  if (hasBlankOrControl(text) || text.includes('\\')) return 'The URL contains a character that is not allowed.';
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) return 'The URL must be absolute, http or https.';
  if (authority.includes('@')) return 'The URL must not contain user info.';
  if (text.includes('#')) return 'The URL must not contain a fragment.';
  return null;
}

function hasBlankOrControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code <= 0x20 || code === 0x7f) return true;
  }
  return false;
}

function isLocalName(host: string): boolean {
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  return name === 'localhost' || name.endsWith('.localhost');
}
