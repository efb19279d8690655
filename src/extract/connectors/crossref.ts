import type { Connector, FoundRecord, JsonObject, JsonValue, Source } from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { plainText, textOfHtml } from '../read/html.ts';
import { address } from './kit/api-address.ts';
import { chained, type ChainStart, type PageResult, type ChainTurn } from './kit/chain.ts';
import { at, givenText, idOf, integerOf, itemsOf, listIn, readEach, textMember, textsOf, urlOf } from './kit/json.ts';
import * as schema from './kit/schema.ts';

const BASE = 'https://api.crossref.org';
/** Choice: the interface accepts 1,000, but such pages have many megabytes if works list their references. */
const PAGE_SIZE_MAX = 200;

interface Args extends JsonObject {
  readonly query: string;
  readonly filter: string | null;
}

const WORK = schema.recordSchema({
  id: schema.idField('The DOI, in lower case.'),
  url: schema.urlField('The DOI as an address.'),
  title: schema.textField('Without markup.'),
  subtitle: schema.textField('Without markup.'),
  kind: schema.textField("Crossref's name for its kind, for example `journal-article`."),
  authors: schema.objectsField('The authors, in the order of the publication.', {
    name: schema.textField('Given name first.'),
    orcid: schema.textField('Their ORCID iD, as an address.'),
    affiliations: schema.textsField('Where they work.'),
  }),
  container: schema.textField('The journal, the book or the proceedings.'),
  publisher: schema.textField('Name of the publisher.'),
  published_on: schema.textField(
    'The day; only the month or the year if no more is known: `2024-05-02`, `2024-05`, `2024`.',
  ),
  updated_at: schema.dateField('When the record was last indexed.'),
  volume: schema.textField('Volume of the journal.'),
  issue: schema.textField('Issue of the journal.'),
  pages: schema.textField('For example `12-19`.'),
  abstract: schema.textField('The abstract as plain text.'),
  subjects: schema.textsField('Names.'),
  issn: schema.textsField('ISSNs of the journal.'),
  isbn: schema.textsField('ISBNs of the book.'),
  language: schema.textField('ISO 639 code.'),
  license_url: schema.urlField('The licence under which it may be used.'),
  references: schema.countField('Number of works that it cites.'),
  cited_by: schema.countField('Number of works that cite it.'),
});

async function readPage({ args, at: cursor, size }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const url = address(source.base(BASE), ['works'], {
    query: args.query,
    filter: args.filter,
    rows: size,
    cursor: cursor ?? '*',
  });
  const { body } = await source.json(url);
  const items = listIn(at(body, 'message', 'items'), 'message.items');
  return {
    kind: 'page',
    records: readEach(items, readWork),
    // The last page also contains a cursor. It is recognised by having fewer items than requested.
    next: items.length < size ? null : textMember(at(body, 'message', 'next-cursor')),
    total: integerOf(at(body, 'message', 'total-results')),
  };
}

function readWork(item: JsonObject): FoundRecord | null {
  const doi = textMember(item['DOI'])?.toLowerCase() ?? null;
  if (doi === null) return null;
  const url = urlOf(item['URL']) ?? `https://doi.org/${encodeURI(doi)}`;
  return {
    id: doi,
    sourceUrl: url,
    fields: {
      id: doi,
      url,
      title: firstText(item['title']),
      subtitle: firstText(item['subtitle']),
      kind: textMember(item['type']),
      authors: Array.isArray(item['author']) ? itemsOf(item['author']).map(readAuthor) : null,
      container: firstText(item['container-title']),
      publisher: plainText(textMember(item['publisher'])),
      published_on: dayOf(item['published']) ?? dayOf(item['issued']),
      updated_at: isoDate(at(item, 'indexed', 'date-time')),
      volume: idOf(item['volume']),
      issue: idOf(item['issue']),
      pages: idOf(item['page']),
      abstract: textOfHtml(textMember(item['abstract'])),
      subjects: textsOf(item['subject']),
      issn: textsOf(item['ISSN']),
      isbn: textsOf(item['ISBN']),
      language: textMember(item['language']),
      license_url: urlOf(at(itemsOf(item['license'])[0], 'URL')),
      references: integerOf(item['references-count']),
      cited_by: integerOf(item['is-referenced-by-count']),
    },
  };
}

