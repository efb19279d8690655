/** Choice: longer addresses are traps or data. */
export const URL_CHARACTERS_MAX = 2_048;

/** The absolute form of a link, with http or https and without credentials; null for every other. Never throws. */
export function absoluteUrl(link: string | null | undefined, base: string): string | null {
  if (link === null || link === undefined || link.length > URL_CHARACTERS_MAX) return null;
  try {
    const url = new URL(link.trim(), base);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
    // Setting a part of an address costs as much as reading it whole, and few have this one.
    if (url.username !== '' || url.password !== '') {
      url.username = '';
      url.password = '';
    }
    return url.href.length > URL_CHARACTERS_MAX ? null : url.href;
  } catch {
    return null;
  }
}

/** Parameters that tell a visit's origin and never what the page holds. */
const TRACKING =
  /^(?:utm_[a-z_]+|fbclid|gclid|dclid|gbraid|wbraid|msclkid|mc_cid|mc_eid|igshid|yclid|_ga|_gl|ref_src)$/i;

/** One text for all addresses of one page: no fragment, no tracking parameters, no empty query. Takes an absolute URL. */
export function normalisedUrl(absolute: string): string {
  const url = new URL(absolute);
  if (!/[?#]/.test(url.href)) return url.href;
  url.hash = '';
  const kept = url.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !TRACKING.test(pair.split('=', 1)[0] ?? ''));
  url.search = kept.join('&');
  return url.href;
}
