import type { SessionJar } from './session.ts';

/** Choice: what browsers and servers take at most. */
const URL_CHARACTERS_MAX = 8_192;

export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

/** A URL that can be fetched, as the URL standard spells it and without its fragment and user info; null for any other. */
export function readFetchUrl(text: string, base?: string): string | null {
  if (text.length > URL_CHARACTERS_MAX || !URL.canParse(text, base)) return null;
  const url = new URL(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  url.hash = '';
  url.username = '';
  url.password = '';
  return url.href;
}

/** null where there is no location, or one that cannot be fetched. */
export function redirectTarget(from: string, location: string | undefined): string | null {
  if (location === undefined || location.trim() === '') return null;
  // Header bytes are taken as Latin-1, and those that are not ASCII are UTF-8 wherever they are anything.
  return readFetchUrl(Buffer.from(location, 'latin1').toString('utf8'), from);
}

/**
 * Whether credentials may go on to where a redirect leads: to the same origin, and with a session within its host and what lies
 * below it, on the same port. Never from https to http; http to https is a step up and keeps them.
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

/** Told by its address: that is all there is to see of a page that answers with a redirect. */
export function isLoginPage(url: string): boolean {
  const { hostname, pathname } = new URL(url);
  return LOGIN_HOST.test(hostname) || pathname.split('/').some((segment) => LOGIN_SEGMENT.test(segment));
}
