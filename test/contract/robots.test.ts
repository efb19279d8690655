import { describe, expect, test } from 'vitest';
import { parseRobots, ROBOTS_BYTES_MAX, type RobotsRules } from '../../src/extract/fetch/robots-rules.ts';
import { leastCpuMs } from '../support/cpu-time.ts';

/** Titles name the sections of RFC 9309; our product token replaces that of its examples. */

const ORIGIN = 'https://www.example.com';

function rules(text: string): RobotsRules {
  return parseRobots(ORIGIN, Buffer.from(text));
}

function allows(text: string, path: string): boolean {
  return rules(text).allows(`${ORIGIN}${path}`);
}

describe('2.2.1: the User-Agent line', () => {
  const groups = `
User-agent: gatehouse
Disallow: /a

User-agent: OtherBot
Disallow: /b

User-agent: *
Disallow: /c

User-agent: Gatehouse/2.0 (the same token)
Disallow: /d
`;

  test('A User-Agent line is compared case-insensitively up to the end of the token, and groups with the same token are merged', () => {
    expect(['/a', '/b', '/c', '/d'].map((path) => allows(groups, path))).toEqual([false, true, true, false]);
  });

  test('A User-Agent line with a longer or shorter token belongs to another crawler', () => {
    expect(allows('User-agent: GatehouseNews\nDisallow: /', '/')).toBe(true);
    expect(allows('User-agent: Gate\nDisallow: /', '/')).toBe(true);
  });

  test('A User-Agent line with * applies to crawlers without a group; without it they have no rules', () => {
    expect(allows('User-agent: *\nDisallow: /x', '/x')).toBe(false);
    expect(allows('User-agent: OtherBot\nDisallow: /', '/')).toBe(true);
  });

  test('Several User-Agent lines may precede one group', () => {
    expect(allows('User-agent: OtherBot\nUser-agent: Gatehouse\nDisallow: /x', '/x')).toBe(false);
  });
});

describe('2.2.2: the Allow and Disallow lines', () => {
  const simple = 'User-agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n';

  test('The simple example of RFC 9309 is evaluated correctly', () => {
    expect(
      ['/a.gif', '/a.gif?x', '/example/', '/example', '/publications/a', '/'].map((path) => allows(simple, path)),
    ).toEqual([false, true, false, true, true, true]);
  });

  test('The longest match decides, and Allow wins when two are equally long', () => {
    const longest = 'User-agent: Gatehouse\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n';
    expect(allows(longest, '/example/page/a.gif')).toBe(true);
    expect(allows(longest, '/example/page/disallowed.gif')).toBe(false);
    expect(allows('User-agent: *\nDisallow: /p\nAllow: /p', '/p')).toBe(true);
  });

  test('Rules are case-sensitive, match from the path’s first octet, and an empty one has no effect', () => {
    expect(allows('User-agent: *\nDisallow: /A', '/a')).toBe(true);
    expect(allows('User-agent: *\nDisallow: /b', '/a/b')).toBe(true);
    expect(allows('User-agent: *\nDisallow:', '/')).toBe(true);
    expect(allows('User-agent: Gatehouse\n\nUser-agent: *\nDisallow: /x', '/x')).toBe(false);
  });

  test('Rules never disallow robots.txt itself', () => {
    expect(allows('User-agent: *\nDisallow: /', '/robots.txt')).toBe(true);
    expect(allows('User-agent: *\nDisallow: /', '/robots.txt.bak')).toBe(false);
  });

  test.each([
    ['/foo/bar?baz=quz', '/foo/bar?baz=quz'],
    ['/foo/bar?baz=http://foo.bar', '/foo/bar?baz=http%3A%2F%2Ffoo.bar'],
    ['/foo/bar?baz=http%3a%2F%2ffoo.bar', '/foo/bar?baz=http://foo.bar'],
    ['/foo/bar/ツ', '/foo/bar/%E3%83%84'],
    ['/foo/bar/%E3%83%84', '/foo/bar/%E3%83%84'],
    ['/foo/bar/%e3%83%84', '/foo/bar/ツ'],
    ['/foo/bar/%62%61%7A', '/foo/bar/baz'],
    ['/foo/bar/baz', '/foo/bar/%62%61%7A'],
    ['/a[b]|c', '/a[b]|c'],
  ])('The rule %s disallows %s, which is equivalent', (rule, path) => {
    expect(allows(`User-agent: *\nDisallow: ${rule}`, path)).toBe(false);
  });

  test('An escaped slash in a path differs from a slash', () => {
    expect(allows('User-agent: *\nDisallow: /a%2Fb', '/a/b')).toBe(true);
    expect(allows('User-agent: *\nDisallow: /a%2fb', '/a%2Fb')).toBe(false);
  });
});

describe('2.2.3: special characters', () => {
  test.each([
    ['# end of line', '/#x', '/', false],
    ['/this/path/exactly$', '', '/this/path/exactly', false],
    ['/this/path/exactly$', '', '/this/path/exactly/more', true],
    ['/this/*/exactly', '', '/this/long/path/exactly', false],
    ['/path/file-with-a-%2A.html', '', '/path/file-with-a-*.html', true],
    ['/path/file-with-a-%2A.html', '', '/path/file-with-a-%2A.html', false],
    ['/path/foo-%24', '', '/path/foo-%24', false],
  ])('The special characters in the rule %s %s are matched against %s', (rule, comment, path, allowed) => {
    const line = rule.startsWith('#') ? `Disallow: / ${rule}` : `Disallow: ${rule} # ${comment}`;
    expect(allows(`User-agent: *\n${line}`, path)).toBe(allowed);
  });
});

