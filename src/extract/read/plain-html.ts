import { isTag, isText, type Element, type ParentNode } from 'domhandler';
import { attribute, escapeMarkup, INLINE_ELEMENTS, UNSEEN_ELEMENTS, type HtmlPage } from './html.ts';
import { isHidden } from './hidden.ts';
import { imageAddressOf } from './markdown/image-address.ts';
import { absoluteUrl } from './urls.ts';

/** Elements that are written. Others are left out, and their content is kept. */
const KEPT_ELEMENTS = new Set(
  'a abbr b blockquote br caption cite code dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small strong sub summary sup table tbody td tfoot th thead time tr u ul var'.split(
    ' ',
  ),
);
const WITHOUT_END = new Set(['br', 'hr', 'img']);
/** Attributes that are written, beside addresses. */
const KEPT_ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  img: ['alt', 'width', 'height'],
  ol: ['start', 'reversed'],
  li: ['value'],
  td: ['colspan', 'rowspan'],
  th: ['colspan', 'rowspan', 'scope'],
  time: ['datetime'],
  abbr: ['title'],
};
const ATTRIBUTE_CHARACTERS_MAX = 1_000;

interface Html {
  readonly parts: string[];
  charactersLeft: number;
  isCut: boolean;
}

/**
 * Returns a part of a page as HTML of its text alone: elements of text, tables, images and links, without scripts, styles, classes and
 * handlers. Addresses are absolute, http or https. `skips` leaves elements out, with their content.
 */
export function plainHtmlOf(
  node: ParentNode,
  page: Pick<HtmlPage, 'baseUrl'>,
  skips: (element: Element) => boolean,
  charactersMax: number,
): { readonly text: string; readonly isCut: boolean } {
  const html: Html = { parts: [], charactersLeft: charactersMax, isCut: false };
  writeChildren(node, page.baseUrl, skips, html);
  return { text: html.parts.join('').trim(), isCut: html.isCut };
}

/** Recursive, which is safe because the depth of the tree is limited. */
function writeChildren(node: ParentNode, baseUrl: string, skips: (element: Element) => boolean, html: Html): void {
  for (const child of node.children) {
    if (isText(child)) write(html, escapeMarkup(child.data));
    if (!isTag(child) || UNSEEN_ELEMENTS.has(child.name) || skips(child) || isHidden(child)) continue;
    const { name } = child;
    const isWritten = KEPT_ELEMENTS.has(name);
    const isApart = !isWritten && !INLINE_ELEMENTS.has(name);
    const begin = isWritten ? `<${name}${attributesOf(child, baseUrl)}>` : isApart ? ' ' : '';
    const end = isWritten && !WITHOUT_END.has(name) ? `</${name}>` : isApart ? ' ' : '';
    if (begin.length + end.length > html.charactersLeft) {
      html.isCut = true;
      return;
    }
    html.charactersLeft -= begin.length + end.length;
    html.parts.push(begin);
    writeChildren(child, baseUrl, skips, html);
    html.parts.push(end);
  }
}

/** Text that is too long ends between two of its characters, not within an entity. */
function write(html: Html, text: string): void {
  const kept = text.length <= html.charactersLeft ? text : text.slice(0, html.charactersLeft).replace(/&[^;]*$/, '');
  if (kept.length < text.length) html.isCut = true;
  html.charactersLeft = kept.length < text.length ? 0 : html.charactersLeft - kept.length;
  html.parts.push(kept);
}

function attributesOf(element: Element, baseUrl: string): string {
  const { name, attribs } = element;
  const given: [string, string | null][] = [
    ['href', name === 'a' ? absoluteUrl(attribute(element, 'href'), baseUrl) : null],
    ['src', name === 'img' ? absoluteUrl(imageAddressOf(element), baseUrl) : null],
    ...(KEPT_ATTRIBUTES[name] ?? []).map((key): [string, string | null] => [key, attribs[key] ?? null]),
  ];
  return given
    .filter((one): one is [string, string] => one[1] !== null && one[1].length <= 2 * ATTRIBUTE_CHARACTERS_MAX)
    .map(([key, value]) => ` ${key}="${escapeMarkup(value).replaceAll('"', '&quot;')}"`)
    .join('');
}
