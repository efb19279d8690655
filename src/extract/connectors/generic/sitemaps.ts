import type { Page } from '../../connector.ts';
import { readFeed } from '../../read/feed.ts';
import { PartTaker, type ListPart } from '../../read/list-part.ts';
import { readSitemap, type SitemapKind } from '../../read/sitemap.ts';
import type { Entry } from './walk.ts';

/** A part of what a list of pages names. */
export interface Entries {
  /** `index`: further lists. */
  readonly kind: SitemapKind;
  readonly entries: readonly Entry[];
  /** Where the list goes on; null at its end. */
  readonly next: number | null;
}

/** Reads a part of a sitemap or a feed; null where it is neither. Throws `parse_failed`. */
export function readEntries({ text, url }: Page, part: ListPart<SitemapKind>): Entries | null {
  const sitemap = readSitemap(text, url, part);
  if (sitemap.kind === 'none') return null;
  if (sitemap.kind !== 'feed') {
    const { kind, entries, next } = sitemap;
    return { kind, entries: entries.map((entry) => ({ ...entry, foundIn: 'sitemap' })), next };
  }
  const taker = new PartTaker<SitemapKind, Entry>(part);
  for (const { url: page, updatedAt, publishedAt } of readFeed(text, url).items)
    if (page !== null) taker.take({ url: page, lastModified: updatedAt ?? publishedAt, foundIn: 'feed' }, 'urls');
  return { kind: 'urls', entries: taker.entries, next: taker.next };
}
