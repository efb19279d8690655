import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

const SITE = 'https://shop.example.com';

/**
 * A store. Shapes: developer.woocommerce.com, "Store API", "Products", "Product Categories", and the published schema of a product;
 * paging: "Pagination", with WordPress's headers. `isPlain`: a site without URL rewriting.
 */
export function woocommerceWorld(records: number, { isPlain = false, sizeMax = 100 } = {}): World {
  return ({ url: text }) => {
    const url = new URL(text);
    const route = isPlain ? url.searchParams.get('rest_route') : url.pathname.replace('/wp-json', '');
    if (url.pathname.startsWith('/wp-json') === isPlain) return null;
    if (route === '/wc/store/v1/products/categories') return page(url, many(records, category), sizeMax);
    if (route !== '/wc/store/v1/products') return json({ code: 'rest_no_route', data: { status: 404 } }, {}, 404);
    const isVariation = url.searchParams.get('type') === 'variation';
    if (isVariation && url.searchParams.get('parent') !== '34') return page(url, [], sizeMax);
    return page(url, many(records, isVariation ? variation : product), sizeMax);
  };
}

function page(url: URL, all: readonly JsonObject[], sizeMax: number) {
  const size = numberIn(url, 'per_page', 10);
  const number = numberIn(url, 'page', 1);
  if (size > sizeMax) {
    const params = { per_page: `per_page must be between 0 (inclusive) and ${sizeMax} (inclusive)` };
    return json({ code: 'rest_invalid_param', data: { status: 400, params } }, {}, 400);
  }
  const headers = { 'x-wp-total': String(all.length), 'x-wp-totalpages': String(Math.ceil(all.length / size)) };
  return json(all.slice((number - 1) * size, number * size), headers);
}

const EURO = {
  currency_code: 'EUR',
  currency_symbol: '€',
  currency_minor_unit: 2,
  currency_decimal_separator: ',',
  currency_thousand_separator: '.',
  currency_prefix: '',
  currency_suffix: ' €',
};

function product(place: number): JsonObject {
  return {
    id: 34 + place,
    name: 'Tea &amp; cup',
    slug: `tea-cup-${place}`,
    parent: 0,
    type: 'variable',
    variation: '',
    permalink: `${SITE}/product/tea-cup-${place}/`,
    sku: '',
    short_description: '<p>For tea.</p>',
    description: '<p>Holds 0.3 l.</p>',
    on_sale: true,
    prices: {
      ...EURO,
      price: '1250',
      regular_price: '1500',
      sale_price: '1250',
      price_range: place % 2 === 0 ? { min_amount: '1250', max_amount: '1400' } : null,
    },
    price_html: '<span>12,50 €</span>',
    average_rating: place % 2 === 0 ? '4.50' : '0',
    review_count: place % 2 === 0 ? 12 : 0,
    images: [
      { id: 57, src: `${SITE}/wp-content/uploads/cup.jpg`, thumbnail: '', srcset: '', sizes: '', name: '', alt: '' },
    ],
    categories: [{ id: 16, name: 'Cups &amp; more', slug: 'cups', link: `${SITE}/product-category/cups/` }],
    tags: [{ id: 3, name: 'tea', slug: 'tea', link: `${SITE}/product-tag/tea/` }],
    ...(place % 2 === 0 && { brands: [] }),
    attributes: [
      {
        id: 1,
        name: 'Colour',
        taxonomy: 'pa_colour',
        has_variations: true,
        terms: [
          { id: 7, name: 'Blue', slug: 'blue' },
          { id: 8, name: 'White', slug: 'white' },
        ],
      },
    ],
    variations: [
      { id: 35, attributes: [{ name: 'Colour', value: 'blue' }] },
      { id: 36, attributes: [{ name: 'Colour', value: null }] },
    ],
    has_options: true,
    is_purchasable: true,
    is_in_stock: true,
    low_stock_remaining: null,
  };
}

function variation(place: number): JsonObject {
  return {
    ...product(1),
    id: 35 + place,
    parent: 34,
    type: 'variation',
    variation: 'Colour: Blue',
    permalink: `${SITE}/product/tea-cup/?attribute_pa_colour=blue-${place}`,
    attributes: [],
    variations: [],
  };
}

function category(place: number): JsonObject {
  return {
    id: 16 + place,
    name: 'Cups &amp; more',
    slug: `cups-${place}`,
    description: '<p>For tea.</p>',
    parent: place === 0 ? 0 : 16,
    count: 11,
    image: place === 0 ? { id: 55, src: `${SITE}/wp-content/uploads/cups.jpg` } : null,
    review_count: 2,
    permalink: `${SITE}/product-category/cups-${place}/`,
  };
}

const COMMON = {
  connector: 'woocommerce',
  world: (records: number) => woocommerceWorld(records),
  paging: 'cursor',
  sizeAsked: sizeIn('per_page'),
  hostIn: 'site',
  announcesTotal: true,
} as const;

export const woocommerceCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'store.products', input: { site: 'shop.example.com', category: 'cups', only_on_sale: true } },
  { ...COMMON, operation: 'search.products', input: { site: SITE, query: 'tea cup' } },
  { ...COMMON, operation: 'product.variations', input: { site: SITE, product: 34 } },
  { ...COMMON, operation: 'store.categories', input: { site: SITE } },
];
