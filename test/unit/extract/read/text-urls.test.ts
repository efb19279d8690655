import { describe, expect, test } from 'vitest';
import { languageTag, orNull, wordCount } from '../../../../src/extract/read/page-text.ts';
import {
  absoluteUrl,
  linkAddressOf,
  createLinkReader,
  normalisedAddress,
  normalisedUrl,
} from '../../../../src/extract/read/urls.ts';

test('words are counted in scripts with and without spaces', () => {
  expect(wordCount('Don’t count, well-known 3.5 times — or so.')).toBe(7);
  expect(wordCount('日本語 text')).toBe(4);
  expect(wordCount('')).toBe(0);
});

test('language tags are converted to canonical form, and invalid ones become null', () => {
  expect(['en_us', 'DE', 'zh-hant-tw', 'pt-BR'].map(languageTag)).toEqual(['en-US', 'de', 'zh-Hant-TW', 'pt-BR']);
  expect(['', 'english', 'e', 'en-', 'x-default', null].map(languageTag)).toEqual(
    Array.from({ length: 6 }, () => null),
  );
});

test('words of ASCII text are counted like those of any other text', () => {
  // The multiplication sign is not a word, and makes the text non-ASCII.
  for (const text of ["'it's", 'a..b -c- 3.5', " .'- ", 'x', '-', 'a-b\n\tc', '\0a\x7Fb', 'A1,b2;c3 (d)'])
    expect([text, wordCount(text)]).toEqual([text, wordCount(`${text} ×`)]);
});

test('an empty text becomes null, and a long one is truncated', () => {
  expect([orNull('  '), orNull(undefined), orNull('abc', 2)]).toEqual([null, null, 'ab']);
});

describe('absoluteUrl', () => {
  const base = 'https://site.example/dir/page?x=1';
  test.each([
    ['a b', 'https://site.example/dir/a%20b'],
    ['?y=2', 'https://site.example/dir/page?y=2'],
    ['//other.example', 'https://other.example/'],
    ['HTTPS://ÖKO.example:443/ä', 'https://xn--ko-eka.example/%C3%A4'],
    ['http://user:secret@x.example/', 'http://x.example/'],
  ])('absoluteUrl resolves %s', (link, url) => expect(absoluteUrl(link, base)).toBe(url));

  test.each([
    'javascript:alert(1)',
    'mailto:a@b',
    'data:,x',
    'ftp://x/',
    'http://',
    'http://[',
    `/${'x'.repeat(3_000)}`,
  ])('absoluteUrl returns null for %s', (link) => expect(absoluteUrl(link, base)).toBeNull());
});

describe('createLinkReader', () => {
  const links = [
    '/',
    '/a',
    '/a/',
    '/a/b.html',
    '/a//b',
    '//x.example/a',
    '/.',
    '/..',
    '/a/../b',
    '/a/./b',
    '/a/.hidden',
    '/a%20b',
    '/a b',
    '/ä',
    '/a?b=1',
    '/a?',
    '/a#c',
    '/a\\b',
    '/a;b=1',
    '/~me/',
    ' /trimmed ',
    '/a\n/b',
    '',
    'a',
    '?',
    '#',
    'https://site.example:8443',
    'https://site.example:8443/',
    'https://site.example:8443/a/b',
    'javascript:1',
    'https://site.example:8443.evil/a',
    'https://site.example/a',
    'HTTPS://SITE.example:8443/a',
    '/-',
    '/_/x-y_z.1',
    `/${'x'.repeat(2_015)}`,
    `/${'x'.repeat(2_040)}`,
    `/${'x'.repeat(3_000)}`,
  ];
  const bases = [
    'https://site.example:8443/dir/page?x=1',
    'http://x.example',
    'http://user:secret@site.example/',
    'about:blank',
  ];
  test.each(bases)('createLinkReader returns the same as absoluteUrl for the base %s', (base) => {
    const read = createLinkReader(base);
    for (const link of links) {
      const url = absoluteUrl(link, base);
      expect([link, read(link)]).toEqual([link, url === null ? null : linkAddressOf(url)]);
      const address = read(link);
      if (address !== null) expect(normalisedAddress(address)).toBe(normalisedUrl(address.href));
    }
    expect(read(null)).toBeNull();
  });
});

test('all URLs of one page have the same normalised form', () => {
  expect(normalisedUrl('https://x.example/a?utm_source=m&b=1&fbclid=2#part')).toBe('https://x.example/a?b=1');
  expect(normalisedUrl('https://x.example/a?')).toBe('https://x.example/a');
  expect(normalisedUrl('https://x.example/a?b=%20&c')).toBe('https://x.example/a?b=%20&c');
});

test.each([
  ['https://x.example/a;jsessionid=0A1B2C3D4E5F?b=1', 'https://x.example/a?b=1'],
  ['https://x.example/a;JSESSIONID=0A1B.node1/b;v=1', 'https://x.example/a/b;v=1'],
  ['https://x.example/t.php?f=2&sid=0123456789abcdef0123456789abcdef', 'https://x.example/t.php?f=2'],
  ['https://x.example/?PHPSESSID=abc123', 'https://x.example/'],
  ['https://x.example/a?b=1&CFID=12&CFTOKEN=99', 'https://x.example/a?b=1'],
  ['https://x.example/(S(lit3py55t21z5v55vlm25s55))/a.aspx', 'https://x.example/a.aspx'],
])('a session id makes no other page: %s', (url, page) => expect(normalisedUrl(url)).toBe(page));

test.each([
  'https://x.example/a?sid=12',
  'https://x.example/search?s=tea',
  'https://x.example/a;v=1',
  'https://x.example/wiki/Tea_(drink)/(S(1))/x',
  'https://x.example/session?id=0123456789abcdef0123456789abcdef',
])('a parameter that is no session id stays: %s', (url) => expect(normalisedUrl(url)).toBe(url));
