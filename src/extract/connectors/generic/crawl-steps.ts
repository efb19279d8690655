import { unreachable } from '../../../kernel/brand.ts';
import {
  type FoundRecord,
  type Page,
  type Source,
  type Step,
  type StepNote,
  type StepResult,
  type UnreadableList,
  type Wanted,
} from '../../base/connector.ts';
import { looksLikeFeed } from '../../read/feed-parse.ts';
import type { HtmlPage } from '../../read/html.ts';
import { readPageHtml } from '../../read/page-html.ts';
import { PAGE_LINKS_MAX, readAddresses, type PageAddress } from '../../read/links.ts';
import { readMeta, type PageMeta } from '../../read/meta.ts';
import { detectPlatform } from '../../read/platform.ts';
import { linkAddressOf } from '../../read/urls.ts';
import { onward, TRAIL_START } from '../kit/trail.ts';
import { PAGE_URL_CHARACTERS_MAX } from './page-address.ts';
import { leftOutOf, restOf } from './truncated.ts';
import { isOfSite, isOfWholeSite, isWanted, isWantedAddress, movedScope, type Scope } from './scope.ts';
import { bySitemaps, readList, readSitemapStep, sitemap } from './sitemap-steps.ts';
import { isNothing, isPassable, NOTHING } from './step-results.ts';
import {
  fromEntries,
  pageStep,
  toStep,
  type BeginState,
  type Entry,
  type ListState,
  type PageState,
  type Walk,
  type WalkState,
} from './crawl.ts';

/** Choice: how far links are followed if the caller does not specify it. */
const DEPTH_DEFAULT = 10;
/** Runs one step of a crawl. Throws `SourceFailure`. */
export function runWalk(walk: Walk, state: WalkState, source: Source, want: Wanted): Promise<StepResult> {
  switch (state.does) {
    case 'begin':
      return begin(walk, state, source, want);
    case 'page':
      return orNothing(() => readPage(walk, state, source));
    case 'sitemaps':
      return bySitemaps(walk, state, source, want);
    case 'sitemap':
      return readSitemapStep(walk, state, source, want);
    case 'list':
      return readInterface(walk, state, source, want);
    default:
      return unreachable(state);
  }
}

/**
 * A single page that is gone, denied or unreadable does not end a crawl, nor does a missing interface. Retryable failures are left to the
 * job.
 */
async function orNothing(read: () => Promise<StepResult>): Promise<StepResult> {
  try {
    return await read();
  } catch (error) {
    if (isPassable(error)) return NOTHING;
    throw error;
  }
}

async function begin(walk: Walk, state: BeginState, source: Source, want: Wanted): Promise<StepResult> {
  const page = await source.page(state.url);
  const scope = movedScope(state.scope, state.url, page.url);
  const text = { url: page.url, pieces: [page.text] };
  const ownList = sitemap(page.url, { scope, nested: 0, depthLeft: 0 });
  const list = looksLikeList(page) ? await readList(text, ownList, walk, want) : null;
  if (list !== null) return list;
  const html = readPageHtml(page);
  const meta = readMeta(html, page.headers);
  const notes: StepNote[] = [];
  const unreadable: UnreadableList[] = [];
  for (const way of state.depthMax === null ? walk.ways : []) {
    const found =
      way === 'interface'
        ? await byInterface(walk, html, page, meta, scope, source, want)
        : await bySitemaps(walk, { does: 'sitemaps', url: page.url, scope, depthLeft: 0 }, source, want);
    notes.push(...(found.notes ?? []));
    unreadable.push(...(found.unreadable ?? []));
    if (!isNothing(found)) return { ...found, notes, unreadable };
  }
  const depthLeft = state.depthMax ?? DEPTH_DEFAULT;
  const linked: Scope = state.depthMax === null ? { ...scope, hasDefaultDepth: true } : scope;
  const found = fromPage(walk, { does: 'page', url: page.url, scope: linked, depthLeft }, page, html, meta);
  // `max_depth` counts links from the first page; the depth of a page from a sitemap is unknown.
  const joins = walk.joinsSitemaps && state.depthMax === null;
  // Queued behind the page's links, so a job that reaches its limit by links requests no sitemap.
  const sitemaps = joins ? [toStep({ does: 'sitemaps', url: page.url, scope: linked, depthLeft: depthLeft - 1 })] : [];
  return { ...found, next: [...found.next, ...sitemaps], notes, unreadable };
}

/** Choice: the root of a list must start within this many characters, after whatever programs print before it. */
const LIST_HEAD_CHARACTERS = 65_536;

/** Returns whether the crawl starts at a sitemap or a feed itself. */
function looksLikeList({ text, contentType }: Page): boolean {
  const head = text.slice(0, LIST_HEAD_CHARACTERS);
  if (/<(?:!doctype\s+html|html)[\s>]/i.test(head)) return false;
  // Even if the content type is HTML: a program that prints a warning first often sends that type.
  if (/<(?:[\w-]+:)?(?:urlset|sitemapindex)[\s>]/.test(head)) return true;
  return !/html/.test(contentType) && looksLikeFeed(text);
}

