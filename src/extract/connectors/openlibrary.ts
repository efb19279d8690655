import type { Connector, FoundRecord, JsonObject, JsonValue, Source } from '../base/connector.ts';
import { address } from './kit/api-address.ts';
import { chained, type PageResult, type ChainTurn } from './kit/chain.ts';
import {
  at,
  givenText,
  idOf,
  integerOf,
  itemsOf,
  listIn,
  numberOf,
  readEach,
  textMember,
  textsOf,
} from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';

const BASE = 'https://openlibrary.org';
const SITE = 'https://openlibrary.org';
/** Source: the search's default; more makes it slow. */
const PAGE_SIZE_MAX = 100;
/** Requested fields; the response contains only these. */
const FIELDS =
  'key,title,subtitle,author_name,author_key,first_publish_year,edition_count,language,subject,publisher,isbn,number_of_pages_median,ratings_average,ratings_count,cover_i,ebook_access';

interface Args extends JsonObject {
  readonly query: string;
  readonly author: string | null;
  readonly sort: string | null;
}

const WORK = schema.recordSchema({
  id: schema.idField('Open Library number of the work, for example `OL27448W`.'),
  url: schema.urlField('The work.'),
  title: schema.textField('Title of the work.'),
  subtitle: schema.textField('Subtitle of the work.'),
  authors: schema.objectsField('The authors, in the order of the library.', {
    name: schema.textField('Name as the library writes it.'),
    url: schema.urlField('Their page.'),
  }),
  first_published_year: schema.countField('Year of the first edition.'),
  editions: schema.countField('Number of editions that the library knows.'),
  languages: schema.textsField('Three-letter codes.'),
  subjects: schema.textsField('Names.'),
  publishers: schema.textsField('Publishers of all editions.'),
  isbns: schema.textsField('ISBNs of all editions.'),
  pages: schema.countField('Number of pages, median of all editions.'),
  rating: schema.numberField('Mean rating, from 1 to 5.'),
  ratings: schema.countField('Number of ratings.'),
  cover_url: schema.urlField('Image of the cover.'),
  ebook_access: schema.textField('`no_ebook`, `printdisabled`, `borrowable` or `public`.'),
});

async function readPage({ args, at: cursor, size }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const offset = Number(cursor ?? 0);
  const url = address(source.base(BASE), ['search.json'], {
    q: args.query,
    author: args.author,
    sort: args.sort,
    fields: FIELDS,
    offset,
    limit: size,
  });
  const { body } = await source.json(url);
  const items = listIn(at(body, 'docs'), 'docs');
  const total = integerOf(at(body, 'numFound')) ?? integerOf(at(body, 'num_found'));
  const isMore = items.length > 0 && (total === null ? items.length >= size : offset + items.length < total);
  return { kind: 'page', records: readEach(items, readWork), next: isMore ? offset + items.length : null, total };
}

function readWork(item: JsonObject): FoundRecord | null {
  const id = textMember(item['key'])?.split('/').at(-1) ?? '';
  if (!/^OL\d+[A-Z]$/.test(id)) return null;
  const url = address(SITE, ['works', id]);
  const cover = idOf(item['cover_i']);
  return recordOf(id, url, {
    title: textMember(item['title']),
    subtitle: textMember(item['subtitle']),
    authors: authorsOf(item['author_name'], item['author_key']),
    first_published_year: integerOf(item['first_publish_year']),
    editions: integerOf(item['edition_count']),
    languages: textsOf(item['language']),
    subjects: textsOf(item['subject']),
    publishers: textsOf(item['publisher']),
    isbns: textsOf(item['isbn']),
    pages: integerOf(item['number_of_pages_median']),
    rating: numberOf(item['ratings_average']),
    ratings: integerOf(item['ratings_count']),
    cover_url:
      cover === null || cover === '-1'
        ? null
        : `https://covers.openlibrary.org/b/id/${encodeURIComponent(cover)}-L.jpg`,
    ebook_access: textMember(item['ebook_access']),
  });
}

/** Names and keys are two lists in the same order. */
function authorsOf(names: JsonValue | undefined, keys: JsonValue | undefined): readonly JsonObject[] | null {
  if (!Array.isArray(names)) return null;
  const byPlace = itemsOf(keys);
  return itemsOf(names).map((name, place) => {
    const key = textMember(byPlace[place]);
    return {
      name: textMember(name),
      url: key !== null && /^OL\d+A$/.test(key) ? address(SITE, ['authors', key]) : null,
    };
  });
}

export const openlibrary: Connector = {
  id: 'openlibrary',
  title: 'Open Library',
  description: "Books of the Internet Archive's Open Library; one record for each work, not for each edition.",
  docsUrl: 'https://openlibrary.org/dev/docs/api/search',
  hosts: [new URL(BASE).hostname],
  terms: {
    termsUrl: 'https://openlibrary.org/developers/api',
    attribution: null,
    ratePolicy: 'No key. The library asks clients not to use it for bulk downloads; it publishes dumps for these.',
  },
  operations: [
    chained<Args>({
      name: 'search.works',
      description: 'Works whose titles, authors, subjects or other fields match the query.',
      paging: 'By offset, 100 a page; the total is announced.',
      tier: 'basic',
      pageSizeMax: PAGE_SIZE_MAX,
      sizing: 'free',
      input: schema.inputSchema(
        {
          query: schema.queryInput("Words to look for; the library's own query language works, such as `subject:tea`."),
          author: schema.queryInput('Only works of authors whose names match.'),
          sort: schema.choiceInput(
            'Order of the results.',
            ['relevance', 'new', 'old', 'rating', 'editions'],
            'relevance',
          ),
        },
        ['query'],
      ),
      record: WORK,
      example: {
        input: { query: 'history of tea' },
        record: {
          id: 'OL27448W',
          url: 'https://openlibrary.org/works/OL27448W',
          title: 'A history of tea',
          subtitle: null,
          authors: [{ name: 'Ada Park', url: 'https://openlibrary.org/authors/OL26320A' }],
          first_published_year: 1954,
          editions: 12,
          languages: ['eng', 'ger'],
          subjects: ['Tea', 'Drinks'],
          publishers: ['Example Press'],
          isbns: ['9780261103252'],
          pages: 310,
          rating: 4.2,
          ratings: 51,
          cover_url: 'https://covers.openlibrary.org/b/id/258027-L.jpg',
          ebook_access: 'borrowable',
        },
      },
      begin: (input) => ({
        kind: 'args',
        args: {
          query: givenText(input, 'query'),
          author: textMember(input['author']),
          sort: input['sort'] === 'relevance' ? null : textMember(input['sort']),
        },
      }),
      read: readPage,
    }),
  ],
};
