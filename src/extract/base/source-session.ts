/** A logged-in session that a customer supplied. No part of it is sent anywhere but to its host. */
export interface SourceSession {
  /** A host name or IP address in lower case, without a port. Cookies are sent to it and its subdomains, `headers` only to it. */
  readonly host: string;
  readonly cookies: readonly SourceCookie[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface SourceCookie {
  readonly name: string;
  readonly value: string;
  /** null for the session's host. */
  readonly domain: string | null;
  /** True if the cookie is sent only to its domain. If false or absent, it is also sent to subdomains. */
  readonly hostOnly?: boolean;
  readonly path: string;
  readonly secure: boolean;
  readonly httpOnly: boolean;
  /** Unix milliseconds; null until the session ends. */
  readonly expiresAtMs: number | null;
}
