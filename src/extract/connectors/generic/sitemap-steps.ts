import {
  ROBOTS_SITEMAPS_MAX,
  SourceFailure,
  type Source,
  type Step,
  type StepNote,
  type StepResult,
  type UnreadableList,
  type Wanted,
} from '../../base/connector.ts';
import { absoluteUrl } from '../../read/urls.ts';
import { PAGE_URL_CHARACTERS_MAX } from './page-address.ts';
import { leftOutOf } from './truncated.ts';
import { readEntries, type Entries, type ListText } from './sitemaps.ts';
import { isGone, isNothing, isPassable, NOTHING } from './step-results.ts';
import { fromEntries, sitePartOf, toStep, type SitemapsState, type SitemapState, type Walk } from './crawl.ts';

/** Choice: the protocol does not define indexes of indexes, but sites have them. */
const NESTED_MAX = 3;
/** Common locations of sitemaps that robots.txt does not name. */
const USUAL_SITEMAPS = ['/sitemap.xml', '/sitemap_index.xml'];

/**
 * Reads the first sitemap that contains wanted pages and adds steps for the others that robots.txt names. If robots.txt names one that
 * exists and cannot be read, throws its failure when another one has pages, because the result would look complete. If none has pages,
 * returns no pages and lists the unreadable ones; the crawl then follows links instead.
 */
export async function bySitemaps(walk: Walk, state: SitemapsState, source: Source, want: Wanted): Promise<StepResult> {
  const { url, scope, depthLeft } = state;
  const named = (await source.robotsSitemaps(url)).flatMap((link) => absoluteUrl(link, url) ?? []);
  const usual = USUAL_SITEMAPS.flatMap((path) => absoluteUrl(path, url) ?? []);
  const distinct = [...new Set(named)];
  const places = ordered(distinct.filter(isShort), walk);
  const states = [...places, ...usual].map((place) => sitemap(place, { scope, nested: 0, depthLeft }));
  const unreadable: UnreadableList[] = [];
  const notes: StepNote[] = [];
  let unread: unknown = null;
  for (const [at, one] of states.entries()) {
    const isNamed = at < places.length;
    const read = await tryList(walk, one, source, want, isNamed || !walk.joinsSitemaps);
    if (read.kind === 'gone' && isNamed) notes.push(goneNote(one.url));
    if (read.kind === 'unreadable' && isNamed) {
      unreadable.push(read.list);
      unread ??= read.error;
    }
    if (read.kind !== 'list' || isNothing(read.found)) continue;
    if (unread !== null) throw unread;
    const others = states
      .slice(at + 1, places.length)
      .map(toStep)
      .reverse();
    const leftOut = read.found.leftOut ?? robotsLeftOut(named.length, distinct.length - places.length);
    return { ...read.found, next: [...others, ...read.found.next], notes, unreadable, ...leftOutOf(leftOut) };
  }
  return { ...NOTHING, notes, unreadable };
}

type Read =
  | { readonly kind: 'list'; readonly found: StepResult }
  | { readonly kind: 'gone' }
  /** `error`: the failure to throw if another list has pages; null if the response is a page instead of a list. */
  | { readonly kind: 'unreadable'; readonly list: UnreadableList; readonly error: SourceFailure | null };

/** `isStrict`: throws retryable failures. Otherwise an unavailable address counts as one without a sitemap. */
async function tryList(
  walk: Walk,
  state: SitemapState,
  source: Source,
  want: Wanted,
  isStrict: boolean,
): Promise<Read> {
  try {
    const found = await sitemapAt(walk, state, source, want);
    if (found === null) return { kind: 'unreadable', list: noList(state.url), error: null };
    const { brokenOff, ...others } = found;
    // Truncated before its first entry: same as unreadable.
    if (brokenOff !== undefined && isNothing(others)) {
      const error = new SourceFailure(brokenOff.reason, brokenOff.detail, false);
      return { kind: 'unreadable', list: { ...brokenOff, isFetched: true }, error };
    }
    return { kind: 'list', found };
  } catch (error) {
    if (!(error instanceof SourceFailure)) throw error;
    const mayPass = isPassable(error) || (!isStrict && error.reason === 'source_unavailable' && error.waitMs === null);
    if (!mayPass) throw error;
    if (isGone(error)) return { kind: 'gone' };
    return { kind: 'unreadable', list: { reason: error.reason, detail: error.message, isFetched: false }, error };
  }
}

