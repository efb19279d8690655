/** Choice: the longest that a page of these interfaces sends is under 1,000 characters. */
const CHARACTERS_MAX = 8_192;
const LINK = /<([^<>]*)>((?:\s*;\s*[\w*]+\s*=\s*(?:"[^"]*"|[^",;\s]*))*)/g;

/**
 * The query of the `rel="next"` link, null without one. Only its query: a link may name another host, and the host that is asked
 * is the caller's choice. Source: RFC 8288, section 3.
 */
export function nextQuery(header: string | undefined): URLSearchParams | null {
  if (header === undefined || header.length > CHARACTERS_MAX) return null;
  for (const [, target = '', parameters = ''] of header.matchAll(LINK)) {
    const isNext = /;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next(?:\s|;|$))/i.test(parameters);
    if (isNext && URL.canParse(target, 'https://base.invalid/'))
      return new URL(target, 'https://base.invalid/').searchParams;
  }
  return null;
}
