import {
  DomHandler,
  hasChildren,
  isTag,
  isText,
  type ChildNode,
  type Document,
  type Element,
  type ParentNode,
} from 'domhandler';
import { Parser } from 'htmlparser2';
import { collapse, orNull, singleSpaced } from './page-text.ts';
import { absoluteUrl } from './urls.ts';

/** A parsed page, as the readers use it. Its tree has a limited size, which also limits every traversal. */
export interface HtmlPage {
  readonly root: Document;
  /** The URL from which the page was read. */
  readonly url: string;
  /** The base URL of its relative links. */
  readonly baseUrl: string;
  /** Elements by name, in document order. */
  readonly elements: ReadonlyMap<string, readonly Element[]>;
  /** The content of scripts. It is not part of the tree, so that no reader searches it by accident. Styles are in neither. */
  readonly scripts: ReadonlyMap<Element, string>;
  /** Parts of the page exceeded the limits and are missing. */
  readonly isCut: boolean;
}

/**
 * Choice: maximum number of characters read of a page, without scripts, styles and comments. The longest pages of large sites have about
 * 2,000,000.
 */
const HTML_CHARACTERS_MAX = 4_194_304;
/** The maximum with them. Choice: the largest page that is fetched, with one character per byte. */
const WHOLE_CHARACTERS_MAX = 10_485_760;
/**
 * Choice: minimum number of characters given to the parser at once if the rest of a page may be scripts. Less would cause many small
 * chunks.
 */
const PIECE_CHARACTERS_MIN = 65_536;
/** Choice: about 40 MB of tree. */
const NODES_MAX = 250_000;
/**
 * Choice: deeper elements become siblings. Browsers limit the depth to 512. This limit keeps recursion in libraries far from a stack
 * overflow.
 */
const DEPTH_MAX = 256;
/**
 * Choice: the parser scans its open tags at every closing tag, so nesting alone can cost quadratic time.
 * Measured: 1,048,576 nested tags took 408 s without a limit. A page with more open tags is read up to that point.
 */
const OPEN_TAGS_MAX = 512;

/** Parses any text as HTML. Never throws. Parts beyond the limits are omitted, and NUL, as browsers do. */
export function readHtml(given: string, url: string): HtmlPage {
  const text = given.includes('\0') ? given.replaceAll('\0', '') : given;
  const handler = new BoundedHandler();
  const parser = new Parser(handler);
  const end = Math.min(text.length, WHOLE_CHARACTERS_MAX);
  let at = 0;
  // The first chunk contains any usual page completely. The share of scripts is known only after parsing.
  while (at < end && !handler.stopped) {
    const room = HTML_CHARACTERS_MAX - (at - handler.unseen);
    if (room <= 0) break;
    const next = Math.min(end, at + Math.max(room, PIECE_CHARACTERS_MIN));
    parser.write(text.slice(at, next));
    at = next;
  }
  if (!handler.stopped) parser.end();
  const { root, elements, scripts } = handler;
  const isCut = handler.stopped || at < text.length;
  return { root, url, baseUrl: baseOf(elements.get('base') ?? [], url), elements, scripts, isCut };
}

/**
 * Builds the tree within the limits above. It stores its parser itself: V8 allocates a function that is assigned to a property
 * (`handler.stop = () => parser.pause()`) in the old generation, where it retains everything it references until the next major garbage
 * collection.
 * Measured: reading a page of a crawl takes 0.60 ms instead of 0.80 ms, with a third as many major collections.
 */
class BoundedHandler extends DomHandler {
  readonly elements = new Map<string, Element[]>();
  readonly scripts = new Map<Element, string>();
  stopped = false;
  /** Characters of scripts, styles and comments so far. */
  unseen = 0;
  private nodes = 0;
  private reading: Pick<Parser, 'pause'> | null = null;
  /** The open script or style. These contain no elements, so at most one is open. */
  private raw: Element | null = null;

  override onparserinit(parser: Parser): void {
    super.onparserinit(parser);
    this.reading = parser;
  }

