import type { Connector, FoundRecord, JsonObject, JsonValue, Source } from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { plainText, textOfHtml } from '../read/html.ts';
import { address } from './kit/api-address.ts';
import { chained, type PageResult, type ChainTurn } from './kit/chain.ts';
import { at, flagOf, givenText, idOf, itemsOf, listIn, readEach, textMember, textsOf, urlOf } from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';
import { beginAt } from './kit/sites.ts';

/** Maximum `limit` of `products.json` that storefronts accept. They treat larger values as 250. */
const PAGE_SIZE_MAX = 250;
/** Source: Predictive Search API reference, `resources[limit]`. */
const SEARCH_SIZE_MAX = 10;

interface Args extends JsonObject {
  readonly site: string;
  /** The collection or the search query; null for the whole store. */
  readonly what: string | null;
}

const PRODUCT = schema.recordSchema({
  id: schema.idField('Number of the product in Shopify.'),
  url: schema.urlField('The product in the store.'),
  handle: schema.textField('Its name in URLs.'),
  title: schema.textField('As the store shows it.'),
  text: schema.textField('The description as text.'),
  html: schema.textField('The description as the store renders it.'),
  vendor: schema.textField('Brand or maker.'),
  product_type: schema.textField("Its type in the store's own classification."),
  price_min: schema.textField("Price of the cheapest variant: a decimal number in the store's currency."),
  price_max: schema.textField("Price of the most expensive variant: a decimal number in the store's currency."),
  available: schema.flagField('Whether any variant can be bought.'),
  tags: schema.textsField('Its tags in the store.'),
  image_url: schema.urlField('The first image.'),
  image_urls: schema.textsField('All images.'),
  variants: schema.objectsField('Its variants; null in searches, whose interface does not return them.', {
    id: schema.textField('Number of the variant.'),
    title: schema.textField('For example a size.'),
    sku: schema.textField("The store's own number."),
    price: schema.textField('A decimal number.'),
    compare_at_price: schema.textField('The price before a reduction.'),
    available: schema.flagField('Whether it can be bought.'),
  }),
  published_at: schema.dateField('When it was published in the store; null in searches.'),
  created_at: schema.dateField('When it was created; null in searches.'),
  updated_at: schema.dateField('When it was last changed; null in searches.'),
});

const STORE = schema.siteInput('Host name or URL of the store, for example `shop.example.com`.');

async function readList({ args, at: page, size }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const number = Number(page ?? 1);
  const path = args.what === null ? ['products.json'] : ['collections', args.what, 'products.json'];
  const { body } = await source.json(address(args.site, path, { limit: size, page: number }));
  const items = listIn(at(body, 'products'), 'products');
  return {
    kind: 'page',
    records: readEach(items, (item) => readProduct(item, args.site)),
    next: items.length >= size ? number + 1 : null,
    total: null,
  };
}

async function readSearch({ args, size }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const query = { q: args.what, 'resources[type]': 'product', 'resources[limit]': size };
  const { body } = await source.json(address(args.site, ['search', 'suggest.json'], query));
  const items = listIn(at(body, 'resources', 'results', 'products'), 'resources.results.products');
  const records = readEach(items, (item) => readProduct(item, args.site));
  return { kind: 'page', records, next: null, total: null };
}

/**
 * Reads a product of either interface: the search has `body`, `type` and prices where the list has `body_html`, `product_type` and
 * variants.
 */
function readProduct(item: JsonObject, site: string): FoundRecord | null {
  const id = idOf(item['id']);
  const handle = textMember(item['handle']);
  if (id === null || handle === null) return null;
  const url = address(site, ['products', handle]);
  const html = textMember(item['body_html']) ?? textMember(item['body']);
  const variants = Array.isArray(item['variants']) ? itemsOf(item['variants']).map(readVariant) : [];
  const prices = variants.flatMap(({ price }) => price ?? []).toSorted((a, b) => Number(a) - Number(b));
  const images = textsOf(item['images'], (image) => urlOf(at(image, 'src') ?? image, url));
  return recordOf(id, url, {
    handle,
    title: plainText(textMember(item['title'])),
    text: textOfHtml(html),
    html,
    vendor: textMember(item['vendor']),
    product_type: textMember(item['product_type']) ?? textMember(item['type']),
    price_min: prices.at(0) ?? decimalOf(item['price_min']),
    price_max: prices.at(-1) ?? decimalOf(item['price_max']),
    available: flagOf(item['available']) ?? anyAvailable(variants),
    tags: tagsOf(item['tags']),
    image_url: images?.[0] ?? urlOf(item['image'], url),
    image_urls: images,
    variants: variants.length === 0 ? null : variants,
    published_at: isoDate(item['published_at']),
    created_at: isoDate(item['created_at']),
    updated_at: isoDate(item['updated_at']),
  });
}

