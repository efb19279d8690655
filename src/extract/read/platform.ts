import type { Element } from 'domhandler';
import { attribute, elementsNamed, scriptText, words, type HtmlPage } from './html.ts';
import { absoluteUrl } from './urls.ts';

/** Software with a public interface, detected from a page. */
export interface Platform {
  readonly kind: 'wordpress' | 'shopify' | 'mediawiki' | 'discourse';
  /**
   * WordPress: the root of its REST interface. MediaWiki: `api.php`. Shopify, Discourse: the site's root. Ends in `/`, except for
   * MediaWiki.
   */
  readonly apiBase: string;
  /** ISO 4217. Only Shopify's pages contain it. */
  readonly currency: string | null;
}

/** Returns null if none of them is detected. `headers` are those of the response, with names in lower case. */
export function detectPlatform(page: HtmlPage, headers: Readonly<Record<string, string>> = {}): Platform | null {
  const clues: Clues = {
    page,
    headers,
    links: elementsNamed(page, 'link'),
    metas: elementsNamed(page, 'meta'),
    generator: '',
  };
  const generator = metaContent(clues, 'generator') ?? '';
  const found = { ...clues, generator };
  return wordpress(found) ?? mediawiki(found) ?? discourse(found) ?? shopify(found);
}

interface Clues {
  readonly page: HtmlPage;
  readonly headers: Readonly<Record<string, string>>;
  readonly links: readonly Element[];
  readonly metas: readonly Element[];
  readonly generator: string;
}

function metaContent({ metas }: Clues, name: string): string | null {
  return attribute(
    metas.find((meta) => attribute(meta, 'name')?.toLowerCase() === name),
    'content',
  );
}

function linkHref({ links, page }: Clues, rel: string): string | null {
  const link = links.find((element) => words(element, 'rel').includes(rel));
  return absoluteUrl(attribute(link, 'href'), page.baseUrl);
}

const WORDPRESS_REL = 'https://api.w.org/';

function wordpress(clues: Clues): Platform | null {
  const header = new RegExp(`<([^<>]+)>\\s*;\\s*rel="?${WORDPRESS_REL}`).exec(clues.headers['link'] ?? '')?.[1];
  const named = linkHref(clues, WORDPRESS_REL) ?? absoluteUrl(header, clues.page.url);
  const apiBase = named ?? (/^wordpress\b/i.test(clues.generator) ? absoluteUrl('/wp-json/', clues.page.url) : null);
  return apiBase === null ? null : { kind: 'wordpress', apiBase, currency: null };
}

function mediawiki(clues: Clues): Platform | null {
  const editing = linkHref(clues, 'edituri');
  if (!/^mediawiki\b/i.test(clues.generator) || editing === null) return null;
  return { kind: 'mediawiki', apiBase: editing.split('?', 1)[0] ?? editing, currency: null };
}

function discourse(clues: Clues): Platform | null {
  if (!/^discourse\b/i.test(clues.generator)) return null;
  const folder = (metaContent(clues, 'discourse-base-uri') ?? '').replace(/\/*$/, '/');
  const apiBase = absoluteUrl(folder, clues.page.url);
  return apiBase === null ? null : { kind: 'discourse', apiBase, currency: null };
}

/** Shopify themes put a script with the shop's name on every page. */
function shopify(clues: Clues): Platform | null {
  const { headers, page } = clues;
  const script = elementsNamed(page, 'script')
    .map((element) => scriptText(page, element))
    .find((text) => /\bShopify\.shop\s*=/.test(text));
  const isShopify = headers['x-shopid'] !== undefined || /shopify/i.test(headers['powered-by'] ?? '');
  const apiBase = absoluteUrl('/', page.url);
  if ((script === undefined && !isShopify) || apiBase === null) return null;
  const currency = /\bShopify\.currency\s*=\s*\{\s*"active"\s*:\s*"([A-Z]{3})"/.exec(script ?? '')?.[1] ?? null;
  return { kind: 'shopify', apiBase, currency };
}
