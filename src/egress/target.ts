import { allowsLoopback, type EgressPolicy, isLiteral, judgeAddress } from './address.ts';

/** Reads URLs that are to be called, and checks them when they are registered. */

/** Source: open points, section 4. */
const URL_CHARACTERS_MAX = 2048;

export interface Target {
  /** `https://host:port`, the port left out when it is the scheme's own. */
  readonly origin: string;
  readonly isSecure: boolean;
  /** Lower case, as the URL standard spells it; an IPv6 address without its brackets. */
  readonly host: string;
  readonly port: number;
  /** With the query. */
  readonly path: string;
  /** The host is an IP address, so nothing is looked up. */
  readonly isLiteral: boolean;
}

/** null when it is no absolute http or https URL with a host. A fragment and user info are left out: neither is ever sent. */
export function readTarget(text: string): Target | null {
  const url = readUrl(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  const isSecure = url.protocol === 'https:';
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  if (host === '' || port === 0) return null;
  const path = `${url.pathname}${url.search}`;
  return { origin: url.origin, isSecure, host, port, path, isLiteral: isLiteral(host) };
}

function readUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

export interface TargetFault {
  readonly code: 'blocked_url' | 'invalid';
  /** Public text. */
  readonly detail: string;
}

/**
 * The check at registration, without a look-up: a name is judged by its addresses whenever it is dialled. null when nothing is
 * wrong. Source: open points, section 4.
 */
export function checkTarget(text: string, policy: EgressPolicy): TargetFault | null {
  const fault = formFault(text);
  if (fault !== null) return { code: 'invalid', detail: fault };
  const target = readTarget(text);
  if (target === null) return { code: 'invalid', detail: 'The URL cannot be read.' };
  if (isLocalName(target.host) && !allowsLoopback(policy))
    return { code: 'blocked_url', detail: 'The host is this machine.' };
  if (target.isLiteral && judgeAddress(target.host, target.port, policy).kind === 'blocked')
    return { code: 'blocked_url', detail: 'The address may not be reached.' };
  return null;
}

/** The URL standard is lenient with what it reads; what is stored and shown should be what is called. */
function formFault(text: string): string | null {
  if (text.length > URL_CHARACTERS_MAX) return `The URL is longer than ${URL_CHARACTERS_MAX} characters.`;
  if (hasBlankOrControl(text) || text.includes('\\')) return 'The URL holds a character that it may not.';
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) return 'The URL must be absolute, http or https.';
  if (authority.includes('@')) return 'The URL may not hold user info.';
  if (text.includes('#')) return 'The URL may not hold a fragment.';
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
