import { CookieJar } from 'tough-cookie';
import { registrableDomain } from '../../kernel/registrable-domain.ts';
import { hostOf } from '../read/urls.ts';
import { COOKIE_BYTES_MAX, readSetCookie } from './fetch-session.ts';

/** Choice: servers accept some 8 to 16 KiB of headers. */
const BYTES_MAX = 8_192;

/**
 * Cookies that the redirects of one fetch set, for its further hops: many sites set one and redirect to the same address. Ends with the
 * fetch, so no other fetch, job or customer gets them.
 */
export class RedirectCookies {
  #jar: CookieJar | null = null;
  #bytes = 0;

  /** Keeps cookies for the host of the URL and, where they say so, for its registrable domain. */
  take(url: string, setCookies: readonly string[]): void {
    const from = hostOf(url);
    for (const text of setCookies) {
      if (text.length > COOKIE_BYTES_MAX || this.#bytes + text.length > BYTES_MAX) continue;
      const cookie = readSetCookie(text, from, registrableDomain(from) ?? from);
      // Source: RFC 6265bis, 5.7, step 8: plain http sets no secure cookie.
      if (cookie === null || (cookie.secure && url.startsWith('http:'))) continue;
      this.#bytes += text.length;
      this.#jar ??= new CookieJar(null, { rejectPublicSuffixes: false, looseMode: true, allowSecureOnLocal: false });
      this.#jar.setCookieSync(cookie, url, { ignoreError: true });
    }
  }

  /** Returns the value of the `Cookie` header for the URL; '' without cookies. */
  headerFor(url: string): string {
    return this.#jar?.getCookieStringSync(url) ?? '';
  }
}
