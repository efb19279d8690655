import { expect, test } from 'vitest';
import { detectPlatform } from '../../../../src/extract/read/platform.ts';
import { markup, page } from '../../../support/pages.ts';

test('WordPress is detected by its link, its header or its generator', () => {
  const wordpress = { kind: 'wordpress', currency: null };
  expect(detectPlatform(page('platform/wordpress.page'))).toEqual({
    ...wordpress,
    apiBase: 'https://wp.example/blog/wp-json/',
  });
  const headers = { link: '<https://a.example/>; rel="x", <https://site.example/api/>; rel="https://api.w.org/"' };
  expect(detectPlatform(markup(''), headers)).toEqual({ ...wordpress, apiBase: 'https://site.example/api/' });
  const generator = markup('<meta name="Generator" content="WordPress 6.1">');
  expect(detectPlatform(generator)).toEqual({ ...wordpress, apiBase: 'https://site.example/wp-json/' });
});

test('Shopify is detected with its currency, or by headers without it', () => {
  expect(detectPlatform(page('platform/shopify.page', 'https://cups.example/a/b'))).toEqual({
    kind: 'shopify',
    apiBase: 'https://cups.example/',
    currency: 'GBP',
  });
  expect(detectPlatform(markup(''), { 'x-shopid': '1' })).toMatchObject({ kind: 'shopify', currency: null });
});

test('MediaWiki and Discourse are detected in their folders', () => {
  expect(detectPlatform(page('platform/mediawiki.page'))).toMatchObject({
    kind: 'mediawiki',
    apiBase: 'https://wiki.example/w/api.php',
  });
  expect(detectPlatform(page('platform/discourse.page'))).toMatchObject({
    kind: 'discourse',
    apiBase: 'https://site.example/forum/',
  });
});

test('no platform is detected on a page that only mentions them', () => {
  expect(detectPlatform(markup('<p>We moved from WordPress to Shopify. <a href="/wp-json/">api</a></p>'))).toBeNull();
});
