import { SourceFailure, type StepNote } from '../../connector.ts';
import { FEED_ITEMS_MAX } from '../../read/feed-parse.ts';
import { readFeed } from '../../read/feed.ts';
import { PartTaker, type ListPart } from '../../read/list-part.ts';
import { SitemapReader, type SitemapKind } from '../../read/sitemap.ts';
import type { Entry } from './walk.ts';

/** A part of what a list of pages names. */
export interface Entries {
  /** `index`: further lists. */
  readonly kind: SitemapKind;
  readonly entries: readonly Entry[];
  /** Where the list goes on; null at its end. */
  readonly next: number | null;
  /** As a step says it; told with the list's last part. */
  readonly leftOut?: string;
  /** As in `StepResult`. */
  readonly brokenOff?: StepNote;
}

/** A list of pages as it comes. */
export interface ListText {
  readonly url: string;
  readonly pieces: AsyncIterable<string> | Iterable<string>;
}

/** Choice: of a feed in a sitemap's place, which is held while it comes; the longest of usual sites have some 3 MiB. */
const FEED_CHARACTERS_MAX = 4 * 1_048_576;

/** Reads a part of a sitemap or a feed; null where it is neither. Throws `parse_failed`, and as the pieces do. */
export async function readEntries({ url, pieces }: ListText, part: ListPart<SitemapKind>): Promise<Entries | null> {
  const reader = new SitemapReader(url, part);
  /** What came, until it is known to be no feed. */
  let held: string[] | null = [];
  let characters = 0;
  let isFeed = false;
  for await (const piece of pieces) {
    held?.push(piece);
    characters += piece.length;
    const goesOn = isFeed || reader.write(piece);
    isFeed ||= reader.kind === 'feed';
    if (!isFeed && reader.kind !== null) held = null;
    const isTooLong = held !== null && characters > FEED_CHARACTERS_MAX;
    if (isFeed && isTooLong) throw new SourceFailure('unsupported_content', `${url} is too long a feed`, false);
    if (!isFeed && (isTooLong || !goesOn)) break;
  }
  const sitemap = reader.end();
  if (sitemap.kind === 'none') return null;
  if (sitemap.kind === 'feed') return readFeedEntries((held ?? []).join(''), url, part);
  const { kind, entries, next, breaksOff } = sitemap;
  const brokenOff: StepNote = { reason: 'parse_failed', detail: `${url} is truncated: it ends before its closing tag` };
  return {
    kind,
    entries: entries.map((entry) => ({ ...entry, foundIn: 'sitemap' })),
    next,
    ...(breaksOff && { brokenOff }),
  };
}

function readFeedEntries(text: string, url: string, part: ListPart<SitemapKind>): Entries {
  const taker = new PartTaker<SitemapKind, Entry>(part);
  const { items, isCut } = readFeed(text, url);
  for (const { url: page, updatedAt, publishedAt } of items)
    if (page !== null) taker.take({ url: page, lastModified: updatedAt ?? publishedAt, foundIn: 'feed' }, 'urls');
  const { entries, next } = taker;
  const leftOut = `items of ${url} behind the first ${FEED_ITEMS_MAX}`;
  return { kind: 'urls', entries, next, ...(isCut && next === null && { leftOut }) };
}
