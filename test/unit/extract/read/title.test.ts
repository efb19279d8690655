import { describe, expect, test } from 'vitest';
import { createSiteNames } from '../../../../src/extract/read/site-names.ts';
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

describe('a title loses the name of its site', () => {
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
  ])('%s', (title, head) => expect(titleOf(title, head)).toBe('Fog'));

  test.each([
    ['a link to the front page', '<a href="/">Bay Notes</a>'],
    ['a picture on such a link', '<a href="https://www.coastcourier.example/"><img alt="Bay Notes"></a>'],
    ['a heading that is the rest', '<h1>Fog</h1>'],
  ])('by %s', (_what, body) => expect(titleOf('Fog - Bay Notes', '', body)).toBe('Fog'));

  test('before a colon where a heading is the rest', () => {
    expect(titleOf('The Coast Courier: Fog', SITE, '<h2>Fog</h2>')).toBe('Fog');
  });

  test('by a host that is spelled without umlauts', () => {
    expect(titleOf('Nebel - Küstenblatt', '', '', 'https://kuestenblatt.example/a')).toBe('Nebel');
  });
});

describe('a title keeps all that may be its own', () => {
  test.each([
    ['a second half that nothing knows', 'Brighton Rock - The Long Way Home', SITE, ''],
    ['the site within a sentence', 'Why we left The Coast Courier behind', SITE, ''],
    ['the site as a part of a part', 'Fog - A history of The Coast Courier', SITE, ''],
    ['the site behind a hyphen', 'The anti-Coast Courier', SITE, ''],
    ['the site before a colon alone', 'The Coast Courier: a history', SITE, ''],
    ['the site behind a colon', 'Who reads it: The Coast Courier', SITE, ''],
    ['all of a heading', 'A history of us - The Coast Courier', SITE, '<h1>A history of us – The Coast Courier</h1>'],
    ['the name of the site alone', 'The Coast Courier', SITE, '<h1>The Coast Courier</h1>'],
    ['the host before a sign', 'Coastcourier - what became of it', '', ''],
    [
      'what stands beside a heading that is the site',
      'Fog - Bay Notes',
      '<title>x</title>',
      '<h1>coastcourier.example</h1>',
    ],
    ['a range of years', 'Lantern catalogue 1914 - 1918', SITE, ''],
  ])('%s', (_what, title, head, body) => expect(titleOf(title, head, body)).toBe(title));

  test('on the front page, where the site comes first', () => {
    const url = 'https://www.coastcourier.example/';
    expect(titleOf('The Coast Courier - News of the bay', SITE, '', url)).toBe('The Coast Courier - News of the bay');
  });
});

describe('of several titles', () => {
  const page = markup(SITE, 'https://www.coastcourier.example/news/1');
  const names = createSiteNames(page);

  test.each([
    ['the first', ['Fog', 'Rain'], 'Fog'],
    ['not one that is an address', ['https://www.coastcourier.example/news/1', 'Rain'], 'Rain'],
    ['not one that is the site', ['The Coast Courier', 'Rain'], 'Rain'],
    ['the site where there is nothing else', ['The Coast Courier', null], 'The Coast Courier'],
    [
      'one that goes on where the first is cut',
      ['Fog over the...', 'Fog over the bay - Coast Courier'],
      'Fog over the bay',
    ],
    ['the first where another only begins alike', ['Fog', 'Fog over the bay'], 'Fog'],
    ['none', [null, ' '], null],
  ])('%s', (_what, titles, title) => expect(chooseTitle(page, titles, names)).toBe(title));
});