  override onopentag(name: string, attributes: { [name: string]: string }): void {
    const parent = this.tagStack.at(-1);
    super.onopentag(name, attributes);
    if (name === 'script' || name === 'style') this.raw = this.tagStack.at(-1) as Element;
    if (this.tagStack.length > DEPTH_MAX && parent !== undefined) this.tagStack[this.tagStack.length - 1] = parent;
    if (this.tagStack.length > OPEN_TAGS_MAX) this.halt();
  }

  override onclosetag(): void {
    this.raw = null;
    super.onclosetag();
  }

  override ontext(data: string): void {
    const { raw } = this;
    if (raw === null) {
      super.ontext(data);
      return;
    }
    this.unseen += data.length;
    if (raw.name === 'script') this.scripts.set(raw, (this.scripts.get(raw) ?? '') + data);
  }

  /** Comments are never read, so they are not stored. Text after a comment becomes a new node. */
  override oncomment(data: string): void {
    this.unseen += data.length;
    this.lastNode = null;
  }

  protected override addNode(node: ChildNode): void {
    this.nodes++;
    if (this.nodes > NODES_MAX) this.halt();
    super.addNode(node);
    if (!isTag(node)) return;
    const known = this.elements.get(node.name);
    if (known === undefined) this.elements.set(node.name, [node]);
    else known.push(node);
  }

  private halt(): void {
    this.stopped = true;
    this.reading?.pause();
  }
}

/** Returns the content of a script. */
export function scriptText(page: Pick<HtmlPage, 'scripts'>, script: Element): string {
  return page.scripts.get(script) ?? '';
}

/** Returns the URL of the first `base` that has one. */
function baseOf(bases: readonly Element[], url: string): string {
  const base = bases.find((element) => attribute(element, 'href') !== null);
  return absoluteUrl(attribute(base, 'href'), url) ?? url;
}

/** Returns the trimmed attribute value; null if it is absent or empty. */
export function attribute(element: Element | undefined, name: string): string | null {
  const value = element?.attribs[name]?.trim();
  return value === undefined || value === '' ? null : value;
}

/** Returns the words of an attribute in lower case. */
export function words(element: Element, name: string): readonly string[] {
  return attribute(element, name)?.toLowerCase().split(/\s+/) ?? [];
}

/** Returns the elements below a node for which `passes` returns true, in document order; at most `countMax`. */
export function findElements(
  below: ParentNode,
  passes: (element: Element) => boolean,
  countMax = Number.POSITIVE_INFINITY,
): Element[] {
  const found: Element[] = [];
  walk(below, (node) => {
    if (found.length >= countMax) return 'stop';
    if (isTag(node) && passes(node)) found.push(node);
    return 'enter';
  });
  return found;
}

export function elementsNamed(page: HtmlPage, name: string): readonly Element[] {
  return page.elements.get(name) ?? [];
}

/** Visits all nodes below a node in document order. The visitor returns whether to visit the node's children. */
export function walk(below: ParentNode, visit: (node: ChildNode) => 'enter' | 'skip' | 'stop'): void {
  let node: ChildNode | null = below.children[0] ?? null;
  while (node !== null) {
    const wish = visit(node);
    if (wish === 'stop') return;
    const child: ChildNode | null = wish === 'enter' && hasChildren(node) ? (node.children[0] ?? null) : null;
    node = child ?? nextOf(node, below);
  }
}

/** Returns the node after this one and its descendants, within `below`. */
function nextOf(node: ChildNode, below: ParentNode): ChildNode | null {
  let at: ChildNode | ParentNode | null = node;
  while (at !== null && at !== below) {
    if (at.next !== null) return at.next;
    at = at.parent;
  }
  return null;
}

/** Elements that do not break a line: their content belongs to the surrounding words. */
export const INLINE_ELEMENTS: ReadonlySet<string> = new Set(
  'a abbr b bdi bdo big cite code data del dfn em font i ins kbd label mark q ruby s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);
/** Cells are next to each other in the line of their row. */
const CELLS = new Set(['td', 'th']);
/** Elements whose text is invisible. */
export const UNSEEN_ELEMENTS: ReadonlySet<string> = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'head',
  'title',
  'svg',
  'iframe',
  'object',
]);

