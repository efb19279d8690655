import { describe, expect, test } from 'vitest';
import { createSiteNames } from '../../../../src/extract/read/site-names.ts';
import { readMeta } from '../../../../src/extract/read/meta.ts';
import { chooseTitle } from '../../../../src/extract/read/title.ts';
import { markup } from '../../../support/pages.ts';

const SITE = '<meta property="og:site_name" content="The Coast Courier">';

function titleOf(
  title: string,
  head: string,
  body = '',
  url = 'https://www.coastcourier.example/news/1',
): string | null {
  const page = markup(`${head}<body>${body}`, url);
  return chooseTitle(page, [title], createSiteNames(page));
}

describe("withoutSite removes the site's name", () => {
  test.each([
    ['Fog - The Coast Courier', SITE],
    ['Fog – Coast Courier', SITE],
    ['Fog | THE COAST COURIER', SITE],
    ['Fog|The Coast Courier', SITE],
    ['Fog :: coastcourier.example', ''],
    ['Fog - Coast Courier', ''],
    ['The Coast Courier » Fog', SITE],
    [
      'Fog — Bay Notes',
      '<link rel="alternate" type="application/rss+xml" title="Bay Notes &raquo; Feed" href="/feed">',
    ],
    ['Fog — Bay Notes', '<link rel="search" type="application/opensearchdescription+xml" title="Bay Notes" href="/s">'],
    ['Fog — Bay Notes', '<meta name="application-name" content="Bay Notes">'],
    ['Fog - Coast-Courier - Online', '<meta property="og:site_name" content="Coast-Courier - Online">'],
  ])("the site's name is removed from %s", (title, head) => expect(titleOf(title, head)).toBe('Fog'));

  test.each([
    ['a link to the front page', '<a href="/">Bay Notes</a>'],
    ['an image in such a link', '<a href="https://www.coastcourier.example/"><img alt="Bay Notes"></a>'],
    ['a heading that equals the rest', '<h1>Fog</h1>'],
  ])("the site's name is recognised by %s", (_what, body) => expect(titleOf('Fog - Bay Notes', '', body)).toBe('Fog'));

  test("the site's name is removed before a colon if a heading equals the rest", () => {
    expect(titleOf('The Coast Courier: Fog', SITE, '<h2>Fog</h2>')).toBe('Fog');
  });

  test("the site's name is recognised by a host name without umlauts", () => {
    expect(titleOf('Nebel - Küstenblatt', '', '', 'https://kuestenblatt.example/a')).toBe('Nebel');
  });
});

describe('withoutSite keeps what may belong to the title', () => {
  test.each([
    ['a second half that is not known to be the site', 'Brighton Rock - The Long Way Home', SITE, ''],
    ['the site within a sentence', 'Why we left The Coast Courier behind', SITE, ''],
    ['the site within a part', 'Fog - A history of The Coast Courier', SITE, ''],
    ['the site after a hyphen', 'The anti-Coast Courier', SITE, ''],
    ['the site before a colon without a matching heading', 'The Coast Courier: a history', SITE, ''],
    ['the site after a colon', 'Who reads it: The Coast Courier', SITE, ''],
    [
      'everything that is a heading',
      'A history of us - The Coast Courier',
      SITE,
      '<h1>A history of us – The Coast Courier</h1>',
    ],
    ['the name of the site alone', 'The Coast Courier', SITE, '<h1>The Coast Courier</h1>'],
    ['the host name before a separator', 'Coastcourier - what became of it', '', ''],
    ['everything if the heading is the site', 'Fog - Bay Notes', '<title>x</title>', '<h1>coastcourier.example</h1>'],
    ['a range of years', 'Lantern catalogue 1914 - 1918', SITE, ''],
  ])('the title keeps %s', (_what, title, head, body) => expect(titleOf(title, head, body)).toBe(title));

  test("the title of the front page keeps the site's name at its beginning", () => {
    const url = 'https://www.coastcourier.example/';
    expect(titleOf('The Coast Courier - News of the bay', SITE, '', url)).toBe('The Coast Courier - News of the bay');
  });
});

describe('chooseTitle', () => {
  const page = markup(SITE, 'https://www.coastcourier.example/news/1');
  const names = createSiteNames(page);

  test.each([
    ['the first', ['Fog', 'Rain'], 'Fog'],
    ['no title that is a URL', ['https://www.coastcourier.example/news/1', 'Rain'], 'Rain'],
    ['no title that is the site', ['The Coast Courier', 'Rain'], 'Rain'],
    ['the site if there is nothing else', ['The Coast Courier', null], 'The Coast Courier'],
    [
      'one that continues a truncated first title',
      ['Fog over the...', 'Fog over the bay - Coast Courier'],
      'Fog over the bay',
    ],
    ['the first if another one only begins alike', ['Fog', 'Fog over the bay'], 'Fog'],
    ['null without any title', [null, ' '], null],
  ])('chooseTitle returns %s', (_what, titles, title) => expect(chooseTitle(page, titles, names)).toBe(title));
});

test('A title has no control characters', () => {
  const page = markup('<title>Fo\u0008g over\u0007 the har\u0085bour\u001b[31m</title><body><h1>Fog</h1>');
  expect(readMeta(page, {}).title).toBe('Fog over the harbour[31m');
});