/** Persons have a given and a family name, organisations a single name. */
function readAuthor(person: JsonValue): JsonObject {
  const parts = [textMember(at(person, 'given')), textMember(at(person, 'family'))].filter((part) => part !== null);
  return {
    name: plainText(parts.length === 0 ? textMember(at(person, 'name')) : parts.join(' ')),
    orcid: urlOf(at(person, 'ORCID')),
    affiliations: textsOf(at(person, 'affiliation'), (place) => plainText(textMember(at(place, 'name')))),
  };
}

function firstText(value: JsonValue | undefined): string | null {
  return plainText(textMember(itemsOf(value)[0]));
}

/** Reads `{"date-parts":[[2024,5,2]]}`, in which month and day may be missing. */
function dayOf(value: JsonValue | undefined): string | null {
  const parts = itemsOf(itemsOf(at(value, 'date-parts'))[0]).map(integerOf);
  const [year, ...rest] = parts.map((part, place) => {
    const isFitting = part !== null && part >= 1 && part <= ([9_999, 12, 31][place] ?? 0);
    return isFitting ? String(part).padStart(place === 0 ? 4 : 2, '0') : null;
  });
  if (year === undefined || year === null) return null;
  const known = rest.slice(0, rest.includes(null) ? rest.indexOf(null) : 2);
  return [year, ...known].join('-');
}

function begin(input: JsonObject): ChainStart<Args> {
  const filters: string[] = [];
  for (const [name, filter] of FILTERS) {
    const given = textMember(input[name]);
    if (given === null) continue;
    filters.push(`${filter}:${given}`);
  }
  return {
    kind: 'args',
    args: { query: givenText(input, 'query'), filter: filters.length === 0 ? null : filters.join(',') },
  };
}

const FILTERS = [
  ['published_from', 'from-pub-date'],
  ['published_until', 'until-pub-date'],
  ['kind', 'type'],
] as const;
const DAY = '^\\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\\d|3[01]))?)?$';

export const crossref: Connector = {
  id: 'crossref',
  title: 'Crossref',
  description: 'Scholarly works with a DOI: articles, books, proceedings, data sets and their metadata.',
  docsUrl: 'https://api.crossref.org/swagger-ui/index.html',
  hosts: [new URL(BASE).hostname],
  terms: {
    termsUrl: 'https://www.crossref.org/documentation/retrieve-metadata/rest-api/',
    attribution: 'Metadata is free to use; some abstracts are under the copyright of their publishers.',
    ratePolicy:
      'No key; the headers of its responses state the limit. It asks for a contact address in the user agent.',
  },
  operations: [
    chained<Args>({
      name: 'search.works',
      description: 'Works whose metadata (title, authors, journal, year) match the query.',
      paging: 'By cursor, 200 a page; the total is announced.',
      tier: 'basic',
      pageSizeMax: PAGE_SIZE_MAX,
      sizing: 'fixed',
      input: schema.inputSchema(
        {
          query: schema.queryInput('Words to look for.'),
          published_from: schema.nameInput('Only works of this day, month or year, or later.', DAY, 10),
          published_until: schema.nameInput('Only works of this day, month or year, or earlier.', DAY, 10),
          kind: schema.nameInput(
            "Only works of this kind, by Crossref's name for it, for example `journal-article`.",
            '^[a-z-]+$',
            40,
          ),
        },
        ['query'],
      ),
      record: WORK,
      example: {
        input: { query: 'limescale kettle', published_from: '2020' },
        record: {
          id: '10.5555/12345678',
          url: 'https://doi.org/10.5555/12345678',
          title: 'On limescale in kettles',
          subtitle: null,
          kind: 'journal-article',
          authors: [
            { name: 'Ada Park', orcid: 'https://orcid.org/0000-0002-1825-0097', affiliations: ['Example University'] },
          ],
          container: 'Journal of Kettles',
          publisher: 'Example Press',
          published_on: '2024-05',
          updated_at: '2024-05-03T10:30:00Z',
          volume: '5',
          issue: '2',
          pages: '12-19',
          abstract: 'We look at limescale.',
          subjects: null,
          issn: ['2345-6789'],
          isbn: null,
          language: 'en',
          license_url: 'https://creativecommons.org/licenses/by/4.0/',
          references: 31,
          cited_by: 4,
        },
      },
      begin,
      read: readPage,
    }),
  ],
};
