import { isTag, type Element } from 'domhandler';
import { attribute, elementsNamed, readHtml, textBeginning } from './html.ts';
import { absoluteUrl } from './urls.ts';

/** Choice: a page that only leads to another one is short, whatever it says meanwhile. */
const PAGE_CHARACTERS_MAX = 16_384;
const TEXT_CHARACTERS_MAX = 300;
/** Choice: readers wait no longer; pages that reload themselves wait for minutes. */
const SECONDS_MAX = 10;

/**
 * Returns the address to which a page leads that does nothing else; null for any other page. Source: HTML standard, "Refresh state".
 */
export function refreshTarget({ text, url }: { readonly text: string; readonly url: string }): string | null {
  if (text.length > PAGE_CHARACTERS_MAX || !/http-equiv\s*=\s*["']?\s*refresh/i.test(text)) return null;
  const page = readHtml(text, url);
  const meta = elementsNamed(page, 'meta').find(isRefresh);
  const found = /^\s*(\d{1,6})(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?(?:"([^"]*)"?|'([^']*)'?|(.*))$/is.exec(
    attribute(meta, 'content') ?? '',
  );
  if (found === null || Number(found[1]) > SECONDS_MAX) return null;
  if (textBeginning(page.root, TEXT_CHARACTERS_MAX + 1).length > TEXT_CHARACTERS_MAX) return null;
  const target = absoluteUrl((found[2] ?? found[3] ?? found[4] ?? '').trim(), page.baseUrl);
  return target === null || withoutHash(target) === withoutHash(url) ? null : target;
}

/** Some pages lead those without scripts to a page that asks for scripts: `noscript` does not count. */
function isRefresh(meta: Element): boolean {
  if (attribute(meta, 'http-equiv')?.toLowerCase() !== 'refresh') return false;
  for (let at = meta.parent; at !== null && isTag(at); at = at.parent) if (at.name === 'noscript') return false;
  return true;
}

function withoutHash(url: string): string {
  return url.replace(/#.*$/, '');
}
