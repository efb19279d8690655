import { SourceFailure } from '../../connector.ts';
import { isSchemeAndNumber } from '../../read/urls.ts';

/** Choice: far above real addresses of sites; with it the steps of a job stay under 4 KiB. */
const SITE_CHARACTERS_MAX = 800;

export type Site =
  /** Absolute, http or https, without user, query, fragment and slash at its end. */
  { readonly kind: 'site'; readonly url: string } | { readonly kind: 'fault'; readonly message: string };

/** `example.com`, `example.com:8080`, `example.com/blog`: what people write for an address. */
const BARE = /^[\p{L}\p{N}][\p{L}\p{N}._-]*(?::\d{1,5})?(?:\/.*)?$/u;
/** Characters that URL parsers drop or turn round, so that an address would not be the one that people read. */
// oxlint-disable-next-line no-control-regex
const TREACHEROUS = /[\u0000-\u0020\u007F\\]/;

/** The address of a site that a caller gives. A bare host name is https. */
export function parseSite(text: string): Site {
  const trimmed = text.trim();
  const absolute = /^https?:\/\//i.test(trimmed) ? trimmed : BARE.test(trimmed) ? `https://${trimmed}` : null;
  const url =
    absolute === null || TREACHEROUS.test(absolute) || isSchemeAndNumber(trimmed) || !URL.canParse(absolute)
      ? null
      : new URL(absolute);
  if (url === null || url.port === '0') {
    return { kind: 'fault', message: 'This must be an absolute http or https URL or a host name.' };
  }
  if (url.username !== '' || url.password !== '') {
    return { kind: 'fault', message: 'This must not hold a user name or a password.' };
  }
  const site = (url.origin + url.pathname).replace(/\/+$/, '');
  return site.length > SITE_CHARACTERS_MAX
    ? { kind: 'fault', message: `This must have at most ${SITE_CHARACTERS_MAX} characters once encoded.` }
    : { kind: 'site', url: site };
}

/** Parameters of a query; those that are null are left out. */
export type Query = Readonly<Record<string, string | number | boolean | null>>;

/**
 * An address under `base`. Each segment of the path is encoded, so that no name leads out of its place; and a name that cannot be
 * encoded so, `..`, is one that no source has: throws `source_not_found`.
 */
export function address(base: string, path: readonly string[], query: Query = {}): string {
  const segments = path.map((segment) => {
    if (/^\.{0,2}$/.test(segment)) {
      throw new SourceFailure('source_not_found', `${JSON.stringify(segment)} is no name`, false);
    }
    return encodeURIComponent(wellFormed(segment));
  });
  return withQuery([base.replace(/\/+$/, ''), ...segments].join('/'), query);
}

/** A URL without a query of its own, with this one. */
export function withQuery(url: string, query: Query): string {
  const parameters = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === null ? [] : [[name, String(value)] as [string, string]],
    ),
  );
  return parameters.size === 0 ? url : `${url}?${parameters.toString()}`;
}

/** Half a character, which JSON can hold and an address cannot, becomes U+FFFD. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}