function readVariant(variant: JsonValue) {
  return {
    id: idOf(at(variant, 'id')),
    title: textMember(at(variant, 'title')),
    sku: textMember(at(variant, 'sku')),
    price: decimalOf(at(variant, 'price')),
    compare_at_price: decimalOf(at(variant, 'compare_at_price')),
    available: flagOf(at(variant, 'available')),
  };
}

function anyAvailable(variants: readonly { readonly available: boolean | null }[]): boolean | null {
  const known = variants.flatMap(({ available }) => available ?? []);
  return known.length === 0 ? null : known.includes(true);
}

/** Prices stay strings, because binary fractions cannot represent money exactly. */
function decimalOf(value: JsonValue | undefined): string | null {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && /^\d{1,15}(?:\.\d{1,6})?$/.test(text) ? text : null;
}

/** Storefronts return a list of tags; some return one comma-separated string. */
function tagsOf(value: JsonValue | undefined): readonly string[] | null {
  if (typeof value !== 'string') return textsOf(value);
  return value.split(',').flatMap((tag) => textMember(tag.trim()) ?? []);
}

const EXAMPLE_PRODUCT = {
  id: '4748985237567',
  url: 'https://shop.example.com/products/tea-cup',
  handle: 'tea-cup',
  title: 'Tea cup',
  text: 'Holds 0.3 l.',
  html: '<p>Holds 0.3 l.</p>',
  vendor: 'Example Pottery',
  product_type: 'Cups',
  price_min: '12.50',
  price_max: '14.00',
  available: true,
  tags: ['kitchen', 'tea'],
  image_url: 'https://cdn.shopify.com/s/files/1/0001/cup.jpg',
  image_urls: ['https://cdn.shopify.com/s/files/1/0001/cup.jpg'],
  variants: [
    { id: '11', title: 'White', sku: 'CUP-W', price: '12.50', compare_at_price: null, available: true },
    { id: '12', title: 'Blue', sku: 'CUP-B', price: '14.00', compare_at_price: '16.00', available: false },
  ],
  published_at: '2024-03-01T09:00:00Z',
  created_at: '2024-02-20T14:00:00Z',
  updated_at: '2024-05-11T07:45:00Z',
};

const LIST = { record: PRODUCT, tier: 'basic', pageSizeMax: PAGE_SIZE_MAX, sizing: 'fixed', read: readList } as const;
const LIST_PAGING = 'By page number, 250 a page; the store announces no total.';

export const shopify: Connector = {
  id: 'shopify',
  title: 'Shopify',
  description:
    'Products of any store on Shopify, from the JSON that storefronts publish. Stores behind a password publish none.',
  docsUrl: 'https://shopify.dev/docs/api/ajax',
  terms: {
    termsUrl: 'https://www.shopify.com/legal/api-terms',
    attribution: null,
    ratePolicy:
      'No key; storefronts respond with 429 if they get too many requests. Requests are spaced per registrable domain.',
  },
  operations: [
    chained<Args>({
      ...LIST,
      name: 'store.products',
      description: 'All products of a store.',
      paging: LIST_PAGING,
      input: schema.inputSchema({ site: STORE }, ['site']),
      example: { input: { site: 'shop.example.com' }, record: EXAMPLE_PRODUCT },
      begin: (input) => beginAt(input, (site) => ({ site, what: null })),
    }),
    chained<Args>({
      ...LIST,
      name: 'collection.products',
      description: 'The products of one collection of a store.',
      paging: LIST_PAGING,
      input: schema.inputSchema(
        {
          site: STORE,
          collection: schema.nameInput(
            'Handle of the collection: the part of its URL after `/collections/`.',
            '^[^\\s/?#]+$',
          ),
        },
        ['site', 'collection'],
      ),
      example: { input: { site: 'shop.example.com', collection: 'tea-time' }, record: EXAMPLE_PRODUCT },
      begin: (input) => beginAt(input, (site) => ({ site, what: givenText(input, 'collection') })),
    }),
    chained<Args>({
      name: 'search.products',
      description: "The first products that a store's own search suggests for the query, at most 10.",
      paging: 'One page of at most 10; the interface has no further pages.',
      tier: 'basic',
      pageSizeMax: SEARCH_SIZE_MAX,
      sizing: 'free',
      input: schema.inputSchema({ site: STORE, query: schema.queryInput('Words to look for.') }, ['site', 'query']),
      record: PRODUCT,
      example: {
        input: { site: 'shop.example.com', query: 'tea cup' },
        record: {
          ...EXAMPLE_PRODUCT,
          image_urls: null,
          variants: null,
          published_at: null,
          created_at: null,
          updated_at: null,
        },
      },
      begin: (input) => beginAt(input, (site) => ({ site, what: givenText(input, 'query') })),
      read: readSearch,
    }),
  ],
};
