import { describe, expect, test } from 'vitest';
import { readLinks } from '../../../../src/extract/read/links.ts';
import { readMeta } from '../../../../src/extract/read/meta.ts';
import { markup, page } from '../../../support/pages.ts';

describe('readLinks', () => {
  const links = readLinks(page('links/links.page', 'https://site.example/dir/page'));

  test('links are absolute http or https URLs without duplicates', () => {
    expect(links.map(({ url }) => url)).toEqual([
      'https://site.example/docs/intro',
      'http://other.example/Path',
      'https://cdn.example/x',
      'https://site.example/pics',
      'https://site.example/label',
      'http://host.example/',
      'https://site.example/area',
    ]);
  });

  test('a link has its visible text, or a replacement for it', () => {
    expect(links.map(({ text }) => text)).toEqual([
      'Introduction first',
      'other',
      'paid',
      'Pictures',
      'Labelled',
      'credentials',
      'Area',
    ]);
  });

  test('a link reports whether the page endorses it', () => {
    expect(links[1]).toMatchObject({ rel: ['nofollow', 'noopener'], nofollow: true });
    expect(links[2]?.nofollow).toBe(true);
    expect(links[0]).toMatchObject({ rel: [], nofollow: false });
  });
});

describe('readMeta', () => {
  test('the title is that of the page and not that of a drawing', () => {
    expect(readMeta(markup('<svg><title>icon</title></svg><title> The\n page </title>')).title).toBe('The page');
    expect(readMeta(markup('<title> </title><meta property="og:title" content="Open"><h1>Head</h1>')).title).toBe(
      'Open',
    );
    expect(readMeta(markup('<h1>Head <b>line</b></h1>')).title).toBe('Head line');
  });

  test.each([
    ['Harbour - Coast wiki', 'Harbour'],
    ['Coast | Harbour', 'Harbour'],
    ['Harbour-master - Coast wiki', 'Harbour-master - Coast wiki'],
    ['Harbour master', 'Harbour master'],
    ['Boats – Coast wiki', 'Boats – Coast wiki'],
  ])('the title “%s” with the heading “Harbour” becomes “%s”', (title, own) => {
    expect(readMeta(markup(`<title>${title}</title><h1></h1><h1>Harbour</h1>`)).title).toBe(own);
  });

  test('the language is found in each of its possible places', () => {
    expect(readMeta(markup('<html lang="pt-br">')).language).toBe('pt-BR');
    expect(readMeta(markup('<html lang="??"><meta property="og:locale" content="en_GB">')).language).toBe('en-GB');
    expect(readMeta(markup('<p>none')).language).toBeNull();
  });

  test('the canonical URL is absolute', () => {
    expect(readMeta(markup('<link rel="Canonical" href="/c">')).canonicalUrl).toBe('https://site.example/c');
    expect(readMeta(markup('<link rel="canonical" href="javascript:x">')).canonicalUrl).toBeNull();
  });

  test.each([
    ['', '', false, false],
    ['<meta name="ROBOTS" content="NoIndex, follow">', '', true, false],
    ['<meta name="robots" content="none">', '', true, true],
    ['<meta name="googlebot" content="noindex">', '', false, false],
    ['<meta name="gatehouse" content="nofollow">', '', false, true],
    ['', 'noindex, nofollow', true, true],
    ['', 'googlebot: noindex, nofollow', false, false],
    ['', 'noindex, otherbot: nofollow', true, false],
    ['', 'otherbot: noindex, gatehouse: nofollow', false, true],
    ['', 'max-snippet: 10, noindex', true, false],
  ])('the markup %s and the header "%s" request noindex %s, nofollow %s', (text, header, noindex, nofollow) => {
    expect(readMeta(markup(text), { 'x-robots-tag': header }).robots).toEqual({ noindex, nofollow });
  });
});
