import type { ListPart } from '../../src/extract/read/list-part.ts';
import { SitemapReader, type Sitemap, type SitemapKind } from '../../src/extract/read/sitemap.ts';

/** Parses a complete file. */
export function readSitemap(text: string, url: string, part: ListPart<SitemapKind>): Sitemap {
  const reader = new SitemapReader(url, part);
  reader.write(text);
  return reader.end();
}
