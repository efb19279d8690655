import type { JsonObject } from '../../src/extract/base/connector.ts';
import { LARGE_PAGES, json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

/** Crossref. Shapes and deep paging by cursor: github.com/CrossRef/rest-api-doc and its "api_format", now api.crossref.org. */
export function crossrefWorld(records: number): World {
  return ({ url: text }) => {
    const url = new URL(text);
    if (url.pathname !== '/works') return null;
    const size = numberIn(url, 'rows', 20);
    const cursor = url.searchParams.get('cursor') ?? '*';
    const from = cursor === '*' ? 0 : Number(Buffer.from(cursor, 'base64').toString());
    const items = many(records, work).slice(from, from + size);
    // A cursor comes with the last page, too.
    const next = Buffer.from(String(from + items.length)).toString('base64');
    const message = { facets: {}, 'next-cursor': next, 'total-results': records, items, 'items-per-page': size };
    return json({ status: 'ok', 'message-type': 'work-list', 'message-version': '1.0.0', message });
  };
}

function work(place: number): JsonObject {
  return {
    DOI: `10.5555/TEA.${place}`,
    URL: `https://doi.org/10.5555/tea.${place}`,
    type: 'journal-article',
    title: ['On <i>limescale</i> &amp; kettles'],
    subtitle: [],
    author: [
      {
        given: 'Ada',
        family: 'Park',
        sequence: 'first',
        ORCID: 'https://orcid.org/0000-0002-1825-0097',
        affiliation: [{ name: 'Example University' }],
      },
      { name: 'The Kettle Group', sequence: 'additional', affiliation: [] },
    ],
    'container-title': ['Journal of Kettles'],
    publisher: 'Example Press',
    published: { 'date-parts': [place % 2 === 0 ? [2024, 5, 2] : [2024]] },
    issued: { 'date-parts': [[null]] },
    indexed: { 'date-parts': [[2024, 5, 3]], 'date-time': '2024-05-03T10:30:00Z', timestamp: 1_714_732_200_000 },
    volume: '5',
    issue: '2',
    page: '12-19',
    abstract: '<jats:p>We look at limescale.</jats:p>',
    ISSN: ['2345-6789'],
    license: [{ URL: 'https://creativecommons.org/licenses/by/4.0/', 'content-version': 'vor', 'delay-in-days': 0 }],
    'references-count': 31,
    'is-referenced-by-count': 4,
    language: 'en',
  };
}

export const crossrefCases: readonly SourceCase[] = [
  {
    connector: 'crossref',
    operation: 'search.works',
    input: { query: 'limescale', published_from: '2020-01', kind: 'journal-article' },
    world: crossrefWorld,
    paging: 'cursor',
    sizeAsked: sizeIn('rows'),
    hostIn: null,
    announcesTotal: true,
    largeCount: LARGE_PAGES,
  },
];
