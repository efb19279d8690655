import { parseUrl } from '../../../kernel/parse-url.ts';
import { SourceFailure } from '../../base/connector.ts';
import { isSchemeAndNumber } from '../../read/urls.ts';

/** Choice: far above real addresses of sites. With this limit, the steps of a job stay under 4 KiB. */
const SITE_CHARACTERS_MAX = 800;

export type Site =
  /** Absolute http or https URL without user info, query, fragment and trailing slash. */
  { readonly kind: 'site'; readonly url: string } | { readonly kind: 'fault'; readonly message: string };

/** `example.com`, `example.com:8080`, `example.com/blog`: how people write addresses. */
const BARE = /^[\p{L}\p{N}][\p{L}\p{N}._-]*(?::\d{1,5})?(?:\/.*)?$/u;
/** Characters that URL parsers drop or convert, so that the parsed URL would differ from what people read. */
// oxlint-disable-next-line no-control-regex
const TREACHEROUS = /[\u0000-\u0020\u007F\\]/;

/** Parses the address of a site given by the caller. A bare host name means https. */
export function parseSite(text: string): Site {
  const trimmed = text.trim();
  const absolute = /^https?:\/\//i.test(trimmed) ? trimmed : BARE.test(trimmed) ? `https://${trimmed}` : null;
  const url = absolute === null || TREACHEROUS.test(absolute) || isSchemeAndNumber(trimmed) ? null : parseUrl(absolute);
  if (url === null || url.port === '0') {
    return { kind: 'fault', message: 'This must be an absolute http or https URL or a host name.' };
  }
  if (url.username !== '' || url.password !== '') {
    return { kind: 'fault', message: 'This must not contain a user name or a password.' };
  }
  const site = (url.origin + url.pathname).replace(/\/+$/, '');
  return site.length > SITE_CHARACTERS_MAX
    ? { kind: 'fault', message: `This must have at most ${SITE_CHARACTERS_MAX} characters once encoded.` }
    : { kind: 'site', url: site };
}

/** Query parameters; null ones are omitted. */
export type AddressQuery = Readonly<Record<string, string | number | boolean | null>>;

/**
 * Builds a URL under `base`. Encodes each path segment, so that no name leads outside of its path. A name that cannot be encoded, `..`,
 * exists at no source: throws `source_not_found`.
 */
export function address(base: string, path: readonly string[], query: AddressQuery = {}): string {
  const segments = path.map((segment) => {
    if (/^\.{0,2}$/.test(segment)) {
      throw new SourceFailure('source_not_found', `${JSON.stringify(segment)} is not a valid name`, false);
    }
    return encodeURIComponent(wellFormed(segment));
  });
  return withQuery([base.replace(/\/+$/, ''), ...segments].join('/'), query);
}

/** Adds a query to a URL that has none. */
export function withQuery(url: string, query: AddressQuery): string {
  const parameters = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === null ? [] : [[name, String(value)] as [string, string]],
    ),
  );
  return parameters.size === 0 ? url : `${url}?${parameters.toString()}`;
}

/** Replaces a lone surrogate, which JSON allows and a URL does not, by U+FFFD. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}
