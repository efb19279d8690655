import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isoDate, isoFromMs, isoFromSeconds } from '../../../../src/extract/read/dates.ts';

describe('isoDate', () => {
  test.each([
    ['2026-01-31T10:15:30Z', '2026-01-31T10:15:30Z'],
    ['2026-01-31T10:15:30.123456+01:00', '2026-01-31T09:15:30.123Z'],
    ['2026-01-31 10:15', '2026-01-31T10:15:00Z'],
    ['2026-01-31T23:30:00-0130', '2026-02-01T01:00:00Z'],
    ['2026-01-31T10:15:30+01', '2026-01-31T09:15:30Z'],
    ['2026-01-31T10:15:30', '2026-01-31T10:15:30Z'],
    ['2026-01-31', '2026-01-31T00:00:00Z'],
    ['2026-01', '2026-01-01T00:00:00Z'],
    ['20260131T101530Z', '2026-01-31T10:15:30Z'],
    ['20260131', '2026-01-31T00:00:00Z'],
    ['Sat, 31 Jan 2026 10:15:30 GMT', '2026-01-31T10:15:30Z'],
    ['31 Jan 26 10:15 EST', '2026-01-31T15:15:00Z'],
    ['Sat, 31 Jan 1999 10:15:30 +0200', '1999-01-31T08:15:30Z'],
    ['Sat, 31 Jan 2026 10:15:30 +0100 (CET)', '2026-01-31T09:15:30Z'],
    ['Sat Jan 31 2026 10:15:30 GMT+0100 (Central European)', '2026-01-31T09:15:30Z'],
    ['2026/01/31', '2026-01-31T00:00:00Z'],
    ['2026.01.31 10:15', '2026-01-31T10:15:00Z'],
    ['  January 31st,\n 2026 ', '2026-01-31T00:00:00Z'],
    ['Jan 31, 2026 at 12:05 am', '2026-01-31T00:05:00Z'],
    ['31 January 2026, 12:05 p.m. CEST', '2026-01-31T10:05:00Z'],
  ])('isoDate converts %s to UTC', (text, iso) => expect(isoDate(text)).toBe(iso));
});

describe('isoDate with names of months', () => {
  test.each([
    ['05 marraskuu 2024', '2024-11-05T00:00:00Z'],
    ['Fr, 12 Dez 2014 13:05:00', '2014-12-12T13:05:00Z'],
    ['Fr., 12. Dezember 2014 um 13:05', '2014-12-12T13:05:00Z'],
    ['dom, 02 ott 2022 18:55:00 GMT', '2022-10-02T18:55:00Z'],
    ['mar, 04 ott 2022 18:55:00 +0200', '2022-10-04T16:55:00Z'],
    ['jeu., 1er févr. 2024', '2024-02-01T00:00:00Z'],
    ['lundi 12 AOÛT 2024', '2024-08-12T00:00:00Z'],
    ['2 de mayo de 2024 10:15', '2024-05-02T10:15:00Z'],
    ['пн, 12 дек 2022 10:15:00 +0300', '2022-12-12T07:15:00Z'],
    ['12 декабря 2022', '2022-12-12T00:00:00Z'],
    ['søn, 12 mai 2024', '2024-05-12T00:00:00Z'],
    ['Sunday, June 30, 2013 - 00:00', '2013-06-30T00:00:00Z'],
    ['12 Sept 2024', '2024-09-12T00:00:00Z'],
  ])('isoDate converts %s in whatever language it is', (text, iso) => expect(isoDate(text)).toBe(iso));

  test.each(['12 Junkie 2024', '12 Marching 2024', 'Decade 12, 2024', '12 listopad 2024', '12 lis 2024', '12 x 2024'])(
    'isoDate returns null for %s, which is no month or not the same month in all languages',
    (text) => expect(isoDate(text)).toBeNull(),
  );

  test.each([
    ['12 listopad 2024', 'pl', '2024-11-12T00:00:00Z'],
    ['12 listopad 2024', 'hr-HR', '2024-10-12T00:00:00Z'],
    ['12 Dec 2024', 'pl', '2024-12-12T00:00:00Z'],
    ['12 Dez 2024', 'xx-unknown', '2024-12-12T00:00:00Z'],
  ])('isoDate converts %s in the language %s', (text, language, iso) => expect(isoDate(text, language)).toBe(iso));
});

