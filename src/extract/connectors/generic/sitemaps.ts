import type { Page } from '../../connector.ts';
import { readFeed } from '../../read/feed.ts';
import { readSitemap } from '../../read/sitemap.ts';
import type { Entry } from './walk.ts';

/** What a list of pages names. */
export interface Entries {
  /** `index`: further lists. */
  readonly kind: 'urls' | 'index';
  readonly entries: readonly Entry[];
}

/** Reads a sitemap or a feed; null where it is neither. Throws `parse_failed`. */
export function readEntries({ text, url }: Page): Entries | null {
  const sitemap = readSitemap(text, url);
  if (sitemap.kind === 'none') return null;
  if (sitemap.kind !== 'feed')
    return { kind: sitemap.kind, entries: sitemap.entries.map((entry) => ({ ...entry, foundIn: 'sitemap' })) };
  const items = readFeed(text, url).items.flatMap((item): Entry[] =>
    item.url === null ? [] : [{ url: item.url, lastModified: item.updatedAt ?? item.publishedAt, foundIn: 'feed' }],
  );
  return { kind: 'urls', entries: items };
}
