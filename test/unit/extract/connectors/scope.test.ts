import { describe, expect, test } from 'vitest';
import { parseAddress } from '../../../../src/extract/connectors/generic/page-address.ts';
import { fits, isOfSite, isWanted, movedScope, scopeOf } from '../../../../src/extract/connectors/generic/scope.ts';
import { linkAddressOf } from '../../../../src/extract/read/urls.ts';
import { leastCpuMs } from '../../../support/cpu-time.ts';

describe('parseAddress', () => {
  test.each([
    ['https://x.example/a?b=1#c', 'https://x.example/a?b=1#c'],
    [' x.example ', 'https://x.example/'],
    ['x.example:8080/a', 'https://x.example:8080/a'],
    ['localhost:3000', 'https://localhost:3000/'],
  ])('parseAddress accepts %s', (url, read) => expect(parseAddress({ url })).toEqual({ kind: 'url', url: read }));

  test.each([
    '',
    'ftp://x.example/',
    'javascript:alert(1)',
    'javascript:1',
    'tel:5?a=b',
    'x.example:0',
    'http://x.example:0/',
    'https://',
    'https://me:secret@x.example/',
    `x.example/${'a'.repeat(800)}`,
  ])('parseAddress rejects %s', (url) => expect(parseAddress({ url }).kind).toBe('fault'));
});

describe('fits', () => {
  test.each([
    ['/blog/one', '/blog', true],
    ['/blog/one', '/news', false],
    ['/blog/one', '/blog/*', true],
    ['/a/b/c', '/a/*/c', true],
    ['/a/b/d', '/a/*/c', false],
    ['/a?page=2', '*page=*', true],
    ['/a.pdf', '*.pdf', true],
    ['/a.pdf.html', '*.pdf', false],
    ['/aa', '/a*a', true],
    ['/a', '/a*a', false],
    ['/(a+)+$', '/(a+)+$', true],
  ])('the path %s compared with the pattern %s: %s', (path, pattern, fitting) =>
    expect(fits(path, pattern)).toBe(fitting),
  );

  test('fits runs in linear time', () => {
    const ms = leastCpuMs(100, () => {
      expect(fits(`/${'a'.repeat(800)}`, `${'*a'.repeat(30)}b`)).toBe(false);
    });
    expect(ms).toBeLessThan(100);
  });
});

describe('Scope', () => {
  const scope = scopeOf('https://www.site.example/docs/intro', { include: ['/docs/a'], exclude: ['*private*'] }, false);

  test('a scope consists of the host, with or without www, and the folder', () => {
    expect(isWanted('https://site.example/docs/a1', scope)).toBe(true);
    expect(isWanted('https://site.example/docs/b', scope)).toBe(false);
    expect(isOfSite(linkAddressOf('https://site.example/docs/b'), scope)).toBe(true);
    for (const other of [
      'https://site.example/docs',
      'https://blog.site.example/docs/a',
      'https://site.example.evil/docs/a',
      'https://site.example:8443/docs/a',
      'https://site.example/docs/a/private',
    ])
      expect([other, isWanted(other, scope)]).toEqual([other, false]);
  });

  test('a scope includes subdomains if requested', () => {
    const wide = scopeOf('https://shop.site.co.uk/', { subdomains: true }, false);
    expect(isWanted('https://blog.site.co.uk/x', wide)).toBe(true);
    expect(isWanted('https://other.co.uk/x', wide)).toBe(false);
  });

  test('a scope excludes files and links that lead deeper into themselves forever', () => {
    const all = scopeOf('https://site.example/', {}, false);
    expect(isOfSite(linkAddressOf('https://site.example/a.PDF'), all)).toBe(false);
    expect(isOfSite(linkAddressOf('https://site.example/a/b/a/b/a/b/a/b'), all)).toBe(false);
    expect(isOfSite(linkAddressOf('https://site.example/a/b/a/b/a/b'), all)).toBe(true);
  });

  test('a scope moves with a redirect of the start page', () => {
    const begun = scopeOf('https://old.example/docs/', {}, false);
    expect(movedScope(begun, 'https://old.example/docs/', 'https://new.example/en/docs/')).toMatchObject({
      site: 'new.example',
      prefix: '/en/docs/',
    });
    expect(movedScope(begun, 'https://old.example/docs/', 'https://old.example/docs/start')).toEqual(begun);
  });
});