describe('isoDate with a named zone', () => {
  test.each([
    ['31 Jan 2026 10:15 ET', '2026-01-31T15:15:00Z'],
    ['31 Jul 2026 10:15 ET', '2026-07-31T14:15:00Z'],
    ['July 31, 2026 10:15 a.m. CT', '2026-07-31T15:15:00Z'],
    ['Jan 31, 2026 10:15 am MT', '2026-01-31T17:15:00Z'],
    ['31 Jul 2026 20:15 PT', '2026-08-01T03:15:00Z'],
    ['31 Jan 2026 10:15 AT', '2026-01-31T14:15:00Z'],
    ['31 Jul 2026 10:15 AKT', '2026-07-31T18:15:00Z'],
    ['31 Jul 2026 10:15 NT', '2026-07-31T12:45:00Z'],
    ['Sat, 31 Jan 2026 10:15 MET', '2026-01-31T09:15:00Z'],
    ['31 Jul 2026 10:15 MEST', '2026-07-31T08:15:00Z'],
    ['2026-07-31 10:15 MESZ', '2026-07-31T08:15:00Z'],
    ['31 Jul 2026 10:15 AEST', '2026-07-31T00:15:00Z'],
    ['31 Jul 2026 10:15 IST', '2026-07-31T04:45:00Z'],
    ['2026-07-31 10:15:00 PDT', '2026-07-31T17:15:00Z'],
    ['31 Jan 2026 10:15 TRT', '2026-01-31T07:15:00Z'],
    ['2026-01-31 10:15 NPT', '2026-01-31T04:30:00Z'],
    ['31 Jan 2026 10:15 COT', '2026-01-31T15:15:00Z'],
    // The day on which the clocks change, an hour before and an hour after.
    ['8 Mar 2026 01:30 ET', '2026-03-08T06:30:00Z'],
    ['8 Mar 2026 03:30 ET', '2026-03-08T07:30:00Z'],
    ['1 Nov 2026 00:30 ET', '2026-11-01T04:30:00Z'],
    ['1 Nov 2026 02:30 ET', '2026-11-01T07:30:00Z'],
    // Until 2006, daylight saving time began in April.
    ['31 Mar 2006 10:15 ET', '2006-03-31T15:15:00Z'],
  ])('isoDate converts %s by the offset of its zone on that day', (text, iso) => expect(isoDate(text)).toBe(iso));

  test.each(['Sat, 31 Jan 2026 23:15:30 XYZ', '31 Jan 2026 10:15 B', '2026-01-31 10:15 LOCAL'])(
    'isoDate keeps the day of %s without the time, because its zone is unknown',
    (text) => expect(isoDate(text)).toBe('2026-01-31T00:00:00Z'),
  );
});

describe('isoDate for invalid dates', () => {
  test.each([
    '2026.01',
    '2026/1',
    '',
    'yesterday',
    '31/01/2026',
    '01.02.2026',
    '2026',
    '2026-02-30',
    '2026-13-01',
    '2026-01-31T25:00:00Z',
    '31 Foo 2026',
    '0000-00-00 00:00:00',
    '+275000-01-01T00:00:00Z',
    `2026-01-31${' '.repeat(100)}`,
  ])('isoDate returns null for the text %j', (text) => expect(isoDate(text)).toBeNull());

  test.each([null, undefined, 5, true, {}, ['2026-01-31']])('isoDate returns null for the value %j', (value) =>
    expect(isoDate(value)).toBeNull(),
  );
});

test('isoDate reads every moment that a Date writes', () => {
  const moments = fc.date({ min: new Date('1000-01-01T00:00:00Z'), max: new Date('9999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(moments, (date) => {
      expect(isoDate(date.toISOString())).toBe(date.toISOString().replace('.000Z', 'Z'));
      expect(isoDate(date.toUTCString())).toBe(date.toISOString().replace(/\.\d+Z/, 'Z'));
    }),
    { seed: 7 },
  );
});

test('Unix seconds and milliseconds are converted, and values outside of the date range become null', () => {
  expect(isoFromSeconds(1_700_000_000)).toBe('2023-11-14T22:13:20Z');
  expect(isoFromMs(0)).toBe('1970-01-01T00:00:00Z');
  expect(isoFromMs(1_700_000_000_250)).toBe('2023-11-14T22:13:20.250Z');
  for (const value of [Number.NaN, Infinity, 1e18, 8.64e15, -8.64e15, '5', null, undefined]) {
    expect([isoFromMs(value), isoFromSeconds(value)]).toEqual([null, null]);
  }
});
