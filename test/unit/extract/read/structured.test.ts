import { describe, expect, test } from 'vitest';
import { parseLooseJson } from '../../../../src/extract/read/json-repair.ts';
import { readStructured, textOfValue, thingsOfType, typesOf } from '../../../../src/extract/read/structured.ts';
import { markup, page } from '../../../support/pages.ts';

describe('JSON-LD', () => {
  const { jsonLd } = readStructured(page('structured/broken-json-ld.page'));

  test('is read from all blocks that can be, arrays and graphs taken apart', () => {
    expect(jsonLd.map((node) => textOfValue(node['name']) ?? typesOf(node)[0])).toEqual([
      'Kettle, 1.5 l',
      'Tom &amp; Jerry',
      "It's on",
      'first',
      'second',
      'Soup',
      'WebSite',
    ]);
  });

  test('is read with comments, wrappers, raw line breaks and trailing commas, its texts untouched', () => {
    expect(jsonLd[0]).toEqual({
      '@context': 'https://schema.org/',
      '@type': 'Product',
      name: 'Kettle, 1.5 l',
      description: 'Boils\nin two minutes. See https://shop.example/kettle // really',
      offers: { '@type': 'Offer', price: '39.90', priceCurrency: 'EUR' },
      sku: 'K-15',
    });
  });

  test('can not change the nature of objects', () => {
    expect(jsonLd[4]).toEqual({ '@type': 'Thing', name: 'second' });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('deeper than any vocabulary is left out', () => {
    expect(parseLooseJson(`${'['.repeat(33)}${']'.repeat(33)}`)).toBeUndefined();
    expect(parseLooseJson(`${'['.repeat(32)}${']'.repeat(32)}`)).toBeDefined();
    expect(parseLooseJson(`{"a": "${'['.repeat(100)}"}`)).toEqual({ a: '['.repeat(100) });
  });

  test.each([
    ['{"a":"\t\u0001","b":[1,2,],}', { a: '\t\u0001', b: [1, 2] }],
    [String.raw`{"a":"it\'s \"q\" \u00e9 \\"}`, { a: String.raw`it's "q" é \ `.trim() }],
    ['\uFEFF {"a":1};', { a: 1 }],
    ['{"a":1 /* , */ , // x\n }', { a: 1 }],
    ['<![CDATA[{"a":"<!-- kept -->"}]]>', { a: '<!-- kept -->' }],
    ['["a",,"b"]', undefined],
    ['{"a": alert(1)}', undefined],
    ['"', undefined],
  ])('%s', (text, value) => expect(parseLooseJson(text)).toEqual(value));
});

describe('microdata', () => {
  const { microdata } = readStructured(page('structured/microdata.page'));

  test('takes the text of a linked property that is text, and the address of any other link', () => {
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

  test('takes the form of JSON-LD, with what it refers to and without what belongs to other things', () => {
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

  test('has things at its top only, each once', () => {
    expect(microdata).toHaveLength(2);
    expect(microdata[1]).toEqual({ '@type': 'https://schema.org/Brand', name: "not the product's name" });
  });
});

describe('Open Graph and Twitter cards', () => {
  const { openGraph, twitter } = readStructured(page('structured/open-graph.page'));

  test('keep the properties of each picture with it', () => {
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

  test('by either attribute', () => {
    expect(twitter).toEqual({ card: 'summary', site: '@x', app_id_iphone: '7' });
  });

  test('are null where there are none', () => {
    expect(readStructured(markup('<meta name="description" content="x">'))).toEqual({
      jsonLd: [],
      microdata: [],
      openGraph: null,
      twitter: null,
      isCut: false,
    });
  });
});

describe('a page that says more than is read', () => {
  const block = '<script type="application/ld+json">{"@type":"Thing","name":"x"}</script>';
  const item = '<p itemscope><b itemprop=name>x</b></p>';
  test.each([
    ['blocks of JSON-LD', block.repeat(101), 100, 0],
    [
      'things of JSON-LD',
      `<script type="application/ld+json">[${'{"name":"x"},'.repeat(5_000)}{"name":"y"}]</script>`,
      5_000,
      0,
    ],
    ['things of microdata', item.repeat(1_001), 0, 1_000],
  ])('tells so: %s', (_what, text, jsonLd, microdata) => {
    const data = readStructured(markup(text));
    expect([data.isCut, data.jsonLd.length, data.microdata.length]).toEqual([true, jsonLd, microdata]);
  });

  test('and one that says just as much does not', () => {
    expect(readStructured(markup(block.repeat(100) + item.repeat(1_000))).isCut).toBe(false);
  });
});

describe('things of a type', () => {
  const json = (value: unknown): string => `<script type="application/ld+json">${JSON.stringify(value)}</script>`;

  test('are found within others, with what is named by its id filled in', () => {
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

  test('that name each other do not go on for ever', () => {
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
