import type { SessionCookie, SourceSession } from './session.ts';

/** Choice: what browsers keep of one site. */
export const COOKIES_MAX = 180;

/** What tells a cookie from the others of its session. Source: RFC 6265, 5.3, step 11. */
export type CookiePlace = Pick<SessionCookie, 'domain' | 'path' | 'name'>;

/** What a source did to one cookie of a session while a step ran. */
export type CookieChange =
  | { readonly kind: 'set'; readonly cookie: SessionCookie }
  | { readonly kind: 'removed'; readonly cookie: CookiePlace };

/** The same text for the same cookie. */
export function cookieKey({ domain, path, name }: CookiePlace): string {
  return JSON.stringify([domain, path, name]);
}

/**
 * The session as it is now, with what a step changed of it; null where that changes nothing. All else stays as others have left it
 * meanwhile. Those that have run out go, and of more than `COOKIES_MAX` the oldest. Both are JSON: of a `SourceSession`, and of
 * `CookieChange`s in the order in which they were made.
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
