import { Cookie, CookieJar } from 'tough-cookie';
import { registrableDomain } from '../../core/registrable-domain.ts';
import { hostOf, isAddress } from '../read/urls.ts';
import { cookieKey, type CookieChange, type CookiePlace, COOKIES_MAX } from './session-cookies.ts';

/** A logged-in session that a customer supplied. Nothing of it goes anywhere but to its host. */
export interface SourceSession {
  /** A name or an address, lower case, no port; cookies go to it and to what lies below it, `headers` to it alone. */
  readonly host: string;
  readonly cookies: readonly SessionCookie[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A session as one job uses it. */
export interface JobSession extends SourceSession {
  /** `https://shop.example:8443`: what the job's own input names, or the operator as the source's address. */
  readonly origins: readonly string[];
}

export interface SessionCookie {
  readonly name: string;
  readonly value: string;
  /** null: the session's host. */
  readonly domain: string | null;
  /** It goes to its domain alone; else, also where it is not said, to what lies below as well. */
  readonly hostOnly?: boolean;
  readonly path: string;
  readonly secure: boolean;
  readonly httpOnly: boolean;
  /** Unix milliseconds; null until the session ends. */
  readonly expiresAtMs: number | null;
}

/** Choice: the bytes of one that browsers take. */
const COOKIE_BYTES_MAX = 4_096;
/** Choice: all that there may be set, and as many that go for them. */
const CHANGES_MAX = 2 * COOKIES_MAX;
/** Source: ECMAScript, the last time that a date can hold. */
const TIME_MS_MAX = 8.64e15;

/** The session's cookies as they change while pages are fetched. */
export interface SessionJar {
  /** Whether the URL's host is the session's or lies below it. */
  covers(url: string): boolean;
  /** Whether anything of the session may go to the URL: to what it covers by https, and by plain http where the job names that. */
  goesTo(url: string): boolean;
  /** What goes to the URL with a request: cookies, and headers where it is the session's very host, on a port that the job means. */
  headersFor(url: string): Readonly<Record<string, string>>;
  take(url: string, setCookies: readonly string[]): void;
  /** What was set or removed since the last call, the latest of each cookie; null where nothing was. */
  takeChanges(): readonly CookieChange[] | null;
}

export function createSessionJar(session: JobSession): SessionJar {
  const { host } = session;
  const { plainHosts, ports } = meansOf(session);
  // Which domains a cookie may have is judged here, by the session's host and the same list of suffixes as that.
  const jar = new CookieJar(null, { rejectPublicSuffixes: false, looseMode: true });
  /** Those in the jar, the oldest first. */
  const known = new Map<string, SessionCookie>();
  const changes = new Map<string, CookieChange>();

  const covers = (url: string): boolean => isWithin(hostOf(url), host);
  const goesTo = (url: string): boolean => covers(url) && (!isPlain(url) || plainHosts.has(bareHost(hostOf(url))));
  /** As it was kept; null where it may not be set there. */
  const put = (cookie: Cookie, url: string): SessionCookie | null => {
    const kept = jar.setCookieSync(cookie, url, { ignoreError: true });
    return kept === undefined ? null : fromCookie(kept, host);
  };
  const drop = (cookie: CookiePlace): void => {
    known.delete(cookieKey(cookie));
    jar.store.removeCookie(cookie.domain ?? host, cookie.path, cookie.name, () => {});
  };
  const note = (change: CookieChange): void => {
    const key = cookieKey(change.cookie);
    changes.delete(key);
    changes.set(key, change);
    const [oldest] = changes.keys();
    if (changes.size > CHANGES_MAX && oldest !== undefined) changes.delete(oldest);
  };
  const keep = (cookie: SessionCookie): void => {
    known.set(cookieKey(cookie), cookie);
    const [oldest] = known.values();
    if (known.size <= COOKIES_MAX || oldest === undefined) return;
    drop(oldest);
    // It went for want of room here, which is no wish of the source's.
    changes.delete(cookieKey(oldest));
  };

  for (const cookie of session.cookies.slice(-COOKIES_MAX)) {
    const kept = hasEnded(cookie) ? null : put(toCookie(cookie, host), urlOf(cookie, host));
    if (kept !== null) keep(kept);
  }

  return {
    covers,
    goesTo,
    headersFor(url) {
      if (!goesTo(url)) return {};
      const cookie = jar.getCookieStringSync(url);
      const { port } = new URL(url);
      const own = hostOf(url) === host && (port === '' || ports.has(port)) ? session.headers : {};
      return { ...own, ...(cookie !== '' && { cookie }) };
    },
    take(url, setCookies) {
      if (!goesTo(url)) return;
      for (const text of setCookies) {
        const read = text.length > COOKIE_BYTES_MAX ? null : readSetCookie(text, hostOf(url), host);
        const cookie = read && put(read, url);
        if (cookie === null) continue;
        if (hasEnded(cookie)) {
          drop(cookie);
          const { domain, path, name } = cookie;
          note({ kind: 'removed', cookie: { domain, path, name } });
        } else if (!isSame(cookie, known.get(cookieKey(cookie)))) {
          note({ kind: 'set', cookie });
          keep(cookie);
        }
      }
    },
    takeChanges() {
      if (changes.size === 0) return null;
      const taken = [...changes.values()];
      changes.clear();
      return taken;
    },
  };
}

/** What the job means beyond https on its usual port. Choice: a host with and without `www.` is one, as sites send from the one to the other. */
function meansOf({ host, origins }: JobSession): {
  /** Those that plain http may reach, without `www.`. */
  readonly plainHosts: ReadonlySet<string>;
  /** Of the session's host, as URLs spell them. */
  readonly ports: ReadonlySet<string>;
} {
  const isOwn = (origin: string): boolean => bareHost(hostOf(origin)) === bareHost(host);
  return {
    plainHosts: new Set(origins.filter(isPlain).map((origin) => bareHost(hostOf(origin)))),
    ports: new Set(origins.filter(isOwn).map((origin) => new URL(origin).port)),
  };
}

function toCookie(cookie: SessionCookie, host: string): Cookie {
  const { name, value, domain, path, secure, httpOnly, hostOnly, expiresAtMs } = cookie;
  return new Cookie({
    key: name,
    value,
    domain: domain ?? host,
    path,
    secure,
    httpOnly,
    // Source: RFC 6265bis, 4.1.3.2: by its name it can be of nothing but one host.
    hostOnly: hostOnly === true || isAddress(host) || /^__host-/i.test(name),
    ...(expiresAtMs !== null && { expires: new Date(expiresAtMs) }),
  });
}

/** The address under which the cookie may be set. */
function urlOf({ domain, secure, path }: SessionCookie, host: string): string {
  const name = domain ?? host;
  return `${secure ? 'https' : 'http'}://${name.includes(':') ? `[${name}]` : name}${path.startsWith('/') ? path : '/'}`;
}

/** What a source sets; null for what is no cookie, or one of a domain that is not its own to set. */
function readSetCookie(text: string, from: string, host: string): Cookie | null {
  const cookie = Cookie.parse(text, { loose: true });
  if (cookie === undefined) return null;
  const scope = cookie.domain === null || cookie.domain === '' ? OWN_HOST : scopeOf(cookie.domain, from, host);
  if (scope === null) return null;
  cookie.domain = scope.domain ?? from;
  cookie.hostOnly = scope.hostOnly || isAddress(from);
  // Its end as a time: the library counts a lifetime from when the cookie was last used.
  const endsAtMs = cookie.expiryTime(new Date()) ?? Infinity;
  cookie.expires = endsAtMs > TIME_MS_MAX ? 'Infinity' : new Date(Math.max(0, endsAtMs));
  cookie.maxAge = null;
  return cookie;
}

/** null as domain: the host that set it. */
type CookieScope = { readonly domain: string | null; readonly hostOnly: boolean };

const OWN_HOST: CookieScope = { domain: null, hostOnly: true };

/**
 * Of a cookie with a domain; null where it is refused: one of another domain, or of a public suffix, which would be everyone's there.
 * Choice: one of a domain above the session's host becomes one of that host, as nothing of a session goes above it. To refuse it would
 * lose the login of each site that renews it for its whole domain.
 */
function scopeOf(attribute: string, from: string, host: string): CookieScope | null {
  const url = `https://${attribute.trim().replace(/^\./, '')}/`;
  if (!URL.canParse(url)) return null;
  const domain = hostOf(url);
  if (!isWithin(from, domain)) return null;
  // Source: RFC 6265, 5.3, step 5: a host that is a suffix itself keeps it to itself.
  if (registrableDomain(domain) === null) return domain === from ? OWN_HOST : null;
  return { domain: isWithin(domain, host) ? domain : host, hostOnly: false };
}

function fromCookie(cookie: Cookie, host: string): SessionCookie {
  const { key, value, domain, hostOnly, path, secure, httpOnly, expires } = cookie;
  return {
    name: key,
    value,
    domain: domain === host ? null : domain,
    hostOnly: hostOnly === true,
    path: path ?? '/',
    secure,
    httpOnly,
    expiresAtMs: expires instanceof Date ? expires.getTime() : null,
  };
}

function hasEnded({ expiresAtMs }: SessionCookie): boolean {
  return expiresAtMs !== null && expiresAtMs <= Date.now();
}

/** Both as `fromCookie` gives them. */
function isSame(a: SessionCookie, b: SessionCookie | undefined): boolean {
  return b !== undefined && JSON.stringify(a) === JSON.stringify(b);
}

function isWithin(name: string, host: string): boolean {
  return name === host || (!isAddress(host) && name.endsWith(`.${host}`));
}

function isPlain(url: string): boolean {
  return new URL(url).protocol === 'http:';
}

function bareHost(host: string): string {
  return host.replace(/^www\./, '');
}