describe('2.2.4: other records', () => {
  test('Other records do not split a group', () => {
    const text = `User-agent: Gatehouse
Sitemap: https://www.example.com/map.xml
Host: example.com
Crawl-delay: 7
Noindex: /
User-agent: OtherBot
Disallow: /x`;
    expect(allows(text, '/x')).toBe(false);
  });

  test('Sitemap addresses are resolved to absolute ones and deduplicated', () => {
    const text =
      'Sitemap: /a.xml\nsitemap:https://cdn.example/b.xml#part\nSitemap: /a.xml\nSitemap: ftp://x/\nSitemap: http://%\n';
    expect(rules(text).sitemaps).toEqual([`${ORIGIN}/a.xml`, 'https://cdn.example/b.xml']);
  });

  test.each([
    ['User-agent: *\nCrawl-delay: 1.5', 1_500],
    ['User-agent: Gatehouse\nDisallow: /x\nCrawl-delay: 3\n\nUser-agent: *\nCrawl-delay: 9', 3_000],
    ['User-agent: *\nCrawl-delay: soon', null],
    ['User-agent: *\nCrawl-delay: -1', null],
    ['User-agent: OtherBot\nCrawl-delay: 5', null],
  ])('The Crawl-delay of %j is %j ms', (text, delay) => {
    expect(rules(text).crawlDelayMs).toBe(delay);
  });
});

describe('2.3 and 2.5: files as they are', () => {
  test('Files with a byte order mark, mixed line endings, no final line break and nonsense lines are parsed', () => {
    expect(allows('\uFEFFUser-agent: *\rDisallow: /x\r\nnonsense\n: \nDisallow /y\n  Disallow  :  /z  ', '/z')).toBe(
      false,
    );
    expect(allows('\uFEFFUser-agent: *\rDisallow: /x', '/x')).toBe(false);
  });

  test('Lines without colons are parsed as intended, and sentences are not', () => {
    const text = `User-agent Gatehouse
      Disallow /private  # the members
      Disallow\t/a:b
      Allow /private/open
      Crawl-delay 2
      Disallow everything
      Disallow /x and /y
      Allow cookies
      Sitemap https://example.com/s.xml
      Sitemap page`;
    const rules = parseRobots('https://example.com', Buffer.from(text));
    const allowed = ['/private', '/a:b', '/private/open', '/everything', '/x', '/'].map((path) =>
      rules.allows(`https://example.com${path}`),
    );
    expect(allowed).toEqual([false, false, true, true, true, true]);
    expect([rules.crawlDelayMs, rules.sitemaps]).toEqual([2_000, ['https://example.com/s.xml']]);
  });

  test('An HTML page instead of robots.txt has no rules', () => {
    expect(allows('<!doctype html><title>User-agent: *</title>\n<p>Disallow: /</p>', '/')).toBe(true);
  });

  test('Rules within the first 500 KiB apply, and rules beyond the read limit do not', () => {
    const filler = '#'.repeat(511_000);
    expect(ROBOTS_BYTES_MAX).toBeGreaterThanOrEqual(500 * 1024);
    expect(allows(`User-agent: *\n${filler}\nDisallow: /x`, '/x')).toBe(false);
    expect(allows(`User-agent: *\n${filler}${filler}\nDisallow: /x`, '/x')).toBe(true);
  });

  test('A rule that is truncated in the middle of its line is ignored', () => {
    const head = 'User-agent: *\nDisallow: /x\n';
    const cut = `${head}${'#'.repeat(ROBOTS_BYTES_MAX - head.length - 12)}\nDisallow: /private`;
    expect(cut.slice(0, ROBOTS_BYTES_MAX).endsWith('Disallow: /')).toBe(true);
    expect(allows(cut, '/y')).toBe(true);
    expect(allows(cut, '/x')).toBe(false);
  });

  test.each([
    ['wildcards', (index: number) => `/${index}${'*a'.repeat(8)}b$`],
    ['a wildcard in front of long rules', (index: number) => `/*${'a'.repeat(200)}${index}`],
    ['long rules', (index: number) => `/${'a'.repeat(1_990)}${index}`],
  ])('Rules designed to be slow by %s are checked in bounded time', (_name, pattern) => {
    let text = 'User-agent: *\n';
    for (let index = 0; text.length < 500_000; index++) text += `Disallow: ${pattern(index)}\n`;
    const parsed = rules(text);
    const allows = (): unknown => parsed.allows(`${ORIGIN}/${'a'.repeat(2_000)}`);
    expect(leastCpuMs(2_000, allows)).toBeLessThan(2_000);
  });

  test('Rules with more wildcards than the limit disallow more, never less', () => {
    let text = 'User-agent: *\nAllow: /*/open\n';
    for (let index = 0; index < 4_000; index++)
      text += `Disallow: /shop${index}/*/buy\nAllow: /shop${index}/*/buy/help\n`;
    expect(
      ['/x/open', '/shop1/a/buy', '/shop1/a/see', '/shop1/a/buy/help', '/shop3999/a/buy'].map((path) =>
        allows(text, path),
      ),
    ).toEqual([true, false, true, true, false]);
    expect(allows(text, '/shop3999/a/see')).toBe(false);
    expect(allows(text, '/other')).toBe(true);
  });
});
