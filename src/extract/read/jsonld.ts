import type { JsonObject, JsonValue } from '../base/connector.ts';
import { attribute, elementsNamed, scriptText, type HtmlPage } from './html.ts';
import { parseLooseJson } from './json-repair.ts';

/** Choice: maximum number of blocks of one page, and of objects in all of them together. */
const BLOCKS_MAX = 100;
const NODES_MAX = 5_000;

/** Returns the top-level objects of a page's JSON-LD; each member of an array or of `@graph` is separate. `isCut`: there are more. */
export function readJsonLd(page: HtmlPage): { readonly things: readonly JsonObject[]; readonly isCut: boolean } {
  const nodes: JsonObject[] = [];
  const blocks = elementsNamed(page, 'script').filter((element) =>
    /^application\/ld\+json\b/i.test(attribute(element, 'type') ?? ''),
  );
  for (const block of blocks.slice(0, BLOCKS_MAX)) {
    const value = parseLooseJson(scriptText(page, block));
    if (value !== undefined) addNodes(value, nodes);
  }
  const isCut = blocks.length > BLOCKS_MAX || nodes.length > NODES_MAX;
  return { things: nodes.slice(0, NODES_MAX), isCut };
}

/** Recursive, which is safe because the depth of the parsed JSON is limited. */
function addNodes(value: JsonValue, nodes: JsonObject[]): void {
  if (isNodeList(value)) for (const one of value) addNodes(one, nodes);
  if (!isNode(value) || nodes.length > NODES_MAX) return;
  const graph = value['@graph'];
  const { length } = Object.keys(value).filter((name) => name !== '@context' && name !== '@graph');
  if (length > 0) nodes.push(cleaned(value));
  if (graph !== undefined) addNodes(graph, nodes);
}

/** Removes `@graph`, whose members are separate objects, and names that could change an object's prototype. */
function cleaned(node: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(node)
      .filter(([name]) => name !== '@graph' && name !== '__proto__')
      .map(([name, value]) => [name, harmless(value)]),
  );
}

function harmless(value: JsonValue): JsonValue {
  if (isNodeList(value)) return value.map(harmless);
  if (!isNode(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== '__proto__')
      .map(([name, inner]) => [name, harmless(inner)]),
  );
}

export function isNodeList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export function isNode(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
