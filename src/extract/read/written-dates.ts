import { utc } from './dates.ts';
import { isSupported, monthNamed } from './month-names.ts';
import { zoneMinutes } from './zones.ts';

/**
 * Finds dates written for people in a page, in the page's language: `17. Mai 2024`, `le 12 octobre 2023`, `2024年5月17日`, `03.02.2020`.
 * Choice: returns the time only if it names its zone, which is rare, and otherwise only the day (`10:15 AM EDT, Fri May 17, 2024`).
 */
export interface WrittenDate {
  /** ISO 8601. */
  readonly iso: string;
  /** Position in the text: from the first character to after the last. */
  readonly start: number;
  readonly end: number;
}

/** Choice: maximum number of characters searched. A line with a date has some 60. */
const CHARACTERS_MAX = 300;
/** Choice: the web has no older pages, and a date in the far future is not a publication date. */
const YEARS = { min: 1990, max: 2099 };

/** Returns all dates of a line, in order. `language` is a BCP 47 tag; null if it is unknown. */
export function writtenDates(given: string, language: string | null): readonly WrittenDate[] {
  const text = given.slice(0, CHARACTERS_MAX);
  if (!/\d{4}/.test(text)) return [];
  const found = [...inDigits(text, language), ...inWords(text, language)].toSorted((a, b) => a.start - b.start);
  const apart = found.filter((date, at) => at === 0 || date.start >= (found[at - 1]?.end ?? 0));
  const [only] = apart;
  if (apart.length !== 1 || only === undefined) return apart;
  const time = timeIn(text.slice(0, only.start) + ' '.repeat(only.end - only.start) + text.slice(only.end), language);
  return [time === null ? only : { ...only, iso: at(only.iso, time) }];
}

/** Returns null if there is no such day. `month` is 1 to 12. */
export function isoDay(year: number, month: number, day: number): string | null {
  if (year < YEARS.min || year > YEARS.max) return null;
  return utc(
    {
      year: String(year),
      month,
      day: String(day),
      hour: undefined,
      minute: undefined,
      second: undefined,
      ms: 0,
    },
    undefined,
  );
}

function dated(match: RegExpExecArray, year: string, month: number, day: string): WrittenDate[] {
  const iso = isoDay(Number(year), month, Number(day));
  return iso === null ? [] : [{ iso, start: match.index, end: match.index + match[0].length }];
}

/** Dates that begin with the year. Otherwise, with dots the day comes first in all languages. */
const YEAR_FIRST =
  /(?<![\d./-])(\d{4})(?:\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]?|([-/.])(\d{1,2})\4(\d{1,2}))(?![\d/]|[.-]\d)/g;
const POINTS = /(?<![\d./-])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)/g;
const SLASHES = /(?<![\d./-])(\d{1,2})([/-])(\d{1,2})\2(\d{4})(?![\d/]|-\d)/g;

function* inDigits(text: string, language: string | null): Generator<WrittenDate> {
  for (const match of text.matchAll(YEAR_FIRST)) {
    const [, year = '', month1, day1, , month2, day2] = match;
    yield* dated(match, year, Number(month1 ?? month2), day1 ?? day2 ?? '');
  }
  for (const match of text.matchAll(POINTS)) {
    const [, day = '', month = '', year = ''] = match;
    yield* dated(match, year, Number(month), day);
  }
  for (const match of text.matchAll(SLASHES)) {
    const [, first = '', , second = '', year = ''] = match;
    const isDayFirst = Number(first) > 12 || (Number(second) <= 12 ? dayComesFirst(language) : false);
    if (isDayFirst === null) continue;
    yield* isDayFirst ? dated(match, year, Number(second), first) : dated(match, year, Number(first), second);
  }
}

/**
 * Follows the convention of the language's country; null if it is unknown. English alone is ambiguous, because its countries use either
 * order.
 */
