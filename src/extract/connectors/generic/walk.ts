import { unreachable } from '../../../base/brand.ts';
import type { FoundRecord, JsonObject, Page, Source, Step, StepResult, Wanted } from '../../connector.ts';
import type { HtmlPage } from '../../read/html.ts';
import type { PageMeta } from '../../read/meta.ts';
import type { Platform } from '../../read/platform.ts';
import type { ListPart } from '../../read/list-part.ts';
import type { SitemapKind } from '../../read/sitemap.ts';
import { normalisedUrl } from '../../read/urls.ts';
import type { Trail } from '../kit/trail.ts';
import { PAGE_URL_CHARACTERS_MAX } from './address.ts';
import { isWanted, type Scope } from './scope.ts';

/**
 * A walk through a site. Its first step reads the page at which it begins and chooses the way: an interface that the site's software
 * publishes, its sitemaps, or its links from page to page. The steps carry the choice.
 */
export interface Walk {
  /** Ways that are tried before links are followed, in order; each that is not there leads to the next. */
  readonly ways: readonly ('interface' | 'sitemaps')[];
  /** Whether a walk that follows links also reads the site's sitemaps. */
  readonly joinsSitemaps: boolean;
  /** Interfaces that serve this walk. */
  readonly interfaces: Readonly<Partial<Record<Platform['kind'], List>>>;
  /** Sitemaps whose address fits are read first. */
  readonly firstSitemaps: RegExp | null;
  /** What a page that was read gives. */
  read(html: HtmlPage, page: Page, meta: PageMeta): readonly FoundRecord[];
  /** What an address that a list names gives by itself; null where its page is to be read. */
  readonly named: ((entry: Entry) => FoundRecord) | null;
}

/** A page that a list of the site names. */
export interface Entry {
  readonly url: string;
  /** ISO 8601. */
  readonly lastModified: string | null;
  readonly foundIn: 'sitemap' | 'feed' | 'interface' | 'link';
}

/** One page of an interface's list: records that are complete, pages that are to be read, and where the list goes on. */
export interface Listed {
  readonly records: readonly FoundRecord[];
  readonly entries: readonly Entry[];
  /** Cursors of single things that the page names, for interfaces that are asked for each of them. */
  readonly things: readonly string[];
  readonly cursors: readonly string[];
  readonly total: number | null;
}

/** Reads one page of a list; the first is that of the cursor `''`. Throws `SourceFailure`. */
export type List = (state: ListState, source: Source, want: Wanted) => Promise<Listed>;

interface Common extends JsonObject {
  /** Absolute. Of the page, of the sitemap, or of the interface. */
  readonly url: string;
  readonly scope: Scope;
}

/** Where a walk begins. `depthMax` null: the way is free to choose; else links are followed that far. */
export interface BeginState extends Common {
  readonly does: 'begin';
  readonly depthMax: number | null;
}

/** One page. `depthLeft`: links are followed this far from here; 0 for pages that a list named. */
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
  /** The cursor is that of a single thing, and leads no further. */
  readonly isThing: boolean;
  readonly trail: Trail;
  /** What the first page said, for records that can't know it by themselves. */
  readonly language: string | null;
  readonly currency: string | null;
}

export type WalkState = BeginState | PageState | SitemapsState | SitemapState | ListState;

export function toStep(state: WalkState): Step {
  return { key: keyOf(state), state };
}

/** The step to a page whose address was normalised already. */
export function pageStep(key: string, state: PageState): Step {
  return { key, state };
}

/** Whether what follows of a list is lost with the step. */
export function carriesRest(state: WalkState): boolean {
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

/** Choice: pages or further lists to be read that one step of a list adds; a list with more is read again from there. */
const STEPS_MAX = 2_000;
/** Choice: records that one step gives of addresses in a list. */
const NAMED_MAX = 10_000;

/** The part of a list that a step can use now: no more pages than the job can want. `onTooLong` is told of those that no step carries. */
export function partOf(
  { from, scope }: SitemapState,
  { named }: Walk,
  { recordsLeft }: Wanted,
  onTooLong: () => void,
): ListPart<SitemapKind> {
  // A page may turn out to give no record, so twice as many are lined up as are wanted.
  const urls = named === null ? Math.min(STEPS_MAX, 2 * recordsLeft + 20) : Math.min(NAMED_MAX, recordsLeft);
  const keeps = (url: string, kind: SitemapKind): boolean => {
    if (url.length > PAGE_URL_CHARACTERS_MAX) onTooLong();
    else return kind === 'index' || isWanted(url, scope);
    return false;
  };
  return { from, max: { urls, index: STEPS_MAX }, keeps };
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
