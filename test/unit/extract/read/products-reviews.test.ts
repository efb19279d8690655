import { describe, expect, test } from 'vitest';
import { decimalOf, readProducts } from '../../../../src/extract/read/products.ts';
import { readReviews } from '../../../../src/extract/read/reviews.ts';
import { readStructured } from '../../../../src/extract/read/structured.ts';
import { markup, page } from '../../../support/pages.ts';

const BASE = 'https://shop.example/cups/';
const json = (value: unknown): ReturnType<typeof readStructured> =>
  readStructured(markup(`<script type="application/ld+json">${JSON.stringify(value)}</script>`));

describe('decimalOf', () => {
  test.each([
    ['12.5', '12.5'],
    ['€ 1.299,00', '1299.00'],
    ['1,299.00 USD', '1299.00'],
    ['1 299', '1299'],
    ['1,299', '1299'],
    ['1.299', '1.299'],
    ['12,5', '12.5'],
    ['1.234.567', '1234567'],
    ['0', '0'],
    ['free', null],
    ['', null],
    [null, null],
  ])('decimalOf converts the price %s', (text, price) => expect(decimalOf(text)).toBe(price));
});

describe('readProducts', () => {
  test('readProducts reads microdata', () => {
    expect(readProducts(readStructured(page('structured/microdata.page')), BASE)).toEqual([
      {
        name: 'Blue cup',
        url: 'https://shop.example/cups/blue?size=m',
        description: null,
        sku: '4006381333931',
        gtin: '4006381333931',
        brand: null,
        price: '12.50',
        priceMax: '12.50',
        currency: null,
        availability: 'in_stock',
        imageUrl: 'https://shop.example/cups/cup-1.jpg',
        rating: 4.5,
        reviewCount: 12,
      },
    ]);
  });

  test('a product with several offers and variants has the lowest and the highest price', () => {
    const offers = [
      { '@type': 'Offer', price: 30, priceCurrency: 'eur', availability: 'OutOfStock' },
      { '@type': 'AggregateOffer', lowPrice: '9,50', highPrice: '120.00', availability: 'http://schema.org/InStock' },
    ];
    const [product] = readProducts(
      json({ '@type': 'Product', name: 'Cup &amp; saucer', offers, brand: { name: 'B' } }),
      BASE,
    );
    expect(product).toMatchObject({
      name: 'Cup & saucer',
      price: '9.50',
      priceMax: '120.00',
      currency: 'EUR',
      availability: 'in_stock',
      brand: 'B',
    });
    const group = json({
      '@type': 'ProductGroup',
      name: 'G',
      hasVariant: [
        { sku: 'a', offers: { price: '2' } },
        { sku: 'b', offers: { price: '1' } },
      ],
    });
    expect(readProducts(group, BASE)[0]).toMatchObject({ name: 'G', sku: 'a', price: '1', priceMax: '2' });
  });

  test('invalid values of a product become null, and a product without a name is omitted', () => {
    const odd = {
      '@type': 'Product',
      name: 'X',
      offers: 'none',
      gtin: 'n/a',
      image: 5,
      aggregateRating: [{ ratingValue: 'good' }],
      sku: {},
    };
    expect(readProducts(json(odd), BASE)[0]).toMatchObject({
      price: null,
      gtin: null,
      rating: null,
      sku: null,
      availability: null,
    });
    expect(readProducts(json({ '@type': 'Product', sku: '1', offers: {} }), BASE)).toEqual([]);
  });
});

test('reviews have their subject, and reviews without text and rating are omitted', () => {
  const data = json({
    '@type': 'Restaurant',
    name: 'Harbour Café',
    review: [
      {
        '@type': 'Review',
        author: { name: 'Ada' },
        reviewRating: { ratingValue: '4,5', bestRating: 10 },
        reviewBody: 'Good &amp; warm',
        datePublished: '2026-01-02',
        name: 'Soup',
      },
      { '@type': 'Review', author: 'Ben', description: 'Fine', reviewRating: { ratingValue: 3 } },
      { '@type': 'Review', author: 'Cy', datePublished: '2026-01-02' },
    ],
  });
  expect(readReviews(data, BASE)).toEqual([
    {
      subject: 'Harbour Café',
      author: 'Ada',
      rating: 4.5,
      bestRating: 10,
      title: 'Soup',
      text: 'Good & warm',
      publishedAt: '2026-01-02T00:00:00Z',
      url: null,
    },
    {
      subject: 'Harbour Café',
      author: 'Ben',
      rating: 3,
      bestRating: 5,
      title: null,
      text: 'Fine',
      publishedAt: null,
      url: null,
    },
  ]);
});