/** Returns nothing if the software has no suitable interface, or it is switched off. */
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
  // A page can name any URL as its interface. Only one on its own site is called.
  if (!isOfWholeSite(apiBase, scope)) return NOTHING;
  const of = { kind, url: apiBase, scope, language: meta.language, currency };
  const state: ListState = { does: 'list', ...of, cursor: '', isThing: false, trail: TRAIL_START };
  return orNothing(() => readInterface(walk, state, source, want));
}

async function readInterface(walk: Walk, state: ListState, source: Source, want: Wanted): Promise<StepResult> {
  const list = walk.interfaces[state.kind];
  if (list === undefined) return NOTHING;
  const { records, entries, things, cursors, total } = await list(state, source, want);
  const { abroad, notes } = abroadOf([...entries.map(({ url }) => url), ...records.map((one) => one.sourceUrl)], state);
  // The software is configured for another site: links may reveal more of the requested one.
  if (abroad > 0 && abroad === entries.length + records.length && state.cursor === '') return { ...NOTHING, notes };
  const wanted = entries.filter(({ url }) => isWanted(url, state.scope));
  const result = fromEntries(wanted, state.scope, walk);
  const isWhole = state.scope.prefix === '/' && state.scope.include.length + state.scope.exclude.length === 0;
  const trail = onward(state.trail, [...records.map(({ id }) => id), ...entries.map(({ url }) => url), ...things]);
  const further = (all: readonly string[], isThing: boolean): readonly Step[] =>
    trail === null ? [] : all.map((cursor) => toStep({ ...state, cursor, isThing, trail }));
  return {
    records: [...records.filter(({ sourceUrl }) => isWanted(sourceUrl, state.scope)), ...result.records],
    next: [...result.next, ...further(things, true), ...further(cursors, false)],
    total: isWhole ? total : null,
    notes,
  };
}

/** Counts the URLs from an interface that belong to another site, regardless of what is wanted of this site. */
function abroadOf(urls: readonly string[], { url, scope }: ListState): { abroad: number; notes: readonly StepNote[] } {
  const abroad = urls.filter((one) => one.length <= PAGE_URL_CHARACTERS_MAX && !isOfWholeSite(one, scope));
  const [first] = abroad;
  if (first === undefined) return { abroad: 0, notes: [] };
  const detail = `${url} names ${abroad.length} pages of another site, such as ${first}`;
  return { abroad: abroad.length, notes: [{ reason: 'unsupported_content', detail }] };
}

async function readPage(walk: Walk, state: PageState, source: Source): Promise<StepResult> {
  const page = await source.page(state.url);
  const html = readPageHtml(page);
  return fromPage(walk, state, page, html, readMeta(html, page.headers));
}

/**
 * A page that redirects off the site yields nothing. A page that asks not to be indexed yields no record; with nofollow, its links are not
 * followed.
 */
function fromPage(walk: Walk, state: PageState, page: Page, html: HtmlPage, meta: PageMeta): StepResult {
  const { scope, depthLeft } = state;
  const address = linkAddressOf(page.url);
  if (!isOfSite(address, scope)) return NOTHING;
  const gives = isWantedAddress(address, scope) && !meta.robots.noindex;
  const all = meta.robots.nofollow ? [] : readAddresses(html);
  const links = all.filter(({ nofollow }) => !nofollow);
  const own = gives ? walk.read(html, page, meta, scope) : [];
  const behind = all.length >= PAGE_LINKS_MAX ? `links of ${page.url} after the first ${PAGE_LINKS_MAX}` : restOf(html);
  return {
    records: [...own, ...namedBy(walk, links, scope)],
    next: depthLeft === 0 ? [] : followed(links, state),
    total: null,
    ...(depthLeft === 0 && scope.hasDefaultDepth === true && { tooDeep: ofSite(links, scope).map(({ key }) => key) }),
    ...leftOutOf(depthLeft > 0 || walk.named !== null ? behind : null),
  };
}

function namedBy({ named }: Walk, links: readonly PageAddress[], scope: Scope): readonly FoundRecord[] {
  if (named === null) return [];
  return links
    .filter(({ address }) => isWantedAddress(address, scope))
    .map(({ address }) => named(linkEntry(address.href)));
}

function linkEntry(url: string): Entry {
  return { url, lastModified: null, foundIn: 'link' };
}

function followed(links: readonly PageAddress[], { scope, depthLeft }: PageState): readonly Step[] {
  return ofSite(links, scope).map(({ address, key }) =>
    pageStep(key, { does: 'page', url: address.href, scope, depthLeft: depthLeft - 1 }),
  );
}

function ofSite(links: readonly PageAddress[], scope: Scope): readonly PageAddress[] {
  return links.filter(({ address }) => isOfSite(address, scope));
}
