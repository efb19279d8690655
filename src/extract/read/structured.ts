import type { JsonObject, JsonValue } from '../connector.ts';
import type { HtmlPage } from './html.ts';
import { isList, isObject, readJsonLd } from './jsonld.ts';
import { readMicrodata } from './microdata.ts';
import { readOpenGraph, readTwitterCard } from './open-graph.ts';

/**
 * Everything that a page says in a form for machines: JSON-LD, microdata, Open Graph and Twitter cards.
 * Choice: RDFa is not read but for Open Graph, which is a use of it: of the pages that carry RDFa, nearly all carry it as that.
 */
export interface StructuredData {
  readonly jsonLd: readonly JsonObject[];
  readonly microdata: readonly JsonObject[];
  readonly openGraph: JsonObject | null;
  readonly twitter: JsonObject | null;
  /** The page says more than is read of it. */
  readonly isCut: boolean;
}

export function readStructured(page: HtmlPage): StructuredData {
  const jsonLd = readJsonLd(page);
  const microdata = readMicrodata(page);
  return {
    jsonLd: jsonLd.things,
    microdata: microdata.things,
    openGraph: readOpenGraph(page),
    twitter: readTwitterCard(page),
    isCut: page.isCut || jsonLd.isCut || microdata.isCut,
  };
}

/** Short names of a thing's types: `Product` of `https://schema.org/Product` or `schema:Product`. */
export function typesOf(node: JsonObject): readonly string[] {
  const type = node['@type'];
  const names = isList(type) ? type : [type];
  return names.filter((name) => typeof name === 'string').map((name) => name.split(/[/#:]/).at(-1) ?? '');
}

/**
 * Things of a type anywhere on the page, those within others too, in order and each once. What JSON-LD names by `@id` alone is
 * filled in from where it stands whole. How much there is to look through is bounded by what is read of a page.
 */
export function thingsOfType(data: StructuredData, isWanted: (type: string) => boolean): readonly JsonObject[] {
  const roots = [...data.jsonLd, ...data.microdata];
  const byId = indexById(roots);
  const found = new Set<JsonObject>();
  const visit = (value: JsonValue): void => {
    if (isList(value)) for (const one of value) visit(one);
    if (!isObject(value)) return;
    if (typesOf(value).some(isWanted) && isWhole(value)) found.add(value);
    for (const inner of Object.values(value)) visit(inner);
  };
  for (const root of roots) visit(root);
  return [...found].map((thing) => filled(thing, byId));
}

/** Not only named. */
function isWhole(thing: JsonObject): boolean {
  return Object.keys(thing).some((name) => !['@context', '@type', '@id'].includes(name));
}

function indexById(roots: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  const byId = new Map<string, JsonObject>();
  for (const root of roots) {
    const id = root['@id'];
    if (typeof id === 'string' && isWhole(root)) byId.set(id, root);
  }
  return byId;
}

/** One level deep: so two things that name each other do not go on for ever. */
function filled(thing: JsonObject, byId: ReadonlyMap<string, JsonObject>): JsonObject {
  const fill = (value: JsonValue): JsonValue => {
    if (isList(value)) return value.map(fill);
    const id = isObject(value) && Object.keys(value).length === 1 ? value['@id'] : undefined;
    return typeof id === 'string' ? (byId.get(id) ?? value) : value;
  };
  return Object.fromEntries(Object.entries(thing).map(([name, value]) => [name, fill(value)]));
}

/** The first text of a value: of a list the first, of a thing its name. */
export function textOfValue(value: JsonValue | undefined): string | null {
  if (isList(value)) return textOfValue(value[0]);
  if (isObject(value)) return textOfValue(value['name'] ?? value['@value'] ?? value['headline']);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

/** The first address of a value: of a thing its `url`, `contentUrl` or `@id`. */
export function addressOfValue(value: JsonValue | undefined): string | null {
  if (isList(value)) return addressOfValue(value[0]);
  if (isObject(value)) return addressOfValue(value['url'] ?? value['contentUrl'] ?? value['@id']);
  return textOfValue(value);
}
