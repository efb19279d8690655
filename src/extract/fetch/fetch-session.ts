import { parseUrl } from '../../kernel/parse-url.ts';
import { Cookie, CookieJar } from 'tough-cookie';
import { registrableDomain } from '../../kernel/registrable-domain.ts';
import { hostOf, isAddress } from '../read/urls.ts';
import { cookieKey, type CookieChange, type CookiePlace, COOKIES_MAX } from './session-cookies.ts';
import type { SourceCookie, SourceSession } from '../base/source-session.ts';

/** A session as one job uses it. */
export interface JobSession extends SourceSession {
  /** For example `https://shop.example:8443`: origins named by the job's own input, or by the operator as the source's address. */
  readonly origins: readonly string[];
}

/** Choice: the maximum size of a cookie that browsers accept. */
export const COOKIE_BYTES_MAX = 4_096;
/** Choice: all cookies that can be set, and as many that they replace. */
const CHANGES_MAX = 2 * COOKIES_MAX;
/** Source: ECMAScript, the last time that a date can hold. */
const TIME_MS_MAX = 8.64e15;

/** The session's cookies, which change while pages are fetched. */
export class SessionJar {
  readonly #session: JobSession;
  readonly #means: SessionMeans;
  // This module decides which domains a cookie may have, by the session's host and the same list of public suffixes.
  readonly #jar = new CookieJar(null, { rejectPublicSuffixes: false, looseMode: true });
  /** Cookies in the jar; the oldest comes first. */
  readonly #known = new Map<string, SourceCookie>();
  readonly #changes = new Map<string, CookieChange>();

  constructor(session: JobSession) {
    this.#session = session;
    this.#means = meansOf(session);
    const { host } = session;
    for (const cookie of session.cookies.slice(-COOKIES_MAX)) {
      const kept = hasEnded(cookie) ? null : this.#put(toCookie(cookie, host), urlOf(cookie, host));
      if (kept !== null) this.#keep(kept);
    }
  }

