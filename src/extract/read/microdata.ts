import type { Element } from 'domhandler';
import type { JsonObject, JsonValue } from '../connector.ts';
import { attribute, findElements, linesOf, walk, type HtmlPage } from './html.ts';
import { absoluteUrl } from './urls.ts';

/** Choice: things at the top of one page. */
const ITEMS_MAX = 1_000;
/** Choice: things within things; deeper ones are left out. */
const DEPTH_MAX = 16;
/** Choice: nodes looked at in all, since `itemref` lets many things share one part of the page. */
const VISITS_MAX = 250_000;
/** Choice: characters of one property. */
const VALUE_CHARACTERS_MAX = 100_000;

/** Where a property's value is an address. Source: HTML standard, microdata, "values". */
const ADDRESS_OF: Readonly<Record<string, string>> = {
  a: 'href',
  area: 'href',
  link: 'href',
  audio: 'src',
  embed: 'src',
  iframe: 'src',
  img: 'src',
  source: 'src',
  track: 'src',
  video: 'src',
  object: 'data',
};

/**
 * Properties that are text by schema.org, so that a link which is one means what is written on it: `<a itemprop="headline" href="/p/1">`.
 * Choice: the standard takes the address of any link, and sites that link their headlines do not mean that.
 */
const TEXTS = new Set(['headline', 'alternativeHeadline', 'name', 'articleSection', 'articleBody', 'description']);

/**
 * The things that a page's microdata names at its top, in the form of JSON-LD (`@type`, `@id`, a property that comes once is a
 * value, one that comes more often a list), so that whoever reads one reads the other. `isCut`: there is more.
 */
export function readMicrodata(page: HtmlPage): { readonly things: readonly JsonObject[]; readonly isCut: boolean } {
  const tops = findElements(page.root, isTop, ITEMS_MAX + 1);
  if (tops.length === 0) return { things: [], isCut: false };
  const reader: Reader = { page, byId: elementsById(page), visitsLeft: VISITS_MAX };
  const items = tops.slice(0, ITEMS_MAX).map((item) => readItem(item, reader, []));
  const things = items.filter((item) => Object.keys(item).length > 0);
  return { things, isCut: tops.length > ITEMS_MAX || reader.visitsLeft < 0 };
}

interface Reader {
  readonly page: HtmlPage;
  readonly byId: ReadonlyMap<string, Element>;
  visitsLeft: number;
}

function isTop(element: Element): boolean {
  return has(element, 'itemscope') && !has(element, 'itemprop');
}

function has(element: Element, name: string): boolean {
  return element.attribs[name] !== undefined;
}

function elementsById(page: HtmlPage): Map<string, Element> {
  const byId = new Map<string, Element>();
  for (const element of findElements(page.root, (one) => has(one, 'id'))) {
    const id = attribute(element, 'id');
    if (id !== null && !byId.has(id)) byId.set(id, element);
  }
  return byId;
}

/** `outer` are the things around this one, so that an `itemref` to one of them ends. */
function readItem(item: Element, reader: Reader, outer: readonly Element[]): JsonObject {
  const around = [...outer, item];
  const values = new Map<string, JsonValue[]>();
  for (const element of propertiesOf(item, reader)) {
    if (around.includes(element)) continue;
    const value = valueOf(element, reader, around);
    if (value === null) continue;
    for (const name of namesOf(element)) {
      const list = values.get(name);
      if (list === undefined) values.set(name, [value]);
      else list.push(value);
    }
  }
  const types = (attribute(item, 'itemtype') ?? '').split(/\s+/).filter(Boolean);
  const id = absoluteUrl(attribute(item, 'itemid'), reader.page.baseUrl) ?? attribute(item, 'itemid');
  return Object.fromEntries<JsonValue>([
    ...(types.length > 0 ? [['@type', onlyOne(types)] as const] : []),
    ...(id === null ? [] : [['@id', id] as const]),
    ...[...values].map(([name, list]) => [name, onlyOne(list)] as const),
  ]);
}

function onlyOne(list: readonly JsonValue[]): JsonValue {
  const [first] = list;
  return list.length === 1 && first !== undefined ? first : list;
}

function namesOf(element: Element): readonly string[] {
  const names = (attribute(element, 'itemprop') ?? '').split(/\s+/);
  return names.filter((name) => name !== '' && name !== '__proto__');
}

/** The elements with a property of this thing: below it and below what it refers to, not below things within it. */
function propertiesOf(item: Element, reader: Reader): Element[] {
  const referred = (attribute(item, 'itemref') ?? '')
    .split(/\s+/)
    .map((id) => reader.byId.get(id))
    .filter((element) => element !== undefined);
  const found = new Set<Element>();
  for (const root of [item, ...new Set(referred)]) {
    if (root !== item && has(root, 'itemprop')) found.add(root);
    if (root !== item && has(root, 'itemscope')) continue;
    walk(root, (node) => {
      reader.visitsLeft--;
      if (reader.visitsLeft < 0) return 'stop';
      if (!('attribs' in node)) return 'enter';
      if (has(node, 'itemprop')) found.add(node);
      return has(node, 'itemscope') ? 'skip' : 'enter';
    });
  }
  return [...found];
}

/** Search engines take a `content` on any element, so it comes first here too. */
function valueOf(element: Element, reader: Reader, around: readonly Element[]): JsonValue | null {
  if (has(element, 'itemscope')) return around.length > DEPTH_MAX ? null : readItem(element, reader, around);
  const content = element.attribs['content'];
  if (content !== undefined) return content.trim().slice(0, VALUE_CHARACTERS_MAX);
  const source = ADDRESS_OF[element.name];
  const text = element.name === 'a' && namesOf(element).every((name) => TEXTS.has(name)) ? linesOf(element) : '';
  if (text !== '') return text.slice(0, VALUE_CHARACTERS_MAX);
  if (source !== undefined) return absoluteUrl(attribute(element, source), reader.page.baseUrl);
  const given = element.name === 'time' ? attribute(element, 'datetime') : null;
  const number = element.name === 'data' || element.name === 'meter' ? attribute(element, 'value') : null;
  return given ?? number ?? linesOf(element).slice(0, VALUE_CHARACTERS_MAX);
}
