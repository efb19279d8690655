import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { address, parseSite } from '../../../../../src/extract/connectors/kit/api-address.ts';
import { nextQuery } from '../../../../../src/extract/connectors/kit/link-header.ts';
import { leastCpuMs } from '../../../../support/cpu-time.ts';
import { ANY_CHARACTER } from '../../../../support/any-text.ts';

describe('parseSite', () => {
  it.each([
    ['example.com', 'https://example.com'],
    ['Example.COM:8443/Blog/', 'https://example.com:8443/Blog'],
    [' http://example.com/?page=2#top ', 'http://example.com'],
    ['https://example.com/a/../b', 'https://example.com/b'],
    ['bücher.example', 'https://xn--bcher-kva.example'],
    ['localhost:8080', 'https://localhost:8080'],
  ])('parseSite(%j) returns %s', (text, url) => expect(parseSite(text)).toEqual({ kind: 'site', url }));

  it.each([
    '',
    '/etc/passwd',
    '//example.com',
    'ftp://example.com',
    'javascript:alert(1)',
    'javascript:1',
    'tel:5/6',
    'example.com:0',
    'http://example.com:0/blog',
    'file:///etc/passwd',
    'https://',
    'https://user:secret@example.com',
    'user@example.com',
    'https://example.com\\@evil.example',
    'exa mple.com',
    'example.com\nevil.example',
    'https://[::1',
    `example.com/${'x'.repeat(900)}`,
  ])('parseSite rejects %j', (text) => expect(parseSite(text).kind).toBe('fault'));

  it('parseSite returns an absolute URL without user info, query and fragment for any input', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl({ withFragments: true, withQueryParameters: true })), (text) => {
        const site = parseSite(text);
        if (site.kind === 'fault') return;
        const url = new URL(site.url);
        expect([url.protocol === 'http:' || url.protocol === 'https:', url.username, url.search, url.hash]).toEqual([
          true,
          '',
          '',
          '',
        ]);
      }),
      { seed: 7 },
    );
  });
});

describe('address', () => {
  it('address encodes names and values, and omits null parameters', () => {
    const url = address('https://example.com/blog/', ['a/b', 'ü?#'], { q: 'x & y', page: 2, none: null });
    expect(url).toBe('https://example.com/blog/a%2Fb/%C3%BC%3F%23?q=x+%26+y&page=2');
  });

  it('address stays under its base URL, whatever the names are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: ANY_CHARACTER }), fc.constantFrom('..', '.', '', '%2e%2e', '\uD800')), {
          minLength: 1,
          maxLength: 4,
        }),
        (names) => {
          const isNameless = names.some((name) => ['', '.', '..'].includes(name));
          if (isNameless) {
            expect(() => address('https://example.com/blog', names)).toThrow('is not a valid name');
            return;
          }
          const url = new URL(address('https://example.com/blog', names));
          expect(url.origin).toBe('https://example.com');
          expect(url.pathname.split('/').slice(0, 2)).toEqual(['', 'blog']);
          // `%2e%2e` in a name is encoded once more and therefore stays a name.
          expect(url.pathname.split('/')).toHaveLength(2 + names.length);
        },
      ),
      { seed: 7 },
    );
  });
});

describe('nextQuery', () => {
  it.each([
    [
      '<https://x.example/a?page=2&per_page=5>; rel="next", <https://x.example/a?page=9>; rel="last"',
      'page=2&per_page=5',
    ],
    ['<https://x.example/a?max_id=5>; rel=next', 'max_id=5'],
    ['</a?cursor=x%2Cy>; title="a, b"; rel="prev next"', 'cursor=x%2Cy'],
    ['<https://x.example/a?page=1>;rel="prev",<https://x.example/a?page=3>;rel="next"', 'page=3'],
  ])('nextQuery returns the query for the Link header %s: %s', (header, query) =>
    expect(nextQuery(header)?.toString()).toBe(query),
  );

  it.each([
    undefined,
    '',
    'x',
    '<a>; rel="prev"',
    '<https://x.example/?a>; rel="nextish"',
    `<${'x'.repeat(9_000)}>; rel="next"`,
  ])('nextQuery returns null for the Link header %j', (header) => expect(nextQuery(header)).toBeNull());

  it('nextQuery takes only a moment for any header', () => {
    const ms = leastCpuMs(500, () => {
      for (const part of ['<', '<>;', ';rel=', '<>; a="', ' ', '<>;a=b;']) nextQuery(part.repeat(8_192 / part.length));
    });
    expect(ms).toBeLessThan(500);
  });
});