  /** Returns whether the URL's host is the session's host or a subdomain of it. */
  covers(url: string): boolean {
    return isWithin(hostOf(url), this.#session.host);
  }

  /**
   * Returns whether any part of the session may be sent to the URL: by https to all hosts that it covers, and by plain http only if the job
   * names that origin.
   */
  goesTo(url: string): boolean {
    return this.covers(url) && (!isPlain(url) || this.#means.plainHosts.has(bareHost(hostOf(url))));
  }

  /**
   * Returns the session's headers for a request to the URL: cookies, plus `headers` if the host is exactly the session's, on a port that
   * the job names.
   */
  headersFor(url: string): Readonly<Record<string, string>> {
    if (!this.goesTo(url)) return {};
    const cookie = this.#jar.getCookieStringSync(url);
    const { port } = new URL(url);
    const isOwn = hostOf(url) === this.#session.host && (port === '' || this.#means.ports.has(port));
    return { ...(isOwn && this.#session.headers), ...(cookie !== '' && { cookie }) };
  }

  take(url: string, setCookies: readonly string[]): void {
    if (!this.goesTo(url)) return;
    for (const text of setCookies) {
      const read = text.length > COOKIE_BYTES_MAX ? null : readSetCookie(text, hostOf(url), this.#session.host);
      const cookie = read && this.#put(read, url);
      if (cookie === null) continue;
      if (hasEnded(cookie)) {
        this.#drop(cookie);
        const { domain, path, name } = cookie;
        this.#note({ kind: 'removed', cookie: { domain, path, name } });
      } else if (!isSame(cookie, this.#known.get(cookieKey(cookie)))) {
        this.#note({ kind: 'set', cookie });
        this.#keep(cookie);
      }
    }
  }

  /** Returns the cookies set or removed since the last call, only the latest change of each; null if there are none. */
  takeChanges(): readonly CookieChange[] | null {
    if (this.#changes.size === 0) return null;
    const taken = [...this.#changes.values()];
    this.#changes.clear();
    return taken;
  }

  /** Returns the cookie as stored; null if it may not be set there. */
  #put(cookie: Cookie, url: string): SourceCookie | null {
    const kept = this.#jar.setCookieSync(cookie, url, { ignoreError: true });
    return kept === undefined ? null : fromCookie(kept, this.#session.host);
  }

  #drop(cookie: CookiePlace): void {
    this.#known.delete(cookieKey(cookie));
    this.#jar.store.removeCookie(cookie.domain ?? this.#session.host, cookie.path, cookie.name, () => {});
  }

  #note(change: CookieChange): void {
    const key = cookieKey(change.cookie);
    this.#changes.delete(key);
    this.#changes.set(key, change);
    const [oldest] = this.#changes.keys();
    if (this.#changes.size > CHANGES_MAX && oldest !== undefined) this.#changes.delete(oldest);
  }

  #keep(cookie: SourceCookie): void {
    this.#known.set(cookieKey(cookie), cookie);
    const [oldest] = this.#known.values();
    if (this.#known.size <= COOKIES_MAX || oldest === undefined) return;
    this.#drop(oldest);
    // This cookie was removed here for lack of space, not by the source.
    this.#changes.delete(cookieKey(oldest));
  }
}

interface SessionMeans {
  /** Hosts that may be reached by plain http, without `www.`. */
  readonly plainHosts: ReadonlySet<string>;
  /** Ports of the session's host, as URLs spell them. */
  readonly ports: ReadonlySet<string>;
}

/**
 * Returns what the job names beyond https on the default port. Choice: a host with and without `www.` counts as one, because sites redirect
 * from one to the other.
 */
function meansOf({ host, origins }: JobSession): SessionMeans {
  const isOwn = (origin: string): boolean => bareHost(hostOf(origin)) === bareHost(host);
  return {
    plainHosts: new Set(origins.filter(isPlain).map((origin) => bareHost(hostOf(origin)))),
    ports: new Set(origins.filter(isOwn).map((origin) => new URL(origin).port)),
  };
}

function toCookie(cookie: SourceCookie, host: string): Cookie {
  const { name, value, domain, path, secure, httpOnly, hostOnly, expiresAtMs } = cookie;
  return new Cookie({
    key: name,
    value,
    domain: domain ?? host,
    path,
    secure,
    httpOnly,
    // Source: RFC 6265bis, 4.1.3.2: by its name it belongs to a single host.
    hostOnly: hostOnly === true || isAddress(host) || /^__host-/i.test(name),
    ...(expiresAtMs !== null && { expires: new Date(expiresAtMs) }),
  });
}

/** Returns the URL for which the cookie may be set. */
function urlOf({ domain, secure, path }: SourceCookie, host: string): string {
  const name = domain ?? host;
  return `${secure ? 'https' : 'http'}://${name.includes(':') ? `[${name}]` : name}${path.startsWith('/') ? path : '/'}`;
}

/**
 * Parses what the host `from` sets; null if it is not a cookie, or one for a domain that the host may not set. `host` is the highest domain
 * that a cookie may have.
 */
export function readSetCookie(text: string, from: string, host: string): Cookie | null {
  const cookie = Cookie.parse(text, { loose: true });
  if (cookie === undefined) return null;
  const scope = cookie.domain === null || cookie.domain === '' ? OWN_HOST : scopeOf(cookie.domain, from, host);
  if (scope === null) return null;
  cookie.domain = scope.domain ?? from;
  cookie.hostOnly = scope.hostOnly || isAddress(from);
  // Stored as an absolute time, because the library counts a lifetime from the last use of the cookie.
  const endsAtMs = cookie.expiryTime(new Date()) ?? Infinity;
  cookie.expires = endsAtMs > TIME_MS_MAX ? 'Infinity' : new Date(Math.max(0, endsAtMs));
  cookie.maxAge = null;
  return cookie;
}

/** A null domain is the host that set the cookie. */
type CookieScope = { readonly domain: string | null; readonly hostOnly: boolean };

const OWN_HOST: CookieScope = { domain: null, hostOnly: true };

/**
 * Returns the scope of a cookie with a domain. Returns null if the cookie is rejected: it names another domain, or a public suffix, which
 * would expose it to every site there. Choice: a cookie for a domain above `host`, a session's, becomes a cookie of that host, because no
 * part of a session is sent above it. Rejecting it would lose the login at each site that renews its cookie for the whole domain.
 */
function scopeOf(attribute: string, from: string, host: string): CookieScope | null {
  const url = `https://${attribute.trim().replace(/^\./, '')}/`;
  if (parseUrl(url) === null) return null;
  const domain = hostOf(url);
  if (!isWithin(from, domain)) return null;
  // Source: RFC 6265, 5.3, step 5: a host that is itself a public suffix keeps the cookie to itself.
  if (registrableDomain(domain) === null) return domain === from ? OWN_HOST : null;
  return { domain: isWithin(domain, host) ? domain : host, hostOnly: false };
}

function fromCookie(cookie: Cookie, host: string): SourceCookie {
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

function hasEnded({ expiresAtMs }: SourceCookie): boolean {
  return expiresAtMs !== null && expiresAtMs <= Date.now();
}

/** Both must come from `fromCookie`. */
function isSame(a: SourceCookie, b: SourceCookie | undefined): boolean {
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
