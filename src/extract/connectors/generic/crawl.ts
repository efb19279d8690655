import { unreachable } from '../../../kernel/brand.ts';
import type { FoundRecord, JsonObject, Page, Source, Step, StepResult, Wanted } from '../../base/connector.ts';
import type { HtmlPage } from '../../read/html.ts';
import type { PageMeta } from '../../read/meta.ts';
import type { Platform } from '../../read/platform.ts';
import type { ListPart } from '../../read/list-part.ts';
import type { SitemapKind } from '../../read/sitemap.ts';
import { normalisedUrl } from '../../read/urls.ts';
import type { Trail } from '../kit/trail.ts';
import { PAGE_URL_CHARACTERS_MAX } from './page-address.ts';
import { isWanted, type Scope } from './scope.ts';

/**
 * A crawl of a site. Its first step reads the start page and chooses the way: an interface that the site's software publishes, the site's
 * sitemaps, or links from page to page. The steps carry this choice.
 */
export interface Walk {
  /** Ways to try before following links, in order. If one is unavailable, the next one is tried. */
  readonly ways: readonly ('interface' | 'sitemaps')[];
  /** Whether a crawl that follows links also reads the site's sitemaps. */
  readonly joinsSitemaps: boolean;
  /** Interfaces that this crawl can use. */
  readonly interfaces: Readonly<Partial<Record<Platform['kind'], List>>>;
  /** Sitemaps whose URL matches are read first. */
  readonly firstSitemaps: RegExp | null;
  /** Returns the records of a page that was read. */
  read(html: HtmlPage, page: Page, meta: PageMeta, scope: Scope): readonly FoundRecord[];
  /** Returns the record of a URL in a list without reading its page; null if pages must be read. */
  readonly named: ((entry: Entry) => FoundRecord) | null;
}

/** A page that a list of the site names. */
export interface Entry {
  readonly url: string;
  /** ISO 8601. */
  readonly lastModified: string | null;
  readonly foundIn: 'sitemap' | 'feed' | 'interface' | 'link';
}

/** One page of an interface's list: complete records, pages to read, and where the list continues. */
export interface Listed {
  readonly records: readonly FoundRecord[];
  readonly entries: readonly Entry[];
  /** Cursors of single objects that the page names, for interfaces that are called once for each of them. */
  readonly things: readonly string[];
  readonly cursors: readonly string[];
  readonly total: number | null;
}

/** Reads one page of a list; the first has the cursor `''`. Throws `SourceFailure`. */
export type List = (state: ListState, source: Source, want: Wanted) => Promise<Listed>;

interface Common extends JsonObject {
  /** Absolute URL of the page, the sitemap or the interface. */
  readonly url: string;
  readonly scope: Scope;
}

/** Start of a crawl. If `depthMax` is null, any way may be chosen; else links are followed to that depth. */
export interface BeginState extends Common {
  readonly does: 'begin';
  readonly depthMax: number | null;
}

/** A page. `depthLeft`: how far links are followed from here; 0 for pages that a list named. */
export interface PageState extends Common {
  readonly does: 'page';
  readonly depthLeft: number;
}

/** Finds and reads the site's sitemaps. `depthLeft`: for the pages that they name. */
export interface SitemapsState extends Common {
  readonly does: 'sitemaps';
  readonly depthLeft: number;
}

/** One sitemap, from its entry `from`. `nested`: number of indexes above it. `depthLeft`: for the pages that it names. */
export interface SitemapState extends Common {
  readonly does: 'sitemap';
  readonly from: number;
  readonly nested: number;
  readonly depthLeft: number;
}

/** One page of an interface's list. */
export interface ListState extends Common {
  readonly does: 'list';
  readonly kind: Platform['kind'];
  readonly cursor: string;
  /** The cursor is that of a single object, so the list does not continue from it. */
  readonly isThing: boolean;
  readonly trail: Trail;
  /** Values from the first page, for records that do not contain them. */
  readonly language: string | null;
  readonly currency: string | null;
}

export type WalkState = BeginState | PageState | SitemapsState | SitemapState | ListState;

export function toStep(state: WalkState): Step {
  return { key: keyOf(state), state, ...(state.does === 'sitemap' && { isList: true }) };
}

/** Returns the step to a page whose normalised URL is already known. */
export function pageStep(key: string, state: PageState): Step {
  return { key, state };
}

/** Returns whether the remainder of a list is lost with the step. */
export function carriesCrawlRest(state: WalkState): boolean {
  return state.does === 'sitemap' || state.does === 'sitemaps' || (state.does === 'list' && !state.isThing);
}

function keyOf(state: WalkState): string {
  switch (state.does) {
    case 'begin':
      return 'begin';
    case 'page':
      return normalisedUrl(state.url);
    case 'sitemaps':
      return 'sitemaps';
    case 'sitemap':
      return `sitemap ${state.from} ${state.url}`;
    case 'list':
      return `list ${state.kind} ${state.cursor}`;
    default:
      return unreachable(state);
  }
}

/** Choice: maximum number of pages that one step adds. A list with more is read again from there. */
const PAGES_MAX = 2_000;
/** Choice: the same for further lists. Lists are nested at most three times, so few of them wait. */
const LISTS_MAX = 500;
/** Choice: maximum number of records that one step creates from URLs in a list. */
const NAMED_MAX = 10_000;

/**
 * Returns the part of a list that a step can use now: no more pages than the job can want. Calls `onTooLong` for URLs that are too long
 * for a step.
 */
export function sitePartOf(
  { from, scope }: SitemapState,
  { named }: Walk,
  { recordsLeft }: Wanted,
  onTooLong: () => void,
): ListPart<SitemapKind> {
  // A page may yield no record, so twice as many are queued as are wanted.
  const urls = named === null ? Math.min(PAGES_MAX, 2 * recordsLeft + 20) : Math.min(NAMED_MAX, recordsLeft);
  const keeps = (url: string, kind: SitemapKind): boolean => {
    if (url.length > PAGE_URL_CHARACTERS_MAX) onTooLong();
    else return kind === 'index' || isWanted(url, scope);
    return false;
  };
  return { from, max: { urls, index: LISTS_MAX }, keeps };
}

/** Turns wanted entries into records, or into steps to their pages, whose links are followed to depth `depthLeft`. */
export function fromEntries(entries: readonly Entry[], scope: Scope, { named }: Walk, depthLeft = 0): StepResult {
  if (named !== null) return { records: entries.map(named), next: [], total: null };
  return {
    records: [],
    next: entries.map(({ url }) => toStep({ does: 'page', url, scope, depthLeft })),
    total: null,
  };
}
