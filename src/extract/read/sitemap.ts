import type * as Saxes from 'saxes';
import { loadCommonJs } from '../../base/load.ts';
import { SourceFailure } from '../connector.ts';
import { isoDate } from './dates.ts';
import { PartTaker, type ListPart } from './list-part.ts';
import { absoluteUrl } from './urls.ts';

const { SaxesParser } = loadCommonJs('saxes') as typeof Saxes;

/** What a file that should be a sitemap is. */
export type Sitemap =
  | {
      /** `index`: its entries are further sitemaps. */
      readonly kind: SitemapKind;
      /** Of the part that was asked for. */
      readonly entries: readonly SitemapEntry[];
      /** Where it goes on; null at its end. */
      readonly next: number | null;
    }
  /** A feed: its reader reads it. Source: sitemaps.org, "Other sitemap formats". */
  | { readonly kind: 'feed' }
  /** Something else, for example a page that says that there is none. */
  | { readonly kind: 'none' };

export type SitemapKind = 'urls' | 'index';

export interface SitemapEntry {
  readonly url: string;
  /** ISO 8601. */
  readonly lastModified: string | null;
}

/** Source: sitemaps.org: 50 MB (52,428,800 bytes) of one file, opened. */
const CHARACTERS_MAX = 52_428_800;
/** Choice: written to the parser at once, so that it ends soon after the last URL that is taken. */
const CHUNK_CHARACTERS = 65_536;
/** Choice: no sitemap format is deeper. */
const DEPTH_MAX = 64;
/** Choice: faults of one file, after which it is given up: telling each costs more than reading. */
const FAULTS_MAX = 1_000;

/**
 * Reads a part of a file from `url`, and soon stops behind it. Choice: any number of entries, as the file's size is bounded; sites
 * have more than the 50,000 of the protocol. A file that breaks off or is broken gives what could be read. Throws `parse_failed` on
 * entity declarations, and where there is no end of faults: what of the file is lost then nobody knows.
 */
export function readSitemap(text: string, url: string, part: ListPart<SitemapKind>): Sitemap {
  const cut = text
    .slice(0, CHARACTERS_MAX)
    .replace(/^\uFEFF/, '')
    .trimStart();
  return cut.startsWith('<') ? readXml(cut, url, part) : readLines(cut, url, part);
}

/** One URL a line. A single line that is none makes it something else. */
function readLines(text: string, url: string, part: ListPart<SitemapKind>): Sitemap {
  const taker = new PartTaker<SitemapKind, SitemapEntry>(part);
  for (const [line] of text.matchAll(/[^\r\n]+/g)) {
    if (line.trim() === '') continue;
    const found = /^\s*https?:\/\//i.test(line) ? absoluteUrl(line, url) : null;
    if (found === null) return { kind: 'none' };
    if (!taker.take({ url: found, lastModified: null }, 'urls')) break;
  }
  return taker.seen === 0 ? { kind: 'none' } : { kind: 'urls', entries: taker.entries, next: taker.next };
}

interface State {
  kind: Sitemap['kind'] | null;
  /** Local names of open elements. */
  readonly path: string[];
  readonly taker: PartTaker<SitemapKind, SitemapEntry>;
  text: string;
  location: string | null;
  lastModified: string | null;
  refused: boolean;
  faults: number;
}

const KINDS: Readonly<Record<string, Sitemap['kind']>> = {
  urlset: 'urls',
  sitemapindex: 'index',
  rss: 'feed',
  feed: 'feed',
  rdf: 'feed',
};

function readXml(text: string, url: string, part: ListPart<SitemapKind>): Sitemap {
  const state: State = {
    kind: null,
    path: [],
    taker: new PartTaker(part),
    text: '',
    location: null,
    lastModified: null,
    refused: false,
    faults: 0,
  };
  const parser = listen(state, url);
  for (let at = 0; at < text.length && !isDone(state); at += CHUNK_CHARACTERS)
    parser.write(text.slice(at, at + CHUNK_CHARACTERS));
  if (state.refused) throw new SourceFailure('parse_failed', `${url} declares entities`, false);
  const { kind, taker } = state;
  if (kind !== 'urls' && kind !== 'index') return { kind: kind ?? 'none' };
  if (isGivenUp(state)) throw new SourceFailure('parse_failed', `${url} is broken in too many places`, false);
  return { kind, entries: taker.entries, next: taker.next };
}

function isDone(state: State): boolean {
  const { kind, refused, taker } = state;
  return kind === 'feed' || kind === 'none' || refused || taker.next !== null || isGivenUp(state);
}

function isGivenUp({ path, faults }: State): boolean {
  return path.length > DEPTH_MAX || faults > FAULTS_MAX;
}

/** The parser goes on after faults. */
function listen(state: State, url: string): Saxes.SaxesParser {
  const parser = new SaxesParser();
  parser.on('error', () => {
    state.faults++;
  });
  parser.on('doctype', (doctype) => {
    if (/<!ENTITY/i.test(doctype)) state.refused = true;
  });
  parser.on('opentag', ({ name }) => {
    const local = localName(name);
    if (state.path.length === 0) state.kind ??= KINDS[local] ?? 'none';
    state.path.push(local);
    state.text = '';
  });
  const onText = (text: string): void => {
    if (state.text.length < CHUNK_CHARACTERS) state.text += text;
  };
  parser.on('text', onText);
  parser.on('cdata', onText);
  parser.on('closetag', () => closeTag(state, url));
  return parser;
}

/** Extensions have a `loc` of their own (images, videos, news), which stand one level deeper. */
function closeTag(state: State, url: string): void {
  const name = state.path.pop() ?? '';
  const isEntrys = state.path.length === 2;
  if (isEntrys && name === 'loc') state.location ??= absoluteUrl(state.text, url);
  if (isEntrys && name === 'lastmod') state.lastModified ??= isoDate(state.text);
  if (state.path.length === 1 && (name === 'url' || name === 'sitemap')) {
    const { kind, location, lastModified } = state;
    if (location !== null && (kind === 'urls' || kind === 'index'))
      state.taker.take({ url: location, lastModified }, kind);
    state.location = null;
    state.lastModified = null;
  }
  state.text = '';
}

function localName(name: string): string {
  return (name.split(':').at(-1) ?? '').toLowerCase();
}
