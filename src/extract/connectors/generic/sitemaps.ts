import { SourceFailure, type StepNote } from '../../base/connector.ts';
import { FEED_ITEMS_MAX } from '../../read/feed-parse.ts';
import { readFeed } from '../../read/feed.ts';
import { PartTaker, type ListPart } from '../../read/list-part.ts';
import { SitemapReader, type SitemapKind } from '../../read/sitemap.ts';
import type { Entry } from './crawl.ts';
import { brokenOffNote } from './truncated.ts';

/** A part of the entries of a list of pages. */
export interface Entries {
  /** `index`: the entries are further lists. */
  readonly kind: SitemapKind;
  readonly entries: readonly Entry[];
  /** Index at which the list continues; null at its end. */
  readonly next: number | null;
  /** As in `StepResult`; reported with the last part of the list. */
  readonly leftOut?: string;
  /** As in `StepResult`. */
  readonly brokenOff?: StepNote;
}

/** A list of pages that arrives in chunks. */
export interface ListText {
  readonly url: string;
  readonly pieces: AsyncIterable<string> | Iterable<string>;
}

/** Choice: maximum size of a feed used as a sitemap, which is buffered while it arrives. The longest of common sites have some 3 MiB. */
const FEED_CHARACTERS_MAX = 4 * 1_048_576;

/** Reads a part of a sitemap or a feed; null if the text is neither. Throws `parse_failed`, and what the chunks throw. */
export async function readEntries({ url, pieces }: ListText, part: ListPart<SitemapKind>): Promise<Entries | null> {
  const reader = new SitemapReader(url, part);
  /** Chunks received so far; null once it is known that this is not a feed. */
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
    if (isFeed && isTooLong) throw new SourceFailure('unsupported_content', `${url} is a feed that is too long`, false);
    if (!isFeed && (isTooLong || !goesOn)) break;
  }
  const sitemap = reader.end();
  if (sitemap.kind === 'none') return null;
  if (sitemap.kind === 'feed') return readFeedEntries((held ?? []).join(''), url, part);
  const { kind, entries, next, breaksOff } = sitemap;
  return {
    kind,
    entries: entries.map((entry) => ({ ...entry, foundIn: 'sitemap' })),
    next,
    ...(breaksOff && { brokenOff: brokenOffNote(url) }),
  };
}

function readFeedEntries(text: string, url: string, part: ListPart<SitemapKind>): Entries {
  const taker = new PartTaker<SitemapKind, Entry>(part);
  const { items, isCut, breaksOff } = readFeed(text, url);
  for (const { url: page, updatedAt, publishedAt } of items)
    if (page !== null) taker.take({ url: page, lastModified: updatedAt ?? publishedAt, foundIn: 'feed' }, 'urls');
  const { entries, next } = taker;
  const leftOut = `items of ${url} after the first ${FEED_ITEMS_MAX}`;
  if (next !== null) return { kind: 'urls', entries, next };
  return {
    kind: 'urls',
    entries,
    next,
    ...(isCut && { leftOut }),
    ...(breaksOff && { brokenOff: brokenOffNote(url) }),
  };
}
