import { describe, expect, test } from 'vitest';
import { dateInAddress, publishedByMeta, publishedByPage } from '../../../../src/extract/read/published.ts';
import { writtenDates } from '../../../../src/extract/read/written-dates.ts';
import { markup } from '../../../support/pages.ts';

const days = (text: string, language: string | null): readonly string[] =>
  writtenDates(text, language).map(({ iso }) => iso.replace('T00:00:00Z', ''));

describe('writtenDates', () => {
  test.each([
    ['17. Mai 2024, 10:15 Uhr', 'de', ['2024-05-17']],
    ['am 03.02.2020', 'de', ['2020-02-03']],
    ['Publié le 1er août 2023 à 18h05', 'fr', ['2023-08-01']],
    ['9 de enero de 2024', 'es-MX', ['2024-01-09']],
    ['30 de março de 2023', 'pt-BR', ['2023-03-30']],
    ['21 dicembre 2022', 'it', ['2022-12-21']],
    ['5 lutego 2024 r.', 'pl', ['2024-02-05']],
    ['17 мая 2024 г.', 'ru', ['2024-05-17']],
    ['17 травня 2024', 'uk', ['2024-05-17']],
    ['14. 6. 2022', 'cs', ['2022-06-14']],
    ['14. června 2022', 'cs', ['2022-06-14']],
    ['2024. május 17.', 'hu', ['2024-05-17']],
    ['17 Ağustos 2024', 'tr', ['2024-08-17']],
    ['17 Μαΐου 2024', 'el', ['2024-05-17']],
    ['17 مايو 2024', 'ar', ['2024-05-17']],
    ['17 tháng 5, 2024', 'vi', []],
    ['2024年5月17日(金) 8:30', 'ja', ['2024-05-17']],
    ['2023년 12월 19일', 'ko', ['2023-12-19']],
    ['2024-05-17 and 2024/05/18', null, ['2024-05-17', '2024-05-18']],
    ['Friday, May 17th, 2024', 'fr', ['2024-05-17']],
    ['the 3rd of May 2024', 'en', ['2024-05-03']],
    ['05/17/2024', 'en', ['2024-05-17']],
    ['17/05/2024', 'en', ['2024-05-17']],
    ['07/09/2023', 'en-US', ['2023-07-09']],
    ['07/09/2023', 'en-GB', ['2023-09-07']],
    ['07/09/2023', 'fr', ['2023-09-07']],
    // Ambiguous or unknown order of day and month.
    ['07/09/2023', 'en', []],
    ['07/09/2023', null, []],
    ['07/09/2023', 'tlh', []],
    // Days that do not exist, and texts that only look like a date.
    ['30 February 2024', 'en', []],
    ['2024-13-45', 'en', []],
    ['1.2.2024.5', 'en', ['2024-02-01']],
    ['version 10.05.2024.1 of 2024', 'en', ['2024-05-10']],
    ['call 2024-05-1734', 'en', []],
    ['In May 2024', 'en', []],
    ['may 17 people of 2024', 'en', []],
    ['17 May 1066', 'en', []],
  ])('the dates in %s (%s) are found', (text, language, dates) => expect(days(text, language)).toEqual(dates));

  test.each([
    ['Published 10:15 AM EDT, Fri May 17, 2024', 'en-US', '2024-05-17T14:15:00Z'],
    ['Fri 17 May 2024 12.30 BST', 'en', '2024-05-17T11:30:00Z'],
    ['17 May 2024 23:30 (UTC-05:00)', 'en', '2024-05-18T04:30:00Z'],
    ['Jan 5, 2024 3:05 p.m. ET', null, '2024-01-05T20:05:00Z'],
    // The zone is missing, unknown, or a word of the language.
    ['17. Mai 2024, 10:15 Uhr', 'de', '2024-05-17T00:00:00Z'],
    ['May 17, 2024 10:15 AM', 'en', '2024-05-17T00:00:00Z'],
    ['PUBLIÉ LE 17 MAI 2024 À 18:05 ET MODIFIÉ', 'fr', '2024-05-17T00:00:00Z'],
  ])('a date has its time if the zone is named: %s', (text, language, iso) => {
    expect(writtenDates(text, language)[0]?.iso).toBe(iso);
  });
});