function noList(url: string): UnreadableList {
  return { reason: 'parse_failed', detail: `${url} is not a list of pages`, isFetched: true };
}

function goneNote(url: string): StepNote {
  return { reason: 'source_not_found', detail: `${url} is gone` };
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

export function sitemap(url: string, of: Pick<SitemapState, 'scope' | 'nested' | 'depthLeft'>): SitemapState {
  return { does: 'sitemap', url, from: 0, ...of };
}

/** Returns the URLs in the order in which to read them. */
function ordered(urls: readonly string[], { firstSitemaps }: Walk): readonly string[] {
  if (firstSitemaps === null) return urls;
  return [...urls.filter((url) => firstSitemaps.test(url)), ...urls.filter((url) => !firstSitemaps.test(url))];
}

/**
 * Skips a sitemap that is gone (404, 410). If the response is a page instead of a list, the job gets a note. Any other failure is thrown,
 * because the pages that the sitemap names would be lost.
 */
export async function readSitemapStep(
  walk: Walk,
  state: SitemapState,
  source: Source,
  want: Wanted,
): Promise<StepResult> {
  const { url, from } = state;
  const found = await sitemapAt(walk, state, source, want).catch((error: unknown) => {
    if (!isGone(error)) throw error;
    return 'gone' as const;
  });
  if (found !== null && found !== 'gone') return found;
  if (from > 0)
    throw new SourceFailure('source_unavailable', `${url} is no longer a list, from entry ${from} on`, true);
  if (found === null) return { ...NOTHING, unreadable: [noList(url)] };
  return { ...NOTHING, notes: [goneNote(url)] };
}

/** Returns null if the response is something else. */
async function sitemapAt(walk: Walk, state: SitemapState, source: Source, want: Wanted): Promise<StepResult | null> {
  return await source.longText(state.url, (text) => readList(text, state, walk, want));
}

/**
 * An index leads to its sitemaps and a list to its pages. If either has more than the step can use now, it also leads to itself. Returns
 * null if the page is neither.
 */
export async function readList(
  text: ListText,
  state: SitemapState,
  walk: Walk,
  want: Wanted,
): Promise<StepResult | null> {
  let tooLong = 0;
  const part = sitePartOf(state, walk, want, () => {
    tooLong++;
  });
  const list = await readEntries(text, part);
  if (list === null) return null;
  const more = list.next === null ? [] : [toStep({ ...state, from: list.next })];
  const { leftOut, brokenOff } = list;
  const cut = { ...(leftOut !== undefined && { leftOut }), ...(brokenOff !== undefined && { brokenOff }) };
  if (list.kind === 'index') return { ...fromIndex(list, more, state, walk, tooLong), ...cut };
  const { next, ...result } = fromEntries(list.entries, state.scope, walk, state.depthLeft);
  const notes = tooLong === 0 ? [] : [tooLongPages(state.url, tooLong)];
  return { ...result, next: [...next, ...more], notes, ...cut };
}

function fromIndex(
  { entries }: Entries,
  more: readonly Step[],
  { url, scope, nested, depthLeft }: SitemapState,
  walk: Walk,
  tooLong: number,
): StepResult {
  if (nested >= NESTED_MAX && entries.length > 0)
    return { ...NOTHING, leftOut: `the sitemaps of ${url}, an index under ${NESTED_MAX} others` };
  const urls = ordered(
    entries.map((entry) => entry.url),
    walk,
  );
  const lists = urls.map((one) => toStep(sitemap(one, { scope, nested: nested + 1, depthLeft })));
  const next = [...more, ...lists.reverse()];
  return { ...NOTHING, next, ...(tooLong > 0 && { leftOut: tooLongSitemaps(tooLong) }) };
}

/** Choice: no crawl reads such pages, whatever leads to them. Only the operator is notified. */
function tooLongPages(url: string, count: number): StepNote {
  const detail = `${url} names ${count} addresses of more than ${PAGE_URL_CHARACTERS_MAX} characters, which are skipped`;
  return { reason: 'unsupported_content', detail };
}
