import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

/** Open Library. Shapes and parameters: openlibrary.org/dev/docs/api/search, "Open Library Search API". */
export function openlibraryWorld(records: number): World {
  return ({ url: text }) => {
    const url = new URL(text);
    if (url.pathname !== '/search.json') return null;
    const start = numberIn(url, 'offset', 0);
    const docs = many(records, book).slice(start, start + numberIn(url, 'limit', 100));
    return json({
      numFound: records,
      start,
      numFoundExact: true,
      num_found: records,
      q: url.searchParams.get('q'),
      docs,
    });
  };
}

function book(place: number): JsonObject {
  return {
    key: `/works/OL${27_448 + place}W`,
    title: 'A history of tea',
    author_name: ['Ada Park', 'Noor'],
    author_key: ['OL26320A'],
    first_publish_year: 1954,
    edition_count: 12,
    language: ['eng'],
    subject: ['Tea'],
    publisher: ['Example Press'],
    isbn: ['9780261103252'],
    number_of_pages_median: 310,
    ratings_average: 4.2,
    ratings_count: 51,
    cover_i: 258_027,
    ebook_access: 'borrowable',
  };
}

export const openlibraryCases: readonly SourceCase[] = [
  {
    connector: 'openlibrary',
    operation: 'search.works',
    input: { query: 'history of tea', sort: 'new' },
    world: openlibraryWorld,
    paging: 'cursor',
    sizeAsked: sizeIn('limit'),
    hostIn: null,
    announcesTotal: true,
  },
];
