import type { Connector, FoundRecord, JsonObject, JsonValue, Operation, Source } from '../base/connector.ts';
import { plainText, textOfHtml } from '../read/html.ts';
import type { AddressQuery } from './kit/api-address.ts';
import { chained, type ChainStart, type ChainTurn, type PageResult } from './kit/chain.ts';
import {
  at,
  flagOf,
  givenText,
  idOf,
  integerOf,
  itemsOf,
  listIn,
  readEach,
  textMember,
  textsOf,
  unreadable,
  urlOf,
} from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';
import { beginAt, firstThatAnswers } from './kit/sites.ts';
import { wordpressPage, wordpressUrl } from './kit/wordpress-pages.ts';

/** Source: Store API, `per_page`. */
const PAGE_SIZE_MAX = 100;

interface Args extends JsonObject {
  readonly site: string;
  /** Whether the site has the interface at `rest_route`; null until one responds. */
  readonly byRoute: boolean | null;
  /** Page size that the site accepts, if that is smaller. */
  readonly sizeMax: number | null;
  readonly list: 'products' | 'categories';
  readonly query: { readonly [name: string]: string | boolean | null };
}

function moneyField(description: string) {
  return schema.objectField(description, {
    amount: schema.textField('A decimal number, because binary fractions cannot represent money exactly.'),
    currency: schema.textField('ISO 4217 code.'),
  });
}

const PRODUCT = schema.recordSchema({
  id: schema.idField('Number of the product, or of the variation, in its store.'),
  url: schema.urlField('The product in the store.'),
  handle: schema.textField('Its name in URLs.'),
  title: schema.textField('As the store shows it.'),
  sku: schema.textField("The store's own number."),
  product_type: schema.textField('For example `simple`, `variable`, `grouped`, `external` or `variation`.'),
  parent_id: schema.textField('Number of the product that a variation belongs to.'),
  variation: schema.textField('What distinguishes a variation, for example `Colour: Blue`.'),
  excerpt: schema.textField('The short description as text.'),
  text: schema.textField('The description as text.'),
  html: schema.textField('The description as the store renders it.'),
  price: moneyField('What it costs now; of a product with variations, the cheapest one.'),
  price_max: moneyField('Price of the most expensive variation; null if all cost the same.'),
  regular_price: moneyField('What it costs without a reduction.'),
  is_on_sale: schema.flagField('Whether its price is reduced.'),
  available: schema.flagField('Whether it is in stock.'),
  rating: schema.numberField('Mean rating, from 1 to 5; null without reviews.'),
  reviews: schema.countField('Number of reviews.'),
  categories: schema.textsField('Names.'),
  tags: schema.textsField('Names.'),
  brands: schema.textsField('Names; null in stores that have none.'),
  attributes: schema.objectsField('Its properties.', {
    name: schema.textField('For example `Colour`.'),
    values: schema.textsField('For example `Blue` and `White`.'),
  }),
  variations: schema.objectsField('Its variations, which `product.variations` reads.', {
    id: schema.textField('Number of the variation.'),
    options: schema.textField('What distinguishes it, for example `Colour: Blue, Size: any`.'),
  }),
  image_url: schema.urlField('The first image.'),
  image_urls: schema.textsField('All images.'),
});
const CATEGORY = schema.recordSchema({
  id: schema.idField('Number of the category in its store.'),
  url: schema.urlField('The category in the store.'),
  handle: schema.textField('Its name in URLs.'),
  title: schema.textField('As the store shows it.'),
  text: schema.textField('The description as text.'),
  parent_id: schema.textField('Number of the category that it is part of.'),
  products: schema.countField('Number of products.'),
  image_url: schema.urlField('Its image.'),
});

const ROUTES = {
  products: ['wc', 'store', 'v1', 'products'],
  categories: ['wc', 'store', 'v1', 'products', 'categories'],
};

async function readPage({ args, at: page, size: wanted }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const number = Number(page ?? 1);
  const asked = { size: Math.min(wanted, args.sizeMax ?? wanted), mayShrink: page === null };
  const places = args.byRoute === null ? [false, true] : [args.byRoute];
  const { byRoute, answer, size } = await firstThatAnswers(places, async (route) => {
    const place = { site: args.site, byRoute: route };
    const query = (perPage: number): AddressQuery => ({ per_page: perPage, page: number, ...args.query });
    const found = await wordpressPage(source, (one) => wordpressUrl(place, ROUTES[args.list], query(one)), asked);
    if (found.answer.status === 400) throw unreadable(`400 from ${found.url}`);
    listIn(found.answer.body, 'the list');
    return { byRoute: route, ...found };
  });
  const items = listIn(answer.body, 'the list');
  const pages = integerOf(answer.headers['x-wp-totalpages']);
  return {
    kind: 'page',
    records: readEach(items, args.list === 'products' ? readProduct : readCategory),
    next: items.length > 0 && (pages === null ? items.length >= size : number < pages) ? number + 1 : null,
    total: integerOf(answer.headers['x-wp-total']),
    args: { ...args, byRoute, sizeMax: size < wanted ? size : null },
  };
}

