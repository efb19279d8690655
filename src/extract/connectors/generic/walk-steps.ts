import { unreachable } from '../../../base/brand.ts';
import {
  ROBOTS_SITEMAPS_MAX,
  SourceFailure,
  type FoundRecord,
  type Page,
  type Source,
  type Step,
  type StepNote,
  type StepResult,
  type Wanted,
} from '../../connector.ts';
import { looksLikeFeed } from '../../read/feed-parse.ts';
import { readHtml, type HtmlPage } from '../../read/html.ts';
import { LINKS_MAX, readAddresses, type PageAddress } from '../../read/links.ts';
import { readMeta, type PageMeta } from '../../read/meta.ts';
import { detectPlatform } from '../../read/platform.ts';
import { absoluteUrl, addressOf } from '../../read/urls.ts';
import { onward, TRAIL_START } from '../kit/trail.ts';
import { PAGE_URL_CHARACTERS_MAX } from './address.ts';
import { leftOutOf, restOf } from './left-out.ts';
import { isOfSite, isOfWholeSite, isWanted, isWantedAddress, movedScope, type Scope } from './scope.ts';
import { readEntries, type Entries, type ListText } from './sitemaps.ts';
import {
  fromEntries,
  pageStep,
  partOf,
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
      return readSitemapStep(walk, state, source, want);
    case 'list':
      return readInterface(walk, state, source, want);
    default:
      return unreachable(state);
  }
}

/**
 * One page that is gone, refused or unreadable ends no walk through a site, nor does the way that is not there; what may come back is
 * for the job to judge.
 */
