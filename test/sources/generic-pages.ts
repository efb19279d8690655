import type { JsonValue } from '../../src/extract/base/connector.ts';
import { pageText } from '../support/pages.ts';
import { many, type SourceCase, type World } from './source-case.ts';

/** A source that returns the same page for every URL. */
function onePage(pageWith: (records: number) => string): SourceCase['world'] {
  return (records): World =>
    () =>
      pageWith(records);
}

function body(markup: string): string {
  return `<!doctype html><html lang="en"><head><title>Harbour</title></head><body>${markup}</body></html>`;
}

function jsonLd(things: JsonValue): string {
  const data = JSON.stringify({ '@context': 'https://schema.org', '@graph': things });
  return body(`<script type="application/ld+json">${data}</script>`);
}

function links(records: number): string {
  return body(
    many(records, (place) => `<p><a href="/boats/${place}?from=list" rel="noopener">Boat ${place}</a>`).join(''),
  );
}

function table(records: number): string {
  if (records === 0) return body('<p>No boats today.</p>');
  const rows = many(records, (place) => `<tr><td>Boat ${place}<td>10</tr>`);
  return body(`<table><caption>Boats<tr><th>Boat<th>Price</tr>${rows.join('')}</table>`);
}

function events(records: number): string {
  return jsonLd(many(records, (place) => ({ '@type': 'Event', '@id': `#${place}`, name: `Regatta ${place}` })));
}

function reviews(records: number): string {
  const all = many(records, (place) => ({
    '@type': 'Review',
    author: { '@type': 'Person', name: 'Ada Quist' },
    reviewRating: { '@type': 'Rating', ratingValue: '4' },
    reviewBody: `Visit ${place}: the soup is good.`,
    datePublished: '2026-01-02',
  }));
  return jsonLd([{ '@type': 'Restaurant', name: 'Harbour Café', review: all }]);
}

function state(records: number): string {
  return body(many(records, (place) => `<script type="application/json">{"boat":${place}}</script>`).join(''));
}

/** Items of one page of a list that has several. */
const LIST_SIZE = 100;

/** A list of boats in pages, each of which links to the next one. */
function boats(records: number): World {
  return ({ url }) => {
    const page = Number(new URL(url).searchParams.get('page') ?? 1);
    const all = many(records, (place) => `<li class="boat"><b>Boat ${place}</b> <i>€ ${place},50</i>`);
    const shown = all.slice((page - 1) * LIST_SIZE, page * LIST_SIZE);
    const next = page * LIST_SIZE < records ? `<a rel="next" href="?page=${page + 1}">Next</a>` : '';
    return body(`<ul>${shown.join('')}</ul>${next}`);
  };
}

const COMMON = {
  connector: 'generic',
  input: { url: 'https://courier.example/news/bridge' },
  paging: 'none',
  sizeAsked: null,
  hostIn: 'url',
  announcesTotal: true,
} as const;

/** The operations of the connector for any site that read one page. */
export const genericPageCases: readonly SourceCase[] = [
  {
    ...COMMON,
    operation: 'page.article',
    world: (records) => () => (records === 0 ? null : pageText('article/news.page')),
    recordsMax: 1,
    emptyIsMissing: true,
  },
  { ...COMMON, operation: 'page.structured', world: onePage(events) },
  { ...COMMON, operation: 'page.links', input: { url: 'courier.example' }, world: onePage(links) },
  { ...COMMON, operation: 'page.tables', world: onePage(table) },
  { ...COMMON, operation: 'page.state', world: onePage(state) },
  {
    ...COMMON,
    operation: 'page.select',
    input: {
      url: 'https://courier.example/boats',
      each: 'li.boat',
      next: 'a[rel~=next]',
      fields: { name: 'b', price: { select: 'i', type: 'money' }, gone: { select: 's', type: 'number' } },
    },
    world: boats,
    paging: 'cursor',
    announcesTotal: false,
  },
  { ...COMMON, operation: 'place.reviews', world: onePage(reviews) },
];