/** Elements whose white space is preserved. Source: HTML standard, "Rendering", `white-space: pre`. */
const PREFORMATTED = new Set(['pre', 'listing', 'xmp']);

/**
 * Returns the visible text of a node: one line for each block, separated by `\n`, with collapsed white space except line ends and spaces of
 * preformatted text. `skips` excludes further elements with their content.
 */
export function linesOf(node: ParentNode, skips: (element: Element) => boolean = () => false): string {
  const seen = seenOf(node, skips, true);
  const lines = seen.parts.join('').split('\n').map(collapse);
  if (!seen.keepsSpaces) return lines.filter(Boolean).join('\n');
  return lines
    .map((line) => restored(line).trimEnd())
    .filter(Boolean)
    .join('\n');
}

/** Returns the visible text in one line. */
export function textOf(node: ParentNode, skips: (element: Element) => boolean = () => false): string {
  return collapse(seenOf(node, skips, false).parts.join(''));
}

/** Returns the beginning of the visible text. For cases in which many elements are examined, any of which may contain the whole page. */
export function textBeginning(node: ParentNode, charactersMax: number): string {
  return collapse(seenOf(node, () => false, false, charactersMax).parts.join(''));
}

function seenOf(
  node: ParentNode,
  skips: (element: Element) => boolean,
  mayKeep: boolean,
  charactersLeft = SEEN_CHARACTERS_MAX,
): Seen {
  const seen: Seen = { parts: [], charactersLeft, keepsSpaces: false };
  gather(node, { skips, mayKeep, isKept: false }, seen);
  return seen;
}

/** Choice: maximum number of characters read of one node; more than any text field accepts. */
const SEEN_CHARACTERS_MAX = 1_048_576;

interface Seen {
  readonly parts: string[];
  charactersLeft: number;
  /** Some of the parts are preformatted. */
  keepsSpaces: boolean;
}

interface Manner {
  readonly skips: (element: Element) => boolean;
  /** Whether preformatted text keeps its white space. */
  readonly mayKeep: boolean;
  /** Whether this text is preformatted. */
  readonly isKept: boolean;
}

/** Recursive, which is safe because the depth of the tree is limited. */
function gather(node: ParentNode, manner: Manner, seen: Seen): void {
  for (const child of node.children) {
    if (seen.charactersLeft <= 0) return;
    if (isText(child)) {
      const text = child.data.slice(0, seen.charactersLeft);
      seen.charactersLeft -= text.length;
      seen.parts.push(manner.isKept ? marked(text) : singleSpaced(text));
    }
    if (!isTag(child) || UNSEEN_ELEMENTS.has(child.name) || manner.skips(child)) continue;
    const edge = INLINE_ELEMENTS.has(child.name) ? '' : CELLS.has(child.name) ? ' ' : '\n';
    const begins = manner.mayKeep && !manner.isKept && PREFORMATTED.has(child.name);
    if (begins) seen.keepsSpaces = true;
    seen.parts.push(edge);
    gather(child, begins ? { ...manner, isKept: true } : manner, seen);
    seen.parts.push(edge);
  }
}

/**
 * Placeholders for a space and a tab that are kept while others are collapsed. These code points are noncharacters, so they occur in no
 * text.
 */
const SPACE = '\uFDD0';
const TAB = '\uFDD1';

function marked(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n').replaceAll(' ', SPACE).replaceAll('\t', TAB);
}

function restored(line: string): string {
  return line.replaceAll(SPACE, ' ').replaceAll(TAB, '\t');
}

/** Returns the text of a piece of markup as lines, like `linesOf`; null if it has no text. */
export function textOfHtml(markup: string | null | undefined): string | null {
  return markup === null || markup === undefined ? null : orNull(linesOf(readHtml(markup, 'about:blank').root));
}

/** Returns the text of markup, or of text with entities, in one line. For fields that are declared as text but often contain markup. */
export function plainText(value: string | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  return orNull(/[<&]/.test(value) ? textOf(readHtml(value, 'about:blank').root) : collapse(value));
}

/** Escapes a text for markup outside of attributes. */
export function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