async function orNothing(read: () => Promise<StepResult>): Promise<StepResult> {
  try {
    return await read();
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

function isGone(error: unknown): boolean {
  return error instanceof SourceFailure && error.reason === 'source_not_found';
}

async function begin(walk: Walk, state: BeginState, source: Source, want: Wanted): Promise<StepResult> {
  const page = await source.page(state.url);
  const scope = movedScope(state.scope, state.url, page.url);
  const text = { url: page.url, pieces: [page.text] };
  const list = looksLikeList(page) ? await readList(text, sitemap(page.url, scope, 0), walk, want) : null;
  if (list !== null) return list;
  const html = readHtml(page.text, page.url);
  const meta = readMeta(html, page.headers);
  const notes: StepNote[] = [];
  for (const way of state.depthMax === null ? walk.ways : []) {
    const found =
      way === 'interface'
        ? await byInterface(walk, html, page, meta, scope, source, want)
        : await bySitemaps(walk, page.url, scope, source, want);
    notes.push(...(found.notes ?? []));
    if (!isNothing(found)) return { ...found, notes };
  }
  const depthLeft = state.depthMax ?? DEPTH_DEFAULT;
  return { ...fromPage(walk, { does: 'page', url: page.url, scope, depthLeft }, page, html, meta), notes };
}

function isNothing({ records, next, leftOut }: StepResult): boolean {
  return records.length === 0 && next.length === 0 && leftOut === undefined;
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
  // The software takes itself for another site: links may tell more of the one that was asked for.
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

/** How many of the addresses that an interface gives belong to another site, whatever of this one is wanted. */
function abroadOf(urls: readonly string[], { url, scope }: ListState): { abroad: number; notes: readonly StepNote[] } {
  const abroad = urls.filter((one) => one.length <= PAGE_URL_CHARACTERS_MAX && !isOfWholeSite(one, scope));
  const [first] = abroad;
  if (first === undefined) return { abroad: 0, notes: [] };
  const detail = `${url} names ${abroad.length} pages of another site, such as ${first}`;
  return { abroad: abroad.length, notes: [{ reason: 'unsupported_content', detail }] };
}

/**
 * Nothing where there is none with a page that is wanted. Of those that robots.txt names, one that is there and cannot be read would be
 * lost among the others; where no other gives anything, links are followed in their place.
 */
async function bySitemaps(walk: Walk, url: string, scope: Scope, source: Source, want: Wanted): Promise<StepResult> {
  const named = (await source.robotsSitemaps(url)).flatMap((link) => absoluteUrl(link, url) ?? []);
  const usual = USUAL_SITEMAPS.flatMap((path) => absoluteUrl(path, url) ?? []);
  const distinct = [...new Set(named)];
  const places = ordered(distinct.filter(isShort), walk);
  const states = [...places, ...usual].map((place) => sitemap(place, scope, 0));
  let unread: unknown = null;
  for (const [at, state] of states.entries()) {
    const found = await sitemapAt(walk, state, source, want).catch((error: unknown) => {
      if (!isPassable(error)) throw error;
      if (at < places.length && !isGone(error)) unread ??= error;
      return null;
    });
    if (found === null || isNothing(found)) continue;
    if (unread !== null) throw unread;
    const others = states.slice(at + 1, places.length).map(toStep);
    const leftOut = found.leftOut ?? robotsLeftOut(named.length, distinct.length - places.length);
    return { ...found, next: [...found.next, ...others], ...(leftOut !== null && { leftOut }) };
  }
  return NOTHING;
}

function robotsLeftOut(named: number, tooLong: number): string | null {
  if (named >= ROBOTS_SITEMAPS_MAX) return `robots.txt names ${named} sitemaps, and maybe more`;
  return tooLong === 0 ? null : tooLongSitemaps(tooLong);
}

function tooLongSitemaps(count: number): string {
  return `${count} sitemaps, whose addresses have more than ${PAGE_URL_CHARACTERS_MAX} characters`;
}

function isShort(url: string): boolean {
  return url.length <= PAGE_URL_CHARACTERS_MAX;
}

function sitemap(url: string, scope: Scope, nested: number): SitemapState {
  return { does: 'sitemap', url, scope, from: 0, nested };
}

/** In the order in which they are to be read. */
function ordered(urls: readonly string[], { firstSitemaps }: Walk): readonly string[] {
  if (firstSitemaps === null) return urls;
  return [...urls.filter((url) => firstSitemaps.test(url)), ...urls.filter((url) => !firstSitemaps.test(url))];
}

/** One that is gone names nothing any more. With any other that cannot be read, what it names would be lost, so it fails. */
async function readSitemapStep(walk: Walk, state: SitemapState, source: Source, want: Wanted): Promise<StepResult> {
  const { url, from } = state;
  const found = await sitemapAt(walk, state, source, want).catch((error: unknown) => {
    if (!isGone(error)) throw error;
    return null;
  });
  if (found !== null) return found;
  if (from > 0)
    throw new SourceFailure('source_unavailable', `${url} is no list any more, from entry ${from} on`, true);
  return { ...NOTHING, notes: [{ reason: 'source_not_found', detail: `${url} is gone, or no list of pages` }] };
}

/** null where there is something else. */
async function sitemapAt(walk: Walk, state: SitemapState, source: Source, want: Wanted): Promise<StepResult | null> {
  return await source.longText(state.url, (text) => readList(text, state, walk, want));
}

/**
 * An index leads to its sitemaps, a list to its pages, and where either has more than the step can use now, to itself. Null where the
 * page is neither.
 */
async function readList(text: ListText, state: SitemapState, walk: Walk, want: Wanted): Promise<StepResult | null> {
  let tooLong = 0;
  const part = partOf(state, walk, want, () => {
    tooLong++;
  });
  const list = await readEntries(text, part);
  if (list === null) return null;
  const more = list.next === null ? [] : [toStep({ ...state, from: list.next })];
  const cut = list.leftOut === undefined ? {} : { leftOut: list.leftOut };
  if (list.kind === 'index') return { ...fromIndex(list, more, state, walk, tooLong), ...cut };
  const { next, ...result } = fromEntries(list.entries, state.scope, walk);
  const notes = tooLong === 0 ? [] : [tooLongPages(state.url, tooLong)];
  return { ...result, next: [...next, ...more], notes, ...cut };
}

function fromIndex(
  { entries }: Entries,
  more: readonly Step[],
  { url, scope, nested }: SitemapState,
  walk: Walk,
  tooLong: number,
): StepResult {
  if (nested >= NESTED_MAX && entries.length > 0)
    return { ...NOTHING, leftOut: `the sitemaps of ${url}, an index under ${NESTED_MAX} others` };
  const urls = ordered(
    entries.map((entry) => entry.url),
    walk,
  );
  const next = [...urls.map((one) => toStep(sitemap(one, scope, nested + 1))), ...more];
  return { ...NOTHING, next, ...(tooLong > 0 && { leftOut: tooLongSitemaps(tooLong) }) };
}

/** Choice: such pages are none that a walk reads, whatever leads to them; only the operator is told. */
function tooLongPages(url: string, count: number): StepNote {
  const detail = `${url} names ${count} addresses of more than ${PAGE_URL_CHARACTERS_MAX} characters, which are passed over`;
  return { reason: 'unsupported_content', detail };
}

async function readPage(walk: Walk, state: PageState, source: Source): Promise<StepResult> {
  const page = await source.page(state.url);
  const html = readHtml(page.text, page.url);
  return fromPage(walk, state, page, html, readMeta(html, page.headers));
}

/** A page that sends us off the site gives nothing; one that asks not to be indexed gives no record, or its links are not followed. */
function fromPage(walk: Walk, state: PageState, page: Page, html: HtmlPage, meta: PageMeta): StepResult {
  const { scope, depthLeft } = state;
  const address = addressOf(page.url);
  if (!isOfSite(address, scope)) return NOTHING;
  const gives = isWantedAddress(address, scope) && !meta.robots.noindex;
  const all = meta.robots.nofollow ? [] : readAddresses(html);
  const links = all.filter(({ nofollow }) => !nofollow);
  const own = gives ? walk.read(html, page, meta) : [];
  const behind = all.length >= LINKS_MAX ? `links of ${page.url} behind the first ${LINKS_MAX}` : restOf(html);
  return {
    records: [...own, ...namedBy(walk, links, scope)],
    next: depthLeft === 0 ? [] : followed(links, state),
    total: null,
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
  return links
    .filter(({ address }) => isOfSite(address, scope))
    .map(({ address, key }) => pageStep(key, { does: 'page', url: address.href, scope, depthLeft: depthLeft - 1 }));
}
