import { SaxesParser } from 'saxes';
import { SourceFailure } from '../connector.ts';
import { isoDate } from './dates.ts';
import { absoluteUrl } from './urls.ts';

/** What a file that should be a sitemap is. */
export type Sitemap =
  | { readonly kind: 'urls'; readonly entries: readonly SitemapEntry[] }
  /** Its entries are further sitemaps. */
  | { readonly kind: 'index'; readonly entries: readonly SitemapEntry[] }
  /** A feed: its reader reads it. Source: sitemaps.org, "Other sitemap formats". */
  | { readonly kind: 'feed' }
  /** Something else, for example a page that says that there is none. */
  | { readonly kind: 'none' };

export interface SitemapEntry {
  readonly url: string;
  /** ISO 8601. */
  readonly lastModified: string | null;
}

/** Source: sitemaps.org, "Sitemaps XML format": URLs of one file. What stands behind them is left out. */
export const SITEMAP_URLS_MAX = 50_000;
/** Source: sitemaps.org: 50 MB (52,428,800 bytes) of one file, opened. */
const CHARACTERS_MAX = 52_428_800;
/** Choice: written to the parser at once, so that it ends soon after the last URL that is taken. */
const CHUNK_CHARACTERS = 65_536;
/** Choice: no sitemap format is deeper. */
const DEPTH_MAX = 64;
/** Choice: faults of one file, after which the rest is given up: telling each costs more than reading. */
const FAULTS_MAX = 1_000;

/** Reads a file from `url`. A file that breaks off or is broken gives what could be read. Throws `parse_failed` on entity declarations. */
export function readSitemap(text: string, url: string): Sitemap {
  const cut = text
    .slice(0, CHARACTERS_MAX)
    .replace(/^\uFEFF/, '')
    .trimStart();
  return cut.startsWith('<') ? readXml(cut, url) : readLines(cut, url);
}

/** One URL a line. A single line that is none makes it something else. */
function readLines(text: string, url: string): Sitemap {
  const entries: SitemapEntry[] = [];
  for (const line of text.split(/\r\n|[\r\n]/, SITEMAP_URLS_MAX * 2)) {
    if (line.trim() === '') continue;
    const found = /^\s*https?:\/\//i.test(line) ? absoluteUrl(line, url) : null;
    if (found === null) return { kind: 'none' };
    entries.push({ url: found, lastModified: null });
    if (entries.length >= SITEMAP_URLS_MAX) break;
  }
  return entries.length === 0 ? { kind: 'none' } : { kind: 'urls', entries };
}

interface State {
  kind: Sitemap['kind'] | null;
  /** Local names of open elements. */
  readonly path: string[];
  readonly entries: SitemapEntry[];
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

function readXml(text: string, url: string): Sitemap {
  const state: State = {
    kind: null,
    path: [],
    entries: [],
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
  if (state.kind === 'urls' || state.kind === 'index') return { kind: state.kind, entries: state.entries };
  return { kind: state.kind ?? 'none' };
}

function isDone({ kind, entries, path, refused, faults }: State): boolean {
  const isOther = kind === 'feed' || kind === 'none';
  const isHostile = refused || path.length > DEPTH_MAX || faults > FAULTS_MAX;
  return isHostile || isOther || entries.length >= SITEMAP_URLS_MAX;
}

/** The parser goes on after faults. */
function listen(state: State, url: string): SaxesParser {
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
    if (state.location !== null && state.entries.length < SITEMAP_URLS_MAX)
      state.entries.push({ url: state.location, lastModified: state.lastModified });
    state.location = null;
    state.lastModified = null;
  }
  state.text = '';
}

function localName(name: string): string {
  return (name.split(':').at(-1) ?? '').toLowerCase();
}