function readProduct(item: JsonObject): FoundRecord | null {
  const html = textMember(item['description']);
  const prices = item['prices'];
  const reviews = integerOf(item['review_count']);
  const images = textsOf(item['images'], (image) => urlOf(at(image, 'src')));
  return recordOf(idOf(item['id']), urlOf(item['permalink']), {
    handle: textMember(item['slug']),
    title: plainText(textMember(item['name'])),
    sku: textMember(item['sku']),
    product_type: textMember(item['type']),
    parent_id: parentOf(item['parent']),
    variation: plainText(textMember(item['variation'])),
    excerpt: textOfHtml(textMember(item['short_description'])),
    text: textOfHtml(html),
    html,
    price: moneyOf(prices, at(prices, 'price')),
    price_max: moneyOf(prices, at(prices, 'price_range', 'max_amount')),
    regular_price: moneyOf(prices, at(prices, 'regular_price')),
    is_on_sale: flagOf(item['on_sale']),
    available: flagOf(item['is_in_stock']),
    rating: reviews === null || reviews === 0 ? null : ratingOf(item['average_rating']),
    reviews,
    categories: namesOf(item['categories']),
    tags: namesOf(item['tags']),
    brands: namesOf(item['brands']),
    attributes: listOf(item['attributes'], (one) => ({
      name: plainText(textMember(at(one, 'name'))),
      values: namesOf(at(one, 'terms')),
    })),
    variations: listOf(item['variations'], (one) => ({
      id: idOf(at(one, 'id')),
      options: optionsOf(at(one, 'attributes')),
    })),
    image_url: images?.[0] ?? null,
    image_urls: images,
  });
}

function readCategory(item: JsonObject): FoundRecord | null {
  return recordOf(idOf(item['id']), urlOf(item['permalink']), {
    handle: textMember(item['slug']),
    title: plainText(textMember(item['name'])),
    text: textOfHtml(textMember(item['description'])),
    parent_id: parentOf(item['parent']),
    products: integerOf(item['count']),
    image_url: urlOf(at(item, 'image', 'src')),
  });
}

/** Amounts are whole numbers of the currency's smallest unit: with `currency_minor_unit` 2, `1105` is 11.05. */
function moneyOf(prices: JsonValue | undefined, amount: JsonValue | undefined): JsonObject | null {
  const digits = textMember(amount);
  const decimals = integerOf(at(prices, 'currency_minor_unit'));
  if (digits === null || !/^\d{1,15}$/.test(digits) || decimals === null || decimals < 0 || decimals > 6) return null;
  const padded = digits.padStart(decimals + 1, '0');
  const whole = padded.slice(0, padded.length - decimals);
  const currency = textMember(at(prices, 'currency_code'));
  return { amount: decimals === 0 ? whole : `${whole}.${padded.slice(-decimals)}`, currency };
}

function ratingOf(value: JsonValue | undefined): number | null {
  const text = textMember(value) ?? '';
  return /^[0-5](?:\.\d{1,6})?$/.test(text) ? Number(text) : null;
}

function parentOf(value: JsonValue | undefined): string | null {
  const id = idOf(value);
  return id === '0' ? null : id;
}

function namesOf(value: JsonValue | undefined): readonly string[] | null {
  return textsOf(value, (item) => plainText(textMember(at(item, 'name'))));
}

/** As the store writes what distinguishes a variation. Choice: one text, because lists within lists leave no room in a large record. */
function optionsOf(value: JsonValue | undefined): string | null {
  const options = textsOf(value, (option) => {
    const name = textMember(at(option, 'name'));
    return name === null ? null : `${name}: ${textMember(at(option, 'value')) ?? 'any'}`;
  });
  return options === null ? null : options.join(', ');
}

function listOf(value: JsonValue | undefined, read: (item: JsonValue) => JsonObject): readonly JsonObject[] | null {
  return Array.isArray(value) ? itemsOf(value).map(read) : null;
}

