import { describe, expect, test } from 'vitest';
import { languageTag, orNull, wordCount } from '../../../../src/extract/read/text.ts';
import { absoluteUrl, normalisedUrl } from '../../../../src/extract/read/urls.ts';

test('words are counted in scripts with and without spaces', () => {
  expect(wordCount('Don’t count, well-known 3.5 times — or so.')).toBe(7);
  expect(wordCount('日本語 text')).toBe(4);
  expect(wordCount('')).toBe(0);
});

test('language tags take their usual form, what is none is null', () => {
  expect(['en_us', 'DE', 'zh-hant-tw', 'pt-BR'].map(languageTag)).toEqual(['en-US', 'de', 'zh-Hant-TW', 'pt-BR']);
  expect(['', 'english', 'e', 'en-', 'x-default', null].map(languageTag)).toEqual(
    Array.from({ length: 6 }, () => null),
  );
});

test('an empty text is null, a long one is cut', () => {
  expect([orNull('  '), orNull(undefined), orNull('abc', 2)]).toEqual([null, null, 'ab']);
});

describe('a link is absolute', () => {
  const base = 'https://site.example/dir/page?x=1';
  test.each([
    ['a b', 'https://site.example/dir/a%20b'],
    ['?y=2', 'https://site.example/dir/page?y=2'],
    ['//other.example', 'https://other.example/'],
    ['HTTPS://ÖKO.example:443/ä', 'https://xn--ko-eka.example/%C3%A4'],
    ['http://user:secret@x.example/', 'http://x.example/'],
  ])('%s', (link, url) => expect(absoluteUrl(link, base)).toBe(url));

  test.each([
    'javascript:alert(1)',
    'mailto:a@b',
    'data:,x',
    'ftp://x/',
    'http://',
    'http://[',
    `/${'x'.repeat(3_000)}`,
  ])('and null for %s', (link) => expect(absoluteUrl(link, base)).toBeNull());
});

test('addresses of one page have one text', () => {
  expect(normalisedUrl('https://x.example/a?utm_source=m&b=1&fbclid=2#part')).toBe('https://x.example/a?b=1');
  expect(normalisedUrl('https://x.example/a?')).toBe('https://x.example/a');
  expect(normalisedUrl('https://x.example/a?b=%20&c')).toBe('https://x.example/a?b=%20&c');
});
