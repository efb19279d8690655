import type * as Feedsmith from 'feedsmith';
import { loadCommonJs } from '../../kernel/load-package.ts';
import { inUsualForm } from './feed-forms.ts';

/** Choice: maximum size of one feed in characters. Podcasts with all their episodes have some 5,000,000. */
const CHARACTERS_MAX = 8_388_608;
/** Choice: maximum number of items of one feed. */
export const FEED_ITEMS_MAX = 5_000;

type Parse = (text: string) => ReturnType<typeof Feedsmith.parseFeed<string>>;

let loaded: Parse | null = null;

/**
 * Loaded for the first feed that is read: the main thread, which imports the connectors for their catalogue, never reads one.
 * Measured: 90 ms of processor time and 12 MB in each thread that has it.
 */
function loadedParse(): Parse {
  if (loaded !== null) return loaded;
  const { parseFeed } = loadCommonJs('feedsmith') as typeof Feedsmith;
  // Dates stay as the feed writes them, for our own date parser. One item beyond the limit shows that there are more.
  loaded = (text) => parseFeed(text, { maxItems: FEED_ITEMS_MAX + 1, parseDateFn: (date): string => date });
  return loaded;
}

export type ParsedFeed = ReturnType<Parse>;
export type FeedOf<F extends ParsedFeed['format']> = Extract<ParsedFeed, { readonly format: F }>['feed'];
export type RssItem = NonNullable<FeedOf<'rss'>['items']>[number];
export type RdfItem = NonNullable<FeedOf<'rdf'>['items']>[number];
export type AtomEntry = NonNullable<FeedOf<'atom'>['entries']>[number];
export type JsonItem = NonNullable<FeedOf<'json'>['items']>[number];

/** Returns whether a text begins like a feed. Cheap. */
export function looksLikeFeed(text: string): boolean {
  const head = text.slice(0, 4_096).trimStart();
  if (head.startsWith('{')) return /"version"\s*:\s*"https?:\\?\/\\?\/(?:www\.)?jsonfeed\.org/.test(head);
  return !/<(?:!doctype html|html)[\s>]/i.test(head) && /<(?:[\w-]+:)?(?:rss|rdf|feed)[\s>]/i.test(head);
}

/** A parsed feed in its own format. */
export interface AnyFeed {
  readonly parsed: ParsedFeed;
  /** The feed has more items than the `FEED_ITEMS_MAX` that are read. */
  readonly isCut: boolean;
  /** The text ends before the closing tag of its root, so an unknown part is missing. */
  readonly breaksOff: boolean;
}

/** Choice: programs print less than this after a feed. */
const TAIL_CHARACTERS = 65_536;
const CLOSED_ROOT = /<\/(?:[\w-]+:)?(?:rss|rdf|feed)\s*>/i;

/** JSON that breaks off cannot be parsed at all. */
function breaksOff(text: string): boolean {
  return !text.trimStart().startsWith('{') && !CLOSED_ROOT.test(text.slice(-TAIL_CHARACTERS));
}

/** Returns null if the text is not a feed or is too long. Broken markup costs only the items that contain it. */
export function parseAnyFeed(text: string): AnyFeed | null {
  if (text.length > CHARACTERS_MAX) return null;
  const parse = loadedParse();
  const body = inUsualForm(fromRoot(text));
  const parsed = tryParse(parse, body);
  const found =
    parsed === null ? piecewise(parse, body) : { parsed, isCut: itemsOf(parsed).splice(FEED_ITEMS_MAX).length > 0 };
  return found === null ? null : { ...found, breaksOff: breaksOff(text) };
}

function itemsOf({ format, feed }: ParsedFeed): unknown[] {
  return (format === 'atom' ? feed.entries : feed.items) ?? [];
}

function tryParse(parse: Parse, text: string): ParsedFeed | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

const ROOT = /<(?:\?xml\s|(?:[\w-]+:)?(?:rss|RDF|feed)[\s>])/i;

/** Removes output that programs print before the root. */
function fromRoot(text: string): string {
  const at = text.slice(0, 65_536).search(ROOT);
  return at > 0 && !text.trimStart().startsWith('{') ? text.slice(at) : text;
}

/** Parses each item separately, so that a broken or truncated item costs only itself. */
function piecewise(parse: Parse, text: string): Omit<AnyFeed, 'breaksOff'> | null {
  const tag = /<(item|entry)[\s>]/i.exec(text)?.[1];
  const root = /<((?:rss|(?:[\w-]+:)?RDF|(?:[\w-]+:)?feed))(?:\s[^<>]*)?>/i.exec(text);
  if (tag === undefined || root === null) return null;
  const [open, name = ''] = root;
  const [before, after] = /^rss$/i.test(name) ? [`${open}<channel>`, `</channel></${name}>`] : [open, `</${name}>`];
  let whole: ParsedFeed | null = null;
  const pieces = itemTexts(text, tag);
  for (const piece of pieces.slice(0, FEED_ITEMS_MAX)) {
    const one = tryParse(parse, `${before}${piece}${after}`);
    whole = whole === null ? one : one === null ? whole : joined(whole, one);
  }
  return whole === null ? null : { parsed: whole, isCut: pieces.length > FEED_ITEMS_MAX };
}

/** Returns one item more than are read. Linear: the next closing tag is searched for once, not for each opening tag. */
function itemTexts(text: string, tag: string): string[] {
  const close = `</${tag}>`;
  const pieces: string[] = [];
  let end = text.indexOf(close);
  for (let at = text.indexOf(`<${tag}`); at !== -1 && end !== -1 && pieces.length <= FEED_ITEMS_MAX;) {
    const next = text.indexOf(`<${tag}`, at + 1);
    if (end < at) end = text.indexOf(close, at);
    if (end !== -1 && (next === -1 || end < next)) pieces.push(text.slice(at, end + close.length));
    at = next;
  }
  return pieces;
}

/** Adds the items of the second to the first. Both come from one file, so they have the same format. */
function joined(whole: ParsedFeed, one: ParsedFeed): ParsedFeed {
  if (whole.format === 'atom' && one.format === 'atom')
    whole.feed.entries = pushed(whole.feed.entries, one.feed.entries);
  else if (whole.format === 'rss' && one.format === 'rss') whole.feed.items = pushed(whole.feed.items, one.feed.items);
  else if (whole.format === 'rdf' && one.format === 'rdf') whole.feed.items = pushed(whole.feed.items, one.feed.items);
  return whole;
}

function pushed<T>(list: T[] | undefined, more: readonly T[] | undefined): T[] {
  const all = list ?? [];
  all.push(...(more ?? []));
  return all;
}
