import type { JsonObject } from '../../src/extract/base/connector.ts';
import { LARGE_PAGES, json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

/**
 * A storefront. Shapes: `products.json` as storefronts publish it (the fields of the Product resource of the Admin reference, with
 * tags as a list and `available` on variants); `search/suggest.json`: Ajax API, "Predictive Search API reference".
 */
export function shopifyWorld(records: number): World {
  return ({ url: text }) => {
    const url = new URL(text);
    if (url.pathname === '/search/suggest.json') {
      const size = Math.min(10, numberIn(url, 'resources[limit]', 10));
      return json({ resources: { results: { products: many(Math.min(size, records), suggestion) } } });
    }
    if (!['/products.json', '/collections/tea-time/products.json'].includes(url.pathname)) return null;
    const size = Math.min(250, numberIn(url, 'limit', 30));
    const number = numberIn(url, 'page', 1);
    return json({ products: many(records, product).slice((number - 1) * size, number * size) });
  };
}

function product(place: number): JsonObject {
  return {
    id: 4748985237000 + place,
    title: `Cup ${place}`,
    handle: `cup-${place}`,
    body_html: '<p>Holds 0.3&nbsp;l.</p>',
    published_at: '2024-03-01T10:00:00+01:00',
    created_at: '2024-02-20T15:00:00+01:00',
    updated_at: '2024-05-11T09:45:00+02:00',
    vendor: 'Example Pottery',
    product_type: 'Cups',
    tags: ['kitchen', 'tea'],
    variants: [
      { id: 12, title: 'Blue', sku: 'CUP-B', price: '14.00', compare_at_price: '16.00', available: false },
      { id: 11, title: 'White', sku: '', price: '9.50', compare_at_price: null, available: true },
    ],
    images: [{ id: 1, src: 'https://cdn.shopify.com/s/files/1/0001/cup.jpg', position: 1 }],
    options: [{ name: 'Colour', position: 1, values: ['Blue', 'White'] }],
  };
}

function suggestion(place: number): JsonObject {
  return {
    available: true,
    body: '<p>Holds 0.3 l.</p>',
    compare_at_price_max: '0.00',
    compare_at_price_min: '0.00',
    handle: `cup-${place}`,
    id: 4748985237000 + place,
    image: 'https://cdn.shopify.com/s/files/1/0001/cup.jpg',
    price: '9.50',
    price_max: '14.00',
    price_min: '9.50',
    tags: ['kitchen'],
    title: `Cup ${place}`,
    type: 'Cups',
    url: `/products/cup-${place}?_pos=1`,
    variants: [],
    vendor: 'Example Pottery',
    featured_image: { alt: 'A cup', url: 'https://cdn.shopify.com/s/files/1/0001/cup.jpg' },
  };
}

const COMMON = {
  connector: 'shopify',
  world: shopifyWorld,
  paging: 'cursor',
  announcesTotal: false,
  sizeAsked: sizeIn('limit'),
  hostIn: 'site',
  largeCount: LARGE_PAGES,
} as const;

export const shopifyCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'store.products', input: { site: 'shop.example.com' } },
  { ...COMMON, operation: 'collection.products', input: { site: 'shop.example.com', collection: 'tea-time' } },
  {
    ...COMMON,
    operation: 'search.products',
    input: { site: 'shop.example.com', query: 'cup' },
    paging: 'none',
    sizeAsked: sizeIn('resources[limit]'),
    recordsMax: 10,
  },
];