function dayComesFirst(language: string | null): boolean | null {
  if (language === null || language.toLowerCase() === 'en' || !isSupported(language)) return null;
  const parts = new Intl.DateTimeFormat(language).formatToParts(0).map(({ type }) => type);
  if (parts.indexOf('year') === 0) return null;
  return parts.indexOf('day') < parts.indexOf('month');
}

const TOKEN = /\p{L}[\p{L}\p{M}]*|\d+/gu;
/** Words between a day, its month and its year: `3rd of May`, `1er mai`, `9 de enero de 2024`, `21º`. */
const BETWEEN = new Set(['st', 'nd', 'rd', 'th', 'er', 'de', 'del', 'of', 'da', 'den', 'die', 'the', 'd', 'г']);

function* inWords(text: string, language: string | null): Generator<WrittenDate> {
  const tokens = [...text.matchAll(TOKEN)].filter(([token]) => !BETWEEN.has(token.toLowerCase()));
  for (const [at, match] of tokens.entries()) {
    const month = /^\d/.test(match[0]) ? undefined : monthNamed(match[0], language);
    if (month === undefined) continue;
    const [before, next, last] = [tokens[at - 1], tokens[at + 1], tokens[at + 2]];
    const [yearBefore] = [tokens[at - 2]];
    if (isDay(before) && isYear(next)) yield* between(text, before, next, next, month, before);
    else if (isDay(next) && isYear(last)) yield* between(text, match, last, last, month, next);
    else if (isYear(before) && isDay(next)) yield* between(text, before, next, before, month, next);
    else if (isYear(yearBefore) && isDay(before)) yield* between(text, yearBefore, match, yearBefore, month, before);
  }
}

type Token = RegExpExecArray;

function isDay(token: Token | undefined): token is Token {
  return token !== undefined && /^(?:0?[1-9]|[12]\d|3[01])$/.test(token[0]);
}

function isYear(token: Token | undefined): token is Token {
  return token !== undefined && /^(?:19|20)\d{2}$/.test(token[0]);
}

/** Choice: maximum number of characters from the first part of a date to after its last, as in `Wednesday, the 30th of September, 2024`. */
const DATE_CHARACTERS_MAX = 40;

function* between(
  text: string,
  first: Token,
  last: Token,
  year: Token,
  month: number,
  day: Token,
): Generator<WrittenDate> {
  const end = last.index + last[0].length;
  // Parts that are far apart, or separated by one of these signs, do not form one date.
  if (end - first.index > DATE_CHARACTERS_MAX || /[|·•;:()]/.test(text.slice(first.index, end))) return;
  const iso = isoDay(Number(year[0]), month, Number(day[0]));
  if (iso !== null) yield { iso, start: first.index, end };
}

interface WrittenTime {
  readonly minutes: number;
  readonly zone: string;
}

/** A time with a named zone: `10:15 AM EDT`; `18.05 Uhr` has none. Zone names of two letters are words in other languages (`et`, `at`). */
const TIME =
  /(?<!\d)(\d{1,2})[:.](\d{2})(?::\d{2})?\s*([AaPp]\.?[Mm]\.?)?\s*\(?((?:GMT|UTC)?[+-]\d{2}:?\d{2}|[A-Z]{2,5})(?![\p{L}\d])/u;

function timeIn(text: string, language: string | null): WrittenTime | null {
  const [, hour = '', minute = '', half, zone = ''] = TIME.exec(text) ?? [];
  const isEnglish = language === null || /^en\b/i.test(language);
  if (zone === '' || zoneMinutes(zone, 0) === null || (zone.length === 2 && !isEnglish)) return null;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (/^p/i.test(half) ? 12 : 0);
  return hours > 23 || Number(minute) > 59 ? null : { minutes: hours * 60 + Number(minute), zone };
}

function at(day: string, { minutes, zone }: WrittenTime): string {
  const wallMs = Date.parse(day) + minutes * 60_000;
  return new Date(wallMs - (zoneMinutes(zone, wallMs) ?? 0) * 60_000).toISOString().replace('.000Z', 'Z');
}
