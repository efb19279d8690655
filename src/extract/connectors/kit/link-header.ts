import { parseUrl } from '../../../kernel/parse-url.ts';

/** Choice: pages of these interfaces send less than 1,000 characters. */
const CHARACTERS_MAX = 8_192;
const LINK = /<([^<>]*)>((?:\s*;\s*[\w*]+\s*=\s*(?:"[^"]*"|[^",;\s]*))*)/g;

/**
 * Returns the query of the `rel="next"` link; null if there is none. Returns only the query, because a link may name another host, and the
 * caller decides which host to call. Source: RFC 8288, section 3.
 */
export function nextQuery(header: string | undefined): URLSearchParams | null {
  if (header === undefined || header.length > CHARACTERS_MAX) return null;
  for (const [, target = '', parameters = ''] of header.matchAll(LINK)) {
    const isNext = /;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next(?:\s|;|$))/i.test(parameters);
    const url = isNext ? parseUrl(target, 'https://base.invalid/') : null;
    if (url !== null) return url.searchParams;
  }
  return null;
}
