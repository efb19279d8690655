import { DASHBOARD_SESSION_MS } from '../kernel/limits.ts';

/**
 * The cookie of a dashboard session. With HTTPS its name begins with `__Host-`: browsers then accept it only with `Secure`, for this host
 * alone and for every path, so no other host and no page on plain HTTP can plant one.
 */
export interface SessionCookie {
  /** Returns the session's id in a Cookie header; '' if there is none. */
  read(cookies: string): string;
  /** Returns the header line that sets the cookie. Begins with CRLF. */
  set(id: string): string;
  /** Returns the header line that removes the cookie. Begins with CRLF. */
  clear(): string;
}

export function sessionCookie(isSecure: boolean): SessionCookie {
  const name = isSecure ? '__Host-gh' : 'gh_dev';
  const attributes = `; HttpOnly; ${isSecure ? 'Secure; ' : ''}SameSite=Strict; Path=/`;
  const maxAgeSeconds = DASHBOARD_SESSION_MS / 1_000;
  return {
    read: (cookies) => readCookie(cookies, name),
    set: (id) => `\r\nSet-Cookie: ${name}=${id}${attributes}; Max-Age=${maxAgeSeconds}`,
    clear: () => `\r\nSet-Cookie: ${name}=${attributes}; Max-Age=0`,
  };
}

/** Returns the value of the first cookie with this name; '' if there is none. */
export function readCookie(cookies: string, name: string): string {
  for (const pair of cookies.split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return '';
}
