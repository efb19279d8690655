import { Cookie, CookieJar } from 'tough-cookie';

/** A logged-in session that a customer supplied. Nothing of it goes anywhere but to its host. */
export interface SourceSession {
  /** A name or an address, lower case, no port; cookies go to it and to what lies below it, `headers` to it alone. */
  readonly host: string;
  readonly cookies: readonly SessionCookie[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface SessionCookie {
  readonly name: string;
  readonly value: string;
  /** null: the session's host and all below it. */
  readonly domain: string | null;
  readonly path: string;
  readonly secure: boolean;
  readonly httpOnly: boolean;
  /** Unix milliseconds; null until the session ends. */
  readonly expiresAtMs: number | null;
}

/** Choice: what browsers keep of one site, and the bytes of one that they take. */
const COOKIES_MAX = 180;
const COOKIE_BYTES_MAX = 4_096;

/** The session's cookies as they change while pages are fetched. */
export interface SessionJar {
  /** Whether anything of the session may go to the URL. */
  covers(url: string): boolean;
  /** What goes to the URL with a request: cookies, and headers where it is the session's very host. */
  headersFor(url: string): Readonly<Record<string, string>>;
  take(url: string, setCookies: readonly string[]): void;
  /** The cookies as they are now; null when none has changed since the last call. */
  takeCookies(): readonly SessionCookie[] | null;
}

export function createSessionJar(session: SourceSession): SessionJar {
  const { host } = session;
  // The session's host is what binds cookies here, so that the public suffix list has nothing to add.
  const jar = new CookieJar(null, { rejectPublicSuffixes: false, looseMode: true });
  let isChanged = false;
  let count = 0;

  const covers = (url: string): boolean => {
    const name = hostOf(url);
    return name === host || (!isAddress(host) && name.endsWith(`.${host}`));
  };
  const set = (cookie: Cookie | string, url: string): boolean =>
    jar.setCookieSync(cookie, url, { ignoreError: true }) !== undefined;

  for (const cookie of session.cookies.slice(0, COOKIES_MAX))
    if (set(toCookie(cookie, host), urlOf(cookie, host))) count++;

  return {
    covers,
    headersFor(url) {
      if (!covers(url)) return {};
      const cookie = jar.getCookieStringSync(url);
      const own = hostOf(url) === host ? session.headers : {};
      return { ...own, ...(cookie !== '' && { cookie }) };
    },
    take(url, setCookies) {
      if (!covers(url)) return;
      for (const text of setCookies) {
        if (text.length > COOKIE_BYTES_MAX || !set(text, url)) continue;
        isChanged = true;
        count++;
        // What was set again counts twice here; only then is it worth a look at how many there are.
        if (count > COOKIES_MAX) count = trim(jar);
      }
    },
    takeCookies() {
      if (!isChanged) return null;
      isChanged = false;
      return cookiesOf(jar).map((cookie) => fromCookie(cookie, host));
    },
  };
}

function toCookie(cookie: SessionCookie, host: string): Cookie {
  const { name, value, domain, path, secure, httpOnly, expiresAtMs } = cookie;
  const isHostOnly = isAddress(host);
  return new Cookie({
    key: name,
    value,
    domain: domain ?? host,
    path,
    secure,
    httpOnly,
    hostOnly: isHostOnly,
    ...(expiresAtMs !== null && { expires: new Date(expiresAtMs) }),
  });
}

/** The address under which the cookie may be set. */
function urlOf({ domain, secure, path }: SessionCookie, host: string): string {
  const name = domain ?? host;
  return `${secure ? 'https' : 'http'}://${name.includes(':') ? `[${name}]` : name}${path.startsWith('/') ? path : '/'}`;
}

function fromCookie(cookie: Cookie, host: string): SessionCookie {
  const { key, value, domain, path, secure, httpOnly, expires, maxAge } = cookie;
  const endsAtMs = maxAge === null && !(expires instanceof Date) ? null : (cookie.expiryTime() ?? null);
  return {
    name: key,
    value,
    domain: domain === host ? null : domain,
    path: path ?? '/',
    secure,
    httpOnly,
    expiresAtMs: endsAtMs !== null && Number.isFinite(endsAtMs) ? endsAtMs : null,
  };
}

/** Those that have not run out; the library drops the others only when they are next asked for. */
function cookiesOf(jar: CookieJar): readonly Cookie[] {
  const all = (jar.serializeSync()?.cookies ?? []).flatMap((json) => Cookie.fromJSON(json) ?? []);
  return all.filter((cookie) => cookie.TTL() > 0);
}

/** Removes the oldest beyond the bound; how many there are then. */
function trim(jar: CookieJar): number {
  const cookies = cookiesOf(jar);
  for (const { domain, path, key } of cookies.slice(0, Math.max(0, cookies.length - COOKIES_MAX)))
    jar.store.removeCookie(domain ?? '', path ?? '/', key, () => {});
  return Math.min(cookies.length, COOKIES_MAX);
}

function hostOf(url: string): string {
  const { hostname } = new URL(url);
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

function isAddress(host: string): boolean {
  return host.includes(':') || /^[\d.]+$/.test(host);
}
