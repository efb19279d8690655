import type { JsonObject, JsonValue } from '../base/connector.ts';
import { attribute, elementsNamed, type HtmlPage } from './html.ts';

/** Choice: maximum number of properties of one page. */
const PROPERTIES_MAX = 500;
/** Properties of Open Graph itself and of its object types. */
const OPEN_GRAPH = /^(?:og|article|book|profile|music|video|product|fb):[a-z0-9_:-]+$/;
const TWITTER = /^twitter:[a-z0-9_:-]+$/;
/** Objects with properties of their own. Each mention starts a new one, so these are always lists. Source: ogp.me, "Arrays". */
const THINGS = ['image', 'video', 'audio'];

/**
 * Returns the page's Open Graph properties without `og:`; null if it has none. Every value is a string; a repeated property becomes a list.
 */
export function readOpenGraph(page: HtmlPage): JsonObject | null {
  const values = new Map<string, JsonValue>();
  for (const [property, content] of properties(page, OPEN_GRAPH)) {
    const name = property.replace(/^og:/, '');
    const [thing = '', ...inner] = name.split(':');
    if (property.startsWith('og:') && THINGS.includes(thing)) addToThing(values, thing, inner.join('_'), content);
    else add(values, name.replaceAll(':', '_'), content);
  }
  return values.size === 0 ? null : Object.fromEntries(values);
}

/** Returns the page's Twitter card without `twitter:`; null if it has none. */
export function readTwitterCard(page: HtmlPage): JsonObject | null {
  const values = new Map<string, JsonValue>();
  for (const [property, content] of properties(page, TWITTER))
    add(values, property.slice('twitter:'.length).replaceAll(':', '_'), content);
  return values.size === 0 ? null : Object.fromEntries(values);
}

/** Pages confuse `property` and `name`, so either counts. */
function properties(page: HtmlPage, pattern: RegExp): (readonly [property: string, content: string])[] {
  const found: (readonly [string, string])[] = [];
  for (const meta of elementsNamed(page, 'meta')) {
    const property = (attribute(meta, 'property') ?? attribute(meta, 'name') ?? '').toLowerCase();
    const content = attribute(meta, 'content');
    if (content !== null && pattern.test(property)) found.push([property, content]);
    if (found.length >= PROPERTIES_MAX) break;
  }
  return found;
}

function add(values: Map<string, JsonValue>, name: string, content: string): void {
  const before = values.get(name);
  if (before === undefined) values.set(name, content);
  else values.set(name, [...(Array.isArray(before) ? before : [before]), content]);
}

/** `og:image` and `og:image:url` start a new object; the properties after them belong to it. */
function addToThing(values: Map<string, JsonValue>, thing: string, inner: string, content: string): void {
  const list = (values.get(thing) ?? []) as readonly JsonObject[];
  const last = list.at(-1);
  const isSame = inner === 'url' && last?.['url'] === content;
  if (isSame) return;
  const begins = inner === '' || inner === 'url' || last === undefined;
  const property = { [inner === '' ? 'url' : inner]: content };
  values.set(thing, begins ? [...list, property] : [...list.slice(0, -1), { ...last, ...property }]);
}