const STORE = schema.siteInput('Host name or URL of the store; with its path if it is in a folder.');
const EXAMPLE_PRODUCT = {
  id: '34',
  url: 'https://shop.example.com/product/tea-cup/',
  handle: 'tea-cup',
  title: 'Tea cup',
  sku: 'CUP',
  product_type: 'variable',
  parent_id: null,
  variation: null,
  excerpt: 'For tea.',
  text: 'Holds 0.3 l.',
  html: '<p>Holds 0.3 l.</p>',
  price: { amount: '12.50', currency: 'EUR' },
  price_max: { amount: '14.00', currency: 'EUR' },
  regular_price: { amount: '12.50', currency: 'EUR' },
  is_on_sale: false,
  available: true,
  rating: 4.5,
  reviews: 12,
  categories: ['Cups'],
  tags: ['tea'],
  brands: null,
  attributes: [{ name: 'Colour', values: ['Blue', 'White'] }],
  variations: [{ id: '35', options: 'Colour: Blue' }],
  image_url: 'https://shop.example.com/wp-content/uploads/cup.jpg',
  image_urls: ['https://shop.example.com/wp-content/uploads/cup.jpg'],
};

interface ListOf {
  readonly name: string;
  readonly description: string;
  readonly input: Parameters<typeof schema.inputSchema>;
  readonly example: Operation['example'];
  readonly list?: Args['list'];
  readonly query: (input: JsonObject) => Args['query'];
}

function listOperation({ name, description, input, example, list = 'products', query }: ListOf): Operation {
  return chained<Args>({
    name,
    description,
    input: schema.inputSchema(...input),
    record: list === 'products' ? PRODUCT : CATEGORY,
    example,
    tier: 'basic',
    paging: 'By page number, 100 a page; the store announces the total.',
    pageSizeMax: PAGE_SIZE_MAX,
    sizing: 'fixed',
    begin: (given): ChainStart<Args> =>
      beginAt(given, (site) => ({ site, byRoute: null, sizeMax: null, list, query: query(given) })),
    read: readPage,
  });
}

export const woocommerce: Connector = {
  id: 'woocommerce',
  title: 'WooCommerce',
  description: 'Products and categories of any store that runs WooCommerce, from the interface that its own pages use.',
  docsUrl: 'https://developer.woocommerce.com/docs/apis/store-api/',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy:
      'No key. Stores may limit requests, and then respond with 429. Requests are spaced per registrable domain.',
  },
  operations: [
    listOperation({
      name: 'store.products',
      description:
        'The products of a store, or of one of its categories, the newest first; variations are not among them.',
      input: [
        {
          site: STORE,
          category: schema.nameInput('Handle or number of a category.', '^[^\\s/?#,]+$'),
          only_on_sale: schema.flagInput('Only products whose price is reduced.'),
        },
        ['site'],
      ],
      example: { input: { site: 'shop.example.com' }, record: EXAMPLE_PRODUCT },
      query: (input) => ({
        category: textMember(input['category']),
        on_sale: input['only_on_sale'] === true ? true : null,
        orderby: 'date',
        order: 'desc',
      }),
    }),
    listOperation({
      name: 'search.products',
      description: "The products that a store's own search finds, the newest first.",
      input: [{ site: STORE, query: schema.queryInput('Words to look for.') }, ['site', 'query']],
      example: { input: { site: 'shop.example.com', query: 'tea cup' }, record: EXAMPLE_PRODUCT },
      query: (input) => ({ search: givenText(input, 'query'), orderby: 'date', order: 'desc' }),
    }),
    listOperation({
      name: 'product.variations',
      description: 'The variations of a product, with their prices.',
      input: [{ site: STORE, product: schema.numberInput('Number of the product in its store.') }, ['site', 'product']],
      example: {
        input: { site: 'shop.example.com', product: 34 },
        record: {
          ...EXAMPLE_PRODUCT,
          id: '35',
          url: 'https://shop.example.com/product/tea-cup/?attribute_colour=Blue',
          product_type: 'variation',
          parent_id: '34',
          variation: 'Colour: Blue',
          price_max: null,
          attributes: [],
          variations: [],
        },
      },
      query: (input) => ({ type: 'variation', parent: givenText(input, 'product'), orderby: 'id', order: 'asc' }),
    }),
    listOperation({
      name: 'store.categories',
      description: 'The categories of a store that have products.',
      input: [{ site: STORE }, ['site']],
      list: 'categories',
      example: {
        input: { site: 'shop.example.com' },
        record: {
          id: '16',
          url: 'https://shop.example.com/product-category/cups/',
          handle: 'cups',
          title: 'Cups',
          text: 'For tea and coffee.',
          parent_id: null,
          products: 11,
          image_url: null,
        },
      },
      query: () => ({}),
    }),
  ],
};
