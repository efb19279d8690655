import { unreachable } from '../../../base/brand.ts';
import {
  SourceFailure,
  type FoundRecord,
  type Page,
  type Source,
  type Step,
  type StepResult,
  type Wanted,
} from '../../connector.ts';
import { looksLikeFeed } from '../../read/feed-parse.ts';
import { readHtml, type HtmlPage } from '../../read/html.ts';
import { readLinks } from '../../read/links.ts';
import { readMeta, type PageMeta } from '../../read/meta.ts';
import { detectPlatform } from '../../read/platform.ts';
import { absoluteUrl } from '../../read/urls.ts';
import { onward, TRAIL_START } from '../kit/trail.ts';
import { PAGE_URL_CHARACTERS_MAX } from './address.ts';
import { isOfSite, isWanted, movedScope, type Scope } from './scope.ts';
import { readEntries, type Entries } from './sitemaps.ts';
import {
  fromEntries,
  toStep,
  type BeginState,
  type Entry,
  type ListState,
  type PageState,
  type SitemapState,
  type Walk,
  type WalkState,
} from './walk.ts';

/** Choice: links are followed this far where the caller says nothing. */
const DEPTH_DEFAULT = 10;
/** Choice: links of one page that are followed. */
const LINKS_FOLLOWED_MAX = 500;
/** Choice: sitemaps that robots.txt names, and those that one index names. */
const SITEMAPS_MAX = 500;
/** Choice: the protocol has no index of indexes, but sites do. */
const NESTED_MAX = 3;
/** Where sitemaps stand that robots.txt does not name. */
const USUAL_SITEMAPS = ['/sitemap.xml', '/sitemap_index.xml'];

const NOTHING: StepResult = { records: [], next: [], total: null };

/** Reads one step of a walk. Throws `SourceFailure`. */
export function runWalk(walk: Walk, state: WalkState, source: Source, want: Wanted): Promise<StepResult> {
  switch (state.does) {
    case 'begin':
      return begin(walk, state, source, want);
    case 'page':
      return orNothing(() => readPage(walk, state, source));
    case 'sitemap':
      return orNothing(() => readSitemapStep(walk, state, source, want));
    case 'list':
      return readList(walk, state, source, want);
    default:
      return unreachable(state);
  }
}

/** One page or list that is gone, refused or unreadable ends no walk through a site; one that may come back is for the job to judge. */
async function orNothing(read: () => Promise<StepResult | null>): Promise<StepResult> {
  try {
    return (await read()) ?? NOTHING;
  } catch (error) {
    if (isPassable(error)) return NOTHING;
    throw error;
  }
}

const PASSABLE = [
  'source_not_found',
  'access_denied',
  'robots_disallowed',
  'unsupported_content',
  'parse_failed',
  'login_required',
];

function isPassable(error: unknown): boolean {
  return error instanceof SourceFailure && !error.retryable && PASSABLE.includes(error.reason);
}

async function begin(walk: Walk, state: BeginState, source: Source, want: Wanted): Promise<StepResult> {
  const page = await source.page(state.url);
  const scope = movedScope(state.scope, state.url, page.url);
  const list = looksLikeList(page) ? readEntries(page) : null;
  if (list !== null) return fromList(list, { does: 'sitemap', url: page.url, scope, from: 0, nested: 0 }, walk, want);
  const html = readHtml(page.text, page.url);
  const meta = readMeta(html, page.headers);
  for (const way of state.depthMax === null ? walk.ways : []) {
    const found =
      way === 'interface'
        ? await byInterface(walk, html, page, meta, scope, source, want)
        : await bySitemaps(walk, page.url, scope, source, want);
    if (found.records.length > 0 || found.next.length > 0) return found;
  }
  return fromPage(
    walk,
    { does: 'page', url: page.url, scope, depthLeft: state.depthMax ?? DEPTH_DEFAULT },
    page,
    html,
    meta,
  );
}

/** Whether the walk begins at a sitemap or a feed itself. */
function looksLikeList({ text, contentType }: Page): boolean {
  const isMarkup = /html/.test(contentType) || /<html[\s>]/i.test(text.slice(0, 4_096));
  return !isMarkup && (looksLikeFeed(text) || /<(?:[\w-]+:)?(?:urlset|sitemapindex)[\s>]/.test(text.slice(0, 4_096)));
}

/** Nothing where the software has none that serves, or it is switched off. */
async function byInterface(
  walk: Walk,
  html: HtmlPage,
  page: Page,
  meta: PageMeta,
  scope: Scope,
  source: Source,
  want: Wanted,
): Promise<StepResult> {
  const platform = detectPlatform(html, page.headers);
  if (platform === null || walk.interfaces[platform.kind] === undefined) return NOTHING;
  const { kind, apiBase, currency } = platform;
  // A page can name any address for its interface; only one of its own site is asked.
  if (!isWanted(apiBase, { ...scope, prefix: '/', include: [], exclude: [] })) return NOTHING;
  const of = { kind, url: apiBase, scope, language: meta.language, currency };
  const state: ListState = { does: 'list', ...of, cursor: '', trail: TRAIL_START };
  return orNothing(() => readList(walk, state, source, want));
}

