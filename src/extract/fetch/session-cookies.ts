import type { SourceCookie, SourceSession } from '../base/source-session.ts';

/** Choice: the number that browsers keep for one site. */
export const COOKIES_MAX = 180;

/** What identifies a cookie within its session. Source: RFC 6265, 5.3, step 11. */
export type CookiePlace = Pick<SourceCookie, 'domain' | 'path' | 'name'>;

/** A change that a source made to one cookie of a session while a step ran. */
export type CookieChange =
  | { readonly kind: 'set'; readonly cookie: SourceCookie }
  | { readonly kind: 'removed'; readonly cookie: CookiePlace };

/** Returns the same text for the same cookie. */
export function cookieKey({ domain, path, name }: CookiePlace): string {
  return JSON.stringify([domain, path, name]);
}

/**
 * Applies a step's changes to the current session; null if that changes nothing. Cookies that other steps changed meanwhile are kept.
 * Removes expired cookies and, beyond `COOKIES_MAX`, the oldest ones. Both arguments are JSON: a `SourceSession`, and a list of
 * `CookieChange`s in chronological order.
 */
export function withCookieChanges(sessionJson: string, changesJson: string, nowMs: number): string | null {
  const session = JSON.parse(sessionJson) as SourceSession;
  const cookies = new Map(session.cookies.map((cookie) => [cookieKey(cookie), cookie]));
  for (const change of JSON.parse(changesJson) as readonly CookieChange[]) {
    if (change.kind === 'set') cookies.set(cookieKey(change.cookie), change.cookie);
    else cookies.delete(cookieKey(change.cookie));
  }
  const live = [...cookies.values()].filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > nowMs);
  const merged = JSON.stringify({ ...session, cookies: live.slice(-COOKIES_MAX) } satisfies SourceSession);
  return merged === sessionJson ? null : merged;
}
