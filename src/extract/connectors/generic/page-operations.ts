import { SourceFailure, type FoundRecord, type JsonObject, type Operation } from '../../base/connector.ts';
import { registrableDomain } from '../../../kernel/registrable-domain.ts';
import { readArticle } from '../../read/article.ts';
import { contentFormsOf } from '../../read/content-forms.ts';
import { PAGE_LINKS_MAX, readLinks } from '../../read/links.ts';
import { readStructured, itemTypesOf } from '../../read/structured.ts';
import { readTables, type PageTable } from '../../read/page-tables.ts';
import { normalisedUrl } from '../../read/urls.ts';
import * as schema from '../kit/schema.ts';
import { leftOutOf, restOf, truncatedMark } from './truncated.ts';
import { CONTENT_FIELDS, PAGE_CONTENT_INPUT } from './fields.ts';
import { singlePage } from './single-page.ts';

const URL_FIELD = schema.urlField('The page, after redirects.');

export const pageArticle: Operation = singlePage({
  name: 'page.article',
  description:
    'The readable content of a page: its text without menus and advertisements, and what the page states about itself.',
  record: schema.recordSchema({
    url: URL_FIELD,
    canonical_url: schema.urlField('The address that the page declares as its own.'),
    title: schema.textField('Without markup.'),
    byline: schema.textField('The authors, separated by commas.'),
    published_at: schema.dateField('When it was published.'),
    modified_at: schema.dateField('When it was last changed.'),
    site_name: schema.textField('Name of the site that publishes it.'),
    language: schema.textField('BCP 47 tag.'),
    excerpt: schema.textField('A short summary.'),
    text: schema.textField('Plain text, one line for each paragraph.'),
    word_count: schema.countField('Number of words in the text.'),
    image_url: schema.urlField('Its main image.'),
    ...CONTENT_FIELDS,
  }),
  example: {
    url: 'https://www.example.com/news/harbour',
    canonical_url: 'https://www.example.com/news/harbour',
    title: 'Harbour bridge reopens',
    byline: 'Ada Quist, Ben Ruiz',
    published_at: '2026-03-02T07:30:00Z',
    modified_at: null,
    site_name: 'The Coast Courier',
    language: 'en-GB',
    excerpt: 'Traffic flows again across the harbour.',
    text: 'The harbour bridge carried its first cars on Monday.',
    word_count: 9,
    image_url: 'https://www.example.com/img/bridge.jpg',
    markdown: null,
    html: null,
  },
  input: PAGE_CONTENT_INPUT,
  options: (input) => pick(input, 'content'),
  read(html, page, step) {
    const forms = contentFormsOf(step['content']);
    const article = readArticle(html, page.headers, forms);
    if (article === null) throw new SourceFailure('parse_failed', `${page.url} has no readable text`, false);
    const fields = {
      url: page.url,
      canonical_url: article.canonicalUrl,
      title: article.title,
      byline: article.byline,
      published_at: article.publishedAt,
      modified_at: article.modifiedAt,
      site_name: article.siteName,
      language: article.language,
      excerpt: article.excerpt,
      text: forms.includes('text') ? article.text : null,
      word_count: article.wordCount,
      image_url: article.imageUrl,
      markdown: article.marked.markdown,
      html: article.marked.html,
    };
    return { records: [{ id: normalisedUrl(page.url), sourceUrl: page.url, fields, ...truncatedMark(article) }] };
  },
});

function pick(input: JsonObject, name: string): JsonObject {
  const value = input[name];
  return value === undefined ? {} : { [name]: value };
}

export const pageStructured: Operation = singlePage({
  name: 'page.structured',
  description:
    'The structured data of a page: JSON-LD, microdata, Open Graph and Twitter cards; one record for each object. RDFa other than Open Graph is not read.',
  record: schema.recordSchema({
    url: URL_FIELD,
    format: schema.textField('`json_ld`, `microdata`, `open_graph` or `twitter`.'),
    types: schema.textsField('Short names of its types, for example `Product`.'),
    thing_id: schema.textField('The identifier that the page gives the object.'),
    data: { type: ['object', 'null'], description: 'The object as the page has it; microdata in the form of JSON-LD.' },
  }),
  example: {
    url: 'https://www.example.com/news/harbour',
    format: 'json_ld',
    types: ['Product'],
    thing_id: null,
    data: { '@type': 'Product', name: 'Tea cup', offers: { price: '12.50', priceCurrency: 'EUR' } },
  },
  read(html, { url }) {
    const data = readStructured(html);
    const behind = data.isCut ? `objects of ${url} after the first` : null;
    return {
      ...leftOutOf(restOf(html) ?? behind),
      records: [
        ...things(url, 'json_ld', data.jsonLd),
        ...things(url, 'microdata', data.microdata),
        ...things(url, 'open_graph', single(data.openGraph)),
        ...things(url, 'twitter', single(data.twitter)),
      ],
    };
  },
});

