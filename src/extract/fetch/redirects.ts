import { parseUrl } from '../../kernel/parse-url.ts';
import type { SessionJar } from './fetch-session.ts';

/** Choice: the maximum that browsers and servers accept. */
const URL_CHARACTERS_MAX = 8_192;

export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

/** Returns a fetchable URL in the spelling of the URL standard, without fragment and user info; null for any other text. */
export function readFetchUrl(text: string, base?: string): string | null {
  const url = text.length > URL_CHARACTERS_MAX ? null : parseUrl(text, base);
  if (url === null) return null;
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  url.hash = '';
  url.username = '';
  url.password = '';
  return url.href;
}

/** Returns null if there is no location, or one that cannot be fetched. */
export function redirectTarget(from: string, location: string | undefined): string | null {
  if (location === undefined || location.trim() === '') return null;
  // Header bytes are read as Latin-1. Bytes that are not ASCII are UTF-8 if they are text at all.
  return readFetchUrl(Buffer.from(location, 'latin1').toString('utf8'), from);
}

/**
 * Returns whether credentials may be sent to the target of a redirect: to the same host and port and, with a session, within the session's
 * host and its subdomains on the same port. Never from https to http. A redirect from http to https keeps them.
 */
export function keepsTrust(from: string, to: string, session: SessionJar | null): boolean {
  const [a, b] = [new URL(from), new URL(to)];
  if (a.protocol === 'https:' && b.protocol === 'http:') return false;
  const isSamePort = a.port === b.port;
  if (a.hostname === b.hostname && isSamePort) return true;
  return session !== null && isSamePort && session.covers(from) && session.covers(to);
}

const LOGIN_SEGMENT = /^(?:wp-)?(?:log|sign)[-_]?(?:in|on)(?:\.[a-z]{2,5})?$|^(?:sso|authenticate)$/i;
const LOGIN_HOST = /^(?:login|signin|sso)\./i;

/** Recognised by its URL, which is all that a redirect reveals about the page. */
export function isLoginPage(url: string): boolean {
  const { hostname, pathname } = new URL(url);
  return LOGIN_HOST.test(hostname) || pathname.split('/').some((segment) => LOGIN_SEGMENT.test(segment));
}