test.each([
  ['/2024/05/17/the-ferry', '2024-05-17T00:00:00Z'],
  ['/news/2024-05-17-the-ferry.html', '2024-05-17T00:00:00Z'],
  ['/world/2024/may/17/ferry', '2024-05-17T00:00:00Z'],
  ['/a/20240517/9921.html', '2024-05-17T00:00:00Z'],
  ['/art/t20240517_3311.html', '2024-05-17T00:00:00Z'],
  ['/2024/5/7/x', '2024-05-07T00:00:00Z'],
  ['/2024/March/12/x', '2024-03-12T00:00:00Z'],
  ['/2024/marketing/12/x', null],
  ['/2024/05/the-ferry', null],
  ['/2024/13/45/pump', null],
  ['/2024/02/30/leap', null],
  ['/p/202405171', null],
  ['/p/1066/10/14', null],
  ['/items/12024/05/17', null],
  ['/', null],
])('dateInAddress finds in %s the day %s', (path, iso) => {
  expect(dateInAddress(`https://site.example${path}?d=2001-01-01`)).toBe(iso);
});

test('publishedByMeta prefers a date by the rank of its name, not by its position', () => {
  const page = markup(
    '<meta name="date" content="2024-01-02"><meta itemprop="datePublished" content="2024-01-01"><meta name="pubdate" content="soon">',
  );
  expect(publishedByMeta(page)).toBe('2024-01-01T00:00:00Z');
  expect(publishedByMeta(markup('<meta name="date" content="soon">'))).toBeNull();
});

describe('publishedByPage', () => {
  const shown = (body: string, lines: readonly string[] = [], path = '/page'): string | null =>
    publishedByPage(markup(body, `https://site.example${path}`), 'en', () => lines)?.slice(0, 10) ?? null;

  test.each([
    [
      'the date marked as publication, not the one marked as update',
      '<time class=updated datetime=2024-05-19></time><time datetime=2024-05-17></time>',
      '2024-05-17',
    ],
    ['not a date marked as update', '<time class=updated datetime=2024-05-19></time>', null],
    ['not the date of a comment', '<div class="comment-list"><time datetime=2024-05-19></time></div>', null],
    ['not the date of a related page', '<div id=related><time datetime=2024-05-19></time></div>', null],
    ['not a date next to the text', '<aside><time datetime=2024-05-19></time></aside>', null],
    ['the text of a date without an attribute', '<time>17 May 2024</time>', '2024-05-17'],
  ])('the publication date is %s', (_what, body, day) => expect(shown(body)).toBe(day));

  test.each([
    ['alone in its line, before one within a sentence', ['On waiting, and on 9 May 1999', 'Jan 5, 2024'], '2024-01-05'],
    ['after the author', ['By Ada Quist, Senior Editor at large | 5 January 2024'], '2024-01-05'],
    ['without a word for an update before it', ['Updated: 6 January 2024', '5 January 2024'], '2024-01-05'],
    ['outside of a sentence', ['Forty singers met for the first time on 12 August 2019 and have not stopped'], null],
  ])('the publication date is one that is written %s', (_what, lines, day) => expect(shown('', lines)).toBe(day));

  test.each([
    ['2024-05-18', '/2024/05/17/x', '2024-05-18'],
    ['2019-08-12', '/2024/05/17/x', '2024-05-17'],
  ])('the date %s is checked against the day in the URL %s: %s', (marked, path, day) => {
    expect(shown(`<time datetime=${marked}></time>`, [], path)).toBe(day);
  });
});