function single(thing: JsonObject | null): readonly JsonObject[] {
  return thing === null ? [] : [thing];
}

function things(url: string, format: string, list: readonly JsonObject[]): FoundRecord[] {
  return list.map((data, at) => {
    const id = typeof data['@id'] === 'string' ? data['@id'] : null;
    const fields = { url, format, types: itemTypesOf(data), thing_id: id, data };
    return { id: `${normalisedUrl(url)} ${format} ${at}`, sourceUrl: url, fields };
  });
}

export const pageLinks: Operation = singlePage({
  name: 'page.links',
  description: 'The links of a page, each address once.',
  record: schema.recordSchema({
    page_url: URL_FIELD,
    url: schema.urlField('The address to which the link leads.'),
    text: schema.textField('The visible text of the link.'),
    rel: schema.textsField('Values of its `rel` attribute, in lower case.'),
    nofollow: schema.flagField('Whether the link has `nofollow`, `ugc` or `sponsored`: the page does not endorse it.'),
    internal: schema.flagField('Whether it leads to the same registrable domain.'),
  }),
  example: {
    page_url: 'https://www.example.com/news/harbour',
    url: 'https://www.example.com/sport',
    text: 'Sport',
    rel: [],
    nofollow: false,
    internal: true,
  },
  read(html, page) {
    const home = domainOf(page.url);
    const links = readLinks(html);
    const records = links.map(({ url, text, rel, nofollow }) => ({
      id: normalisedUrl(url),
      sourceUrl: page.url,
      fields: {
        page_url: page.url,
        url,
        text: text === '' ? null : text,
        rel,
        nofollow,
        internal: domainOf(url) === home,
      },
    }));
    const behind = links.length >= PAGE_LINKS_MAX ? `links of ${page.url} after the first ${PAGE_LINKS_MAX}` : null;
    return { records, ...leftOutOf(behind ?? restOf(html)) };
  },
});

function domainOf(url: string): string {
  const { hostname } = new URL(url);
  return registrableDomain(hostname) ?? hostname;
}

export const pageTables: Operation = singlePage({
  name: 'page.tables',
  description:
    'The tables of a page; one record for each row. A cell that spans rows or columns is repeated in each of them.',
  record: schema.recordSchema({
    page_url: URL_FIELD,
    table: schema.countField('Number of the table on the page, from 0.'),
    caption: schema.textField('Caption of the table.'),
    row: schema.countField('Number of the row in the table, from 0, not counting headers.'),
    values: {
      type: ['object', 'null'],
      additionalProperties: { type: ['string', 'null'] },
      description: 'Header → text of the cell; `column_1`, `column_2` and so on if the table has no headers.',
    },
    cells: {
      type: ['array', 'null'],
      items: { type: ['string', 'null'] },
      description: 'The texts of the cells, in the order of the columns.',
    },
  }),
  example: {
    page_url: 'https://www.example.com/news/harbour',
    table: 0,
    caption: 'Boats for hire',
    row: 0,
    values: { Boat: 'Dinghy', 'Price / Hour': '10' },
    cells: ['Dinghy', '10'],
  },
  read(html, page) {
    const { tables, isCut } = readTables(html);
    const records = tables.flatMap((table) => rowRecords(table, page.url));
    return { records, ...leftOutOf(isCut ? `the rest of the tables of ${page.url}` : restOf(html)) };
  },
});

function rowRecords({ index, caption, headers, rows }: PageTable, url: string): FoundRecord[] {
  return rows.map((cells, row) => {
    const values = Object.fromEntries(headers.map((header, column) => [header, cells[column] ?? null]));
    const fields = { page_url: url, table: index, caption, row, values, cells };
    return { id: `${normalisedUrl(url)} ${index} ${row}`, sourceUrl: url, fields };
  });
}
