import { describe, expect, test } from 'vitest';
import { parseLooseJson } from '../../../../src/extract/read/json-repair.ts';
import { readStructured, textOfValue, thingsOfType, itemTypesOf } from '../../../../src/extract/read/structured.ts';
import { markup, page } from '../../../support/pages.ts';

describe('readJsonLd', () => {
  const { jsonLd } = readStructured(page('structured/broken-json-ld.page'));

  test('JSON-LD is read from all readable blocks, with arrays and graphs split', () => {
    expect(jsonLd.map((node) => textOfValue(node['name']) ?? itemTypesOf(node)[0])).toEqual([
      'Kettle, 1.5 l',
      'Tom &amp; Jerry',
      "It's on",
      'first',
      'second',
      'Soup',
      'WebSite',
    ]);
  });

  test('JSON-LD with comments, wrappers, raw line breaks and trailing commas is read with its strings unchanged', () => {
    expect(jsonLd[0]).toEqual({
      '@context': 'https://schema.org/',
      '@type': 'Product',
      name: 'Kettle, 1.5 l',
      description: 'Boils\nin two minutes. See https://shop.example/kettle // really',
      offers: { '@type': 'Offer', price: '39.90', priceCurrency: 'EUR' },
      sku: 'K-15',
    });
  });

  test('JSON-LD cannot change the prototype of objects', () => {
    expect(jsonLd[4]).toEqual({ '@type': 'Thing', name: 'second' });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('JSON-LD deeper than any vocabulary is ignored', () => {
    expect(parseLooseJson(`${'['.repeat(33)}${']'.repeat(33)}`)).toBeUndefined();
    expect(parseLooseJson(`${'['.repeat(32)}${']'.repeat(32)}`)).toBeDefined();
    expect(parseLooseJson(`{"a": "${'['.repeat(100)}"}`)).toEqual({ a: '['.repeat(100) });
  });

  test.each([
    ['{"a":"\t\u0001","b":[1,2,],}', { a: '\t\u0001', b: [1, 2] }],
    [String.raw`{"a":"it\'s \"q\" \u00e9 \\"}`, { a: String.raw`it's "q" é \ `.trim() }],
    [
      String.raw`{"a":"It\x27s \x26 \x22q\x22 \x5c \u{1F600} \u{110000} \x0a \v\0"}`,
      { a: 'It\'s & "q" \\ 😀 \uFFFD \n \v\0' },
    ],
    [String.raw`{"a":"\xZZ \x2"}`, { a: 'xZZ x2' }],
    ['{"a":"one \\\ntwo"}', { a: 'one two' }],
    ['\uFEFF {"a":1};', { a: 1 }],
    ['{"a":1 /* , */ , // x\n }', { a: 1 }],
    ['<![CDATA[{"a":"<!-- kept -->"}]]>', { a: '<!-- kept -->' }],
    ['["a",,"b"]', undefined],
    ['{"a": alert(1)}', undefined],
    ['"', undefined],
  ])('parseLooseJson reads %s', (text, value) => expect(parseLooseJson(text)).toEqual(value));
});

describe('readMicrodata', () => {
  const { microdata } = readStructured(page('structured/microdata.page'));

  test('a linked property that is text yields its text, and any other link its URL', () => {
    const { microdata: things } = readStructured(
      markup(`<div itemscope itemtype="https://schema.org/Article"><a itemprop="headline" href="/p/1">Fog <b>again</b></a>
        <a itemprop="author" href="/ada">Ada</a><a itemprop="name url" href="/p/1">Fog</a><a itemprop="name" href="/p/2"></a></div>`),
    );
    expect(things).toEqual([
      {
        '@type': 'https://schema.org/Article',
        headline: 'Fog again',
        author: 'https://site.example/ada',
        name: ['https://site.example/p/1', 'https://site.example/p/2'],
        url: 'https://site.example/p/1',
      },
    ]);
  });

  test('microdata takes the form of JSON-LD, with what an item refers to and without what belongs to other items', () => {
    expect(microdata[0]).toEqual({
      '@type': 'https://schema.org/Product',
      '@id': 'urn:sku:cup-7',
      name: 'Blue cup',
      image: ['https://shop.example/cups/cup-1.jpg', 'https://shop.example/cup-2.jpg'],
      url: 'https://shop.example/cups/blue?size=m',
      sku: '4006381333931',
      gtin13: '4006381333931',
      offers: {
        '@type': 'https://schema.org/Offer',
        price: '12.50',
        availability: 'https://schema.org/InStock',
        priceValidUntil: '2026-12-31',
      },
      aggregateRating: { '@type': 'https://schema.org/AggregateRating', ratingValue: '4.5', reviewCount: '12' },
      isRelatedTo: { name: 'Saucer' },
    });
  });

  test('readMicrodata returns only top-level items, each once', () => {
    expect(microdata).toHaveLength(2);
    expect(microdata[1]).toEqual({ '@type': 'https://schema.org/Brand', name: "not the product's name" });
  });
});

describe('readOpenGraph and readTwitterCard', () => {
  const { openGraph, twitter } = readStructured(page('structured/open-graph.page'));

  test('the properties of each image stay together', () => {
    expect(openGraph).toEqual({
      title: 'A & B',
      image: [
        { url: 'https://x.example/1.jpg', width: '300', height: '200' },
        { url: 'https://x.example/2.jpg', alt: 'second' },
        { url: 'https://x.example/3.jpg', secure_url: 'https://x.example/3s.jpg' },
      ],
      locale: 'en_GB',
      locale_alternate: ['fr_FR', 'de_DE'],
      article_author: ['Ada', 'Ben'],
    });
  });

  test('properties are read from either attribute', () => {
    expect(twitter).toEqual({ card: 'summary', site: '@x', app_id_iphone: '7' });
  });

  test('the result is null if there are no properties', () => {
    expect(readStructured(markup('<meta name="description" content="x">'))).toEqual({
      jsonLd: [],
      microdata: [],
      openGraph: null,
      twitter: null,
      isCut: false,
    });
  });
});

describe('StructuredData.isCut', () => {
  const block = '<script type="application/ld+json">{"@type":"Thing","name":"x"}</script>';
  const item = '<p itemscope><b itemprop=name>x</b></p>';
  test.each([
    ['blocks of JSON-LD', block.repeat(101), 100, 0],
    [
      'objects of JSON-LD',
      `<script type="application/ld+json">[${'{"name":"x"},'.repeat(5_000)}{"name":"y"}]</script>`,
      5_000,
      0,
    ],
    ['items of microdata', item.repeat(1_001), 0, 1_000],
  ])('a page with more data than is read reports that: %s', (_what, text, jsonLd, microdata) => {
    const data = readStructured(markup(text));
    expect([data.isCut, data.jsonLd.length, data.microdata.length]).toEqual([true, jsonLd, microdata]);
  });

  test('isCut is false for a page with exactly the maximum amount of data', () => {
    expect(readStructured(markup(block.repeat(100) + item.repeat(1_000))).isCut).toBe(false);
  });
});

describe('thingsOfType', () => {
  const json = (value: unknown): string => `<script type="application/ld+json">${JSON.stringify(value)}</script>`;

  test('objects of a type are found inside others, with references by id filled in', () => {
    const data = readStructured(
      markup(
        json({
          '@graph': [
            {
              '@type': 'WebPage',
              mainEntity: { '@type': ['Thing', 'schema:Product'], name: 'P', brand: { '@id': '#b' } },
            },
            { '@type': 'Brand', '@id': '#b', name: 'B' },
          ],
        }),
      ),
    );
    const products = thingsOfType(data, (type) => type === 'Product');
    expect(products).toHaveLength(1);
    expect(textOfValue(products[0]?.['brand'])).toBe('B');
  });

  test('objects that refer to each other do not cause an endless loop', () => {
    const data = readStructured(
      markup(
        json([
          { '@type': 'A', '@id': '#a', b: { '@id': '#b' } },
          { '@type': 'A', '@id': '#b', a: { '@id': '#a' } },
        ]),
      ),
    );
    expect(thingsOfType(data, (type) => type === 'A')).toHaveLength(2);
  });
});
