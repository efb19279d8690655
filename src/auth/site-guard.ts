import type { RequestHead } from '../http/exchange.ts';
import { LOOPBACK_ORIGIN } from '../kernel/origin.ts';
import { parseUrl } from '../kernel/parse-url.ts';

/** What is known about the address under which browsers reach the dashboard. */
export interface SiteAddress {
  /** GATEHOUSE_PUBLIC_URL as an origin; null if it is not set. */
  readonly publicOrigin: string | null;
  /** The address on which the dashboard listens. */
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** Tells requests of the dashboard's own pages from those that other sites make a browser send. Never reads Host. */
export interface SiteGuard {
  /** Browsers reach the dashboard by HTTPS, so its cookie can be `Secure`. */
  readonly isSecure: boolean;
  /** False on plain HTTP for other machines: nobody can sign in. */
  readonly isUsable: boolean;
  /** The origin to print in links. */
  readonly origin: string;
  /** Returns whether a request that may change something comes from a page of the dashboard. */
  isOwn(head: RequestHead): boolean;
}

const LOOPBACK_HOSTS = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * A request is the dashboard's own if it has `X-Gatehouse: 1`, which another site's page can send only after a preflight that nobody
 * answers, and if the browser names our origin in `Origin`, or says `same-origin` in `Sec-Fetch-Site`, which no script can set. The two
 * must not contradict each other. Source: contract, 18.3.
 */
export function createSiteGuard(address: SiteAddress): SiteGuard {
  const { publicOrigin, isTls } = address;
  const origins = publicOrigin === null ? ownOrigins(address) : [publicOrigin];
  const isOwnOrigin = (origin: string, isSameOrigin: boolean): boolean => {
    if (origins.includes(origin)) return true;
    if (origin === '') return isSameOrigin;
    // Without a public URL the name that the browser uses is unknown: a port may be forwarded, a certificate may have any name.
    return publicOrigin === null && isSameOrigin && (isTls || LOOPBACK_ORIGIN.test(origin));
  };
  return {
    isSecure: publicOrigin === null ? isTls : publicOrigin.startsWith('https:'),
    origin: origins[0] ?? originOf(literalOf(address.host), address.port, isTls),
    isUsable: isTls || origins.length > 0,
    isOwn({ cold }) {
      const site = cold.get('sec-fetch-site');
      if (site !== '' && site !== 'same-origin') return false;
      return cold.get('x-gatehouse') === '1' && isOwnOrigin(cold.get('origin'), site === 'same-origin');
    },
  };
}

/**
 * Returns the origins of an address that is bound; the first one is for links. On plain HTTP only those of this machine: elsewhere anyone on
 * the way could read the key.
 */
function ownOrigins({ host, port, isTls }: SiteAddress): readonly string[] {
  const literal = literalOf(host);
  const isAny = host === '0.0.0.0' || host === '::';
  const isLoopback = LOOPBACK_HOSTS.includes(literal) || host.startsWith('127.');
  const others = isAny || isLoopback ? LOOPBACK_HOSTS : [];
  const own = !isAny && (isTls || isLoopback) ? [literal] : [];
  return [...own, ...others].map((name) => originOf(name, port, isTls));
}

function literalOf(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function originOf(host: string, port: number, isTls: boolean): string {
  const written = `http${isTls ? 's' : ''}://${host}:${port}`;
  return parseUrl(written)?.origin ?? written;
}