async function readList(walk: Walk, state: ListState, source: Source, want: Wanted): Promise<StepResult> {
  const list = walk.interfaces[state.kind];
  if (list === undefined) return NOTHING;
  const { records, entries, things, cursors, total } = await list(state, source, want);
  const { result } = fromEntries(entries, state.scope, walk, { recordsLeft: Number.POSITIVE_INFINITY });
  const isWhole = state.scope.prefix === '/' && state.scope.include.length + state.scope.exclude.length === 0;
  const trail = onward(state.trail, [...records.map(({ id }) => id), ...entries.map(({ url }) => url), ...things]);
  const further = trail === null ? [] : [...things, ...cursors].map((cursor) => toStep({ ...state, cursor, trail }));
  return {
    records: [...records.filter(({ sourceUrl }) => isWanted(sourceUrl, state.scope)), ...result.records],
    next: [...result.next, ...further],
    total: isWhole ? total : null,
  };
}

/** Nothing where there is none with a page that is wanted. */
async function bySitemaps(walk: Walk, url: string, scope: Scope, source: Source, want: Wanted): Promise<StepResult> {
  const named = (await source.robotsSitemaps(url)).flatMap((link) => absoluteUrl(link, url) ?? []);
  const usual = USUAL_SITEMAPS.flatMap((path) => absoluteUrl(path, url) ?? []);
  const places = ordered([...new Set(named)], walk).slice(0, SITEMAPS_MAX);
  const states = [...places, ...usual].map((place) => sitemap(place, scope, 0));
  for (const [at, state] of states.entries()) {
    const found = await orNothing(() => readSitemapStep(walk, state, source, want));
    if (found.records.length === 0 && found.next.length === 0) continue;
    const others = states.slice(at + 1, places.length).map(toStep);
    return { ...found, next: [...found.next, ...others] };
  }
  return NOTHING;
}

function sitemap(url: string, scope: Scope, nested: number): SitemapState {
  return { does: 'sitemap', url, scope, from: 0, nested };
}

/** Those that a step can carry, in the order in which they are to be read. */
function ordered(all: readonly string[], { firstSitemaps }: Walk): readonly string[] {
  const urls = all.filter((url) => url.length <= PAGE_URL_CHARACTERS_MAX);
  if (firstSitemaps === null) return urls;
  return [...urls.filter((url) => firstSitemaps.test(url)), ...urls.filter((url) => !firstSitemaps.test(url))];
}

async function readSitemapStep(
  walk: Walk,
  state: SitemapState,
  source: Source,
  want: Wanted,
): Promise<StepResult | null> {
  const list = readEntries(await source.text(state.url));
  return list === null ? null : fromList(list, state, walk, want);
}

/** An index leads to its sitemaps; a list to its pages, and where it has more than the job can use now, to itself. */
function fromList({ kind, entries }: Entries, state: SitemapState, walk: Walk, want: Wanted): StepResult {
  if (kind === 'index') {
    const urls = state.nested < NESTED_MAX ? entries.map(({ url }) => url) : [];
    const next = ordered(urls, walk).slice(0, SITEMAPS_MAX);
    return { ...NOTHING, next: next.map((url) => toStep(sitemap(url, state.scope, state.nested + 1))) };
  }
  const { result, taken } = fromEntries(entries.slice(state.from), state.scope, walk, want);
  const from = state.from + taken;
  const more = taken > 0 && from < entries.length ? [toStep({ ...state, from })] : [];
  return { ...result, next: [...result.next, ...more] };
}

async function readPage(walk: Walk, state: PageState, source: Source): Promise<StepResult> {
  const page = await source.page(state.url);
  const html = readHtml(page.text, page.url);
  return fromPage(walk, state, page, html, readMeta(html, page.headers));
}

/** A page that sends us off the site gives nothing; one that asks not to be indexed gives no record, or its links are not followed. */
function fromPage(walk: Walk, state: PageState, page: Page, html: HtmlPage, meta: PageMeta): StepResult {
  const { scope, depthLeft } = state;
  if (!isOfSite(page.url, scope)) return NOTHING;
  const gives = isWanted(page.url, scope) && !meta.robots.noindex;
  const links = meta.robots.nofollow ? [] : linksOf(html, scope);
  const own = gives ? walk.read(html, page, meta) : [];
  return {
    records: [...own, ...namedBy(walk, links, scope)],
    next: depthLeft === 0 ? [] : followed(links, state),
    total: null,
  };
}

function linksOf(html: HtmlPage, scope: Scope): readonly string[] {
  return readLinks(html)
    .filter(({ url, nofollow }) => !nofollow && (isOfSite(url, scope) || isWanted(url, scope)))
    .map(({ url }) => url);
}

function namedBy({ named }: Walk, links: readonly string[], scope: Scope): readonly FoundRecord[] {
  if (named === null) return [];
  return links.filter((url) => isWanted(url, scope)).map((url) => named(linkEntry(url)));
}

function linkEntry(url: string): Entry {
  return { url, lastModified: null, foundIn: 'link' };
}

function followed(links: readonly string[], { scope, depthLeft }: PageState): readonly Step[] {
  return links
    .filter((url) => isOfSite(url, scope))
    .slice(0, LINKS_FOLLOWED_MAX)
    .map((url) => toStep({ does: 'page', url, scope, depthLeft: depthLeft - 1 }));
}
