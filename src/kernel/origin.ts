import { parseUrl } from './parse-url.ts';

/** Origins of web pages, as browsers send them in `Origin`: scheme, host and port. Source: contract, 2.7. */

/** Stands for every origin. */
export const ANY_ORIGIN = '*';

/** An origin of this machine on plain HTTP, as browsers send it. */
export const LOOPBACK_ORIGIN = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

export type ParsedOrigin =
  | { readonly kind: 'origin'; readonly origin: string }
  | { readonly kind: 'fault'; readonly detail: string };

/** Names and addresses without a wildcard. An international name has been converted to ASCII. */
const HOST = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/;
const LOOPBACK_HOST = /^(?:localhost|[a-z0-9.-]+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Reads an origin as a person writes it, and returns it as browsers send it: in lower case, without the scheme's own port. Accepts
 * `https`, and `http` for this machine only: a script that came over plain HTTP may have been written by anyone on the way.
 */
export function parseOrigin(text: string): ParsedOrigin {
  if (text === ANY_ORIGIN) return { kind: 'origin', origin: ANY_ORIGIN };
  if (!/^https?:\/\/[^\s/?#@\\]+\/?$/i.test(text))
    return fault(text, 'must be a scheme and a host, such as https://shop.example');
  const url = parseUrl(text);
  if (url === null) return fault(text, 'is not a valid origin');
  const { protocol, hostname, origin } = url;
  if (!HOST.test(hostname)) return fault(text, 'must name one host, without a wildcard');
  if (protocol === 'http:' && !LOOPBACK_HOST.test(hostname)) return fault(text, 'must begin with https://');
  return { kind: 'origin', origin };
}

/** Returns the value of Access-Control-Allow-Origin for a page of this origin; null if it is not among the allowed ones. */
export function allowedOrigin(allowed: ReadonlySet<string>, origin: string): string | null {
  if (allowed.has(ANY_ORIGIN)) return ANY_ORIGIN;
  return allowed.has(origin) ? origin : null;
}

function fault(text: string, what: string): ParsedOrigin {
  return { kind: 'fault', detail: `${text} ${what}` };
}
