import { describe, expect, it } from 'vitest';
import { appstore } from '../../../../src/extract/connectors/appstore.ts';
import { woocommerce } from '../../../../src/extract/connectors/woocommerce.ts';
import { appstoreWorld } from '../../../sources/appstore.ts';
import { json } from '../../../sources/source-case.ts';
import { woocommerceWorld } from '../../../sources/woocommerce.ts';
import { operationNamed, ran } from './operation-runs.ts';

const SHOP = { site: 'shop.example.com' };
const APP = { app: 284_910_350, country: 'us' };

describe('woocommerce', () => {
  it('woocommerce reads a complete product', async () => {
    const { fields } = await ran(operationNamed(woocommerce, 'store.products'), SHOP, woocommerceWorld(2));
    expect(fields[0]).toEqual({
      id: '34',
      url: 'https://shop.example.com/product/tea-cup-0/',
      handle: 'tea-cup-0',
      title: 'Tea & cup',
      sku: null,
      product_type: 'variable',
      parent_id: null,
      variation: null,
      excerpt: 'For tea.',
      text: 'Holds 0.3 l.',
      html: '<p>Holds 0.3 l.</p>',
      price: { amount: '12.50', currency: 'EUR' },
      price_max: { amount: '14.00', currency: 'EUR' },
      regular_price: { amount: '15.00', currency: 'EUR' },
      is_on_sale: true,
      available: true,
      rating: 4.5,
      reviews: 12,
      categories: ['Cups & more'],
      tags: ['tea'],
      brands: [],
      attributes: [{ name: 'Colour', values: ['Blue', 'White'] }],
      variations: [
        { id: '35', options: 'Colour: blue' },
        { id: '36', options: 'Colour: any' },
      ],
      image_url: 'https://shop.example.com/wp-content/uploads/cup.jpg',
      image_urls: ['https://shop.example.com/wp-content/uploads/cup.jpg'],
    });
    expect(fields[1]).toMatchObject({ rating: null, reviews: 0, brands: null, price_max: null });
  });

  it.each([
    ['1250', 2, '12.50'],
    ['5', 2, '0.05'],
    ['0', 2, '0.00'],
    ['1025', 0, '1025'],
    ['1234567', 3, '1234.567'],
    ['999999999999999', 2, '9999999999999.99'],
    ['', 2, null],
    ['12.50', 2, null],
    ['-5', 2, null],
    ['1250', -1, null],
    ['1250', 100, null],
    ['1250', null, null],
  ])('woocommerce reads %j with %j decimals as %j', async (price, decimals, amount) => {
    const item = {
      id: 1,
      permalink: 'https://shop.example.com/p/1',
      prices: { price, currency_minor_unit: decimals, currency_code: 'JPY' },
    };
    const { fields } = await ran(operationNamed(woocommerce, 'store.products'), SHOP, () => json([item]));
    expect(fields[0]?.['price']).toEqual(amount === null ? null : { amount, currency: 'JPY' });
  });

  it('woocommerce reads the variations of a product, each with the product that it belongs to', async () => {
    const input = { ...SHOP, product: 34 };
    const { fields, source } = await ran(operationNamed(woocommerce, 'product.variations'), input, woocommerceWorld(3));
    expect(fields.map(({ parent_id, variation }) => [parent_id, variation])).toEqual(
      Array.from({ length: 3 }, () => ['34', 'Colour: Blue']),
    );
    const asked = new URL(source.urls[0] ?? '').searchParams;
    expect([asked.get('type'), asked.get('parent')]).toEqual(['variation', '34']);
  });

  it('woocommerce reads categories with the category that each is part of', async () => {
    const { fields } = await ran(operationNamed(woocommerce, 'store.categories'), SHOP, woocommerceWorld(2));
    expect(fields).toEqual([
      {
        id: '16',
        url: 'https://shop.example.com/product-category/cups-0/',
        handle: 'cups-0',
        title: 'Cups & more',
        text: 'For tea.',
        parent_id: null,
        products: 11,
        image_url: 'https://shop.example.com/wp-content/uploads/cups.jpg',
      },
      expect.objectContaining({ id: '17', parent_id: '16', image_url: null }),
    ]);
  });

  it('woocommerce uses rest_route on sites without URL rewriting, and remembers that', async () => {
    const does = operationNamed(woocommerce, 'store.products');
    const { records, source } = await ran(does, SHOP, woocommerceWorld(150, { isPlain: true }));
    expect(records).toHaveLength(150);
    expect(source.urls.map((url) => new URL(url).searchParams.get('rest_route'))).toEqual([
      null,
      '/wc/store/v1/products',
      '/wc/store/v1/products',
    ]);
  });

  it('woocommerce requests smaller pages where a store accepts none of 100', async () => {
    const does = operationNamed(woocommerce, 'store.products');
    const { records, source } = await ran(does, SHOP, woocommerceWorld(120, { sizeMax: 50 }));
    expect(records).toHaveLength(120);
    expect(source.urls.map((url) => new URL(url).searchParams.get('per_page'))).toEqual(['100', '50', '50', '50']);
  });
});

describe('appstore', () => {
  it('appstore reads a complete review; its address is that of the reviews of the app', async () => {
    const { fields } = await ran(operationNamed(appstore, 'app.reviews'), APP, appstoreWorld(1));
    expect(fields).toEqual([
      {
        id: '11230000001',
        url: 'https://apps.apple.com/us/app/id284910350?see-all=reviews',
        app_id: '284910350',
        country: 'us',
        author: { name: 'Mira', url: 'https://itunes.apple.com/us/reviews/id100' },
        rating: 4,
        title: 'Good tea',
        text: 'It boils.',
        version: '2.0',
        updated_at: '2024-05-02T08:00:00Z',
        votes: 3,
        helpful_votes: 2,
      },
    ]);
  });

  it('appstore goes on after an empty page between others, and not after two of them', async () => {
    const does = operationNamed(appstore, 'app.reviews');
    const gap = await ran(does, APP, appstoreWorld(200, { emptyPage: 2 }));
    expect(gap.records).toHaveLength(150);
    const few = await ran(does, APP, appstoreWorld(60));
    expect(few.source.urls).toHaveLength(4);
    const without = await ran(does, APP, appstoreWorld(0));
    expect(without.source.urls).toHaveLength(1);
  });

  it('appstore reads at most the ten pages that the feed has', async () => {
    const { records, source } = await ran(operationNamed(appstore, 'app.reviews'), APP, appstoreWorld(900));
    expect([records.length, source.urls.length]).toEqual([500, 10]);
  });

  it('appstore gives no record of the app, which some feeds have before its reviews', async () => {
    const { records } = await ran(operationNamed(appstore, 'app.reviews'), APP, appstoreWorld(2, { hasApp: true }));
    expect(records.map(({ id }) => id)).toEqual(['11230000001', '11230000002']);
  });
});
