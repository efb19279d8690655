import type { JsonValue } from '../base/connector.ts';
import { monthNamed, monthNamedAnywhere } from './month-names.ts';
import { zoneMinutes } from './zones.ts';

/**
 * Converts dates as the web and its interfaces write them to ISO 8601 in UTC. Independent of the machine's time zone: a date without a zone
 * is UTC.
 * Choice: a date without a time becomes its midnight. So does one with an unknown zone, because a time that is hours off would look exact.
 */

/**
 * ISO 8601 and RFC 3339, also with a space instead of the `T`, a short zone or a zone's name, and a fraction of any length; `2026/01/31`,
 * `2026.01.31`.
 */
const ISO =
  /^(?=\d{4}(?:-|[/.]\d{1,2}[/.]\d))(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([a-z]{1,5}|(?:GMT|UTC)?[+-]\d{2}(?::?\d{2})?)?)?$/i;
/** `20260131` and `20260131T101500Z`. */
const COMPACT = /^(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?(Z|[+-]\d{4})?)?$/i;
/** A word before the day: a weekday in any language. */
const WEEKDAY = String.raw`(?:\p{L}[\p{L}\p{M}-]{1,15}\.?,?\s+)?`;
const MONTH = String.raw`(\p{L}[\p{L}\p{M}]{1,15})\.?`;
const TIME = String.raw`(?:,?\s+(?:(?:at|um|kl\.?|\u00e0|-)\s+)?(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([ap]\.?m\.?)?\s*([a-z]{1,5}|(?:GMT|UTC)?[+-]\d{2}:?\d{2})?)?`;
/** RFC 822 and similar formats: `Sat, 31 Jan 26 10:15 GMT`, `31 January 2026`, `lun. 12 octobre 2026`, `2 de mayo de 2026`. */
const DAY_FIRST = new RegExp(
  String.raw`^${WEEKDAY}(\d{1,2})(?:st|nd|rd|th|er|\.)?[\s-]+(?:(?:de|of)\s+)?${MONTH},?[\s-]+(?:del?\s+)?(\d{4}|\d{2})${TIME}$`,
  'iu',
);
/** `January 31, 2026 10:15 am`. `Sat Jan 31 10:15:00 2026` is not supported, because its year comes last. */
const MONTH_FIRST = new RegExp(String.raw`^${WEEKDAY}${MONTH}\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})${TIME}$`, 'iu');

/** Choice: no date format is longer. */
const CHARACTERS_MAX = 64;

/** `31 Jan 2026 10:15 +0100 (CET)`. Source: RFC 5322, section 3.2.2. */
const COMMENT = / ?\([^()]*\) ?$/;

/**
 * Returns null if the value is not certainly a date: for example an empty text, or `31/01/2026`. Names of months may be in any language
 * that dates of pages may have; `language`, a BCP 47 tag, decides about those that mean different months.
 */
export function isoDate(given: JsonValue | undefined, language: string | null = null): string | null {
  if (typeof given !== 'string' || given.length > CHARACTERS_MAX) return null;
  const value = given.replaceAll(/\s+/g, ' ').replace(COMMENT, '').trim();
  return fromIso(ISO.exec(value)) ?? fromCompact(COMPACT.exec(value)) ?? inWords(value, language);
}

/** Converts Unix seconds. */
export function isoFromSeconds(seconds: JsonValue | undefined): string | null {
  return typeof seconds === 'number' ? isoFromMs(seconds * 1_000) : null;
}

function fromIso(match: RegExpExecArray | null): string | null {
  if (match === null) return null;
  const [, year, month, day = '1', hour, minute, second, fraction = '', zone] = match;
  return utc(
    { year, month: Number(month), day, hour, minute, second, ms: Number(fraction.slice(0, 3).padEnd(3, '0')) },
    zone,
  );
}

function fromCompact(match: RegExpExecArray | null): string | null {
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, zone] = match;
  return utc({ year, month: Number(month), day, hour, minute, second, ms: 0 }, zone);
}

function inWords(value: string, language: string | null): string | null {
  const byDay = DAY_FIRST.exec(value);
  const [, day, name = '', year = '', ...time] = byDay ?? [];
  if (byDay !== null) return withTime({ year: fullYear(year), month: monthOf(name, language), day }, time);
  const [, first = '', second, third, ...rest] = MONTH_FIRST.exec(value) ?? [];
  return first === '' ? null : withTime({ year: third, month: monthOf(first, language), day: second }, rest);
}

/** `time` has hour, minute, second, half of the day and zone. */
function withTime(day: Pick<DateParts, 'year' | 'month' | 'day'>, time: readonly Digits[]): string | null {
  const [hour, minute, second, half, zone] = time;
  return utc({ ...day, hour: hourOf(hour, half), minute, second, ms: 0 }, zone);
}

/** Returns 0 if it is no month. */
function monthOf(name: string, language: string | null): number {
  return monthNamed(name, language) ?? monthNamedAnywhere(name) ?? 0;
}

/** Source: RFC 2822, section 4.3, years of two digits. */
function fullYear(year: string): string {
  if (year.length === 4) return year;
  return Number(year) < 50 ? `20${year}` : `19${year}`;
}

function hourOf(hour: string | undefined, half: string | undefined): string | undefined {
  if (hour === undefined || half === undefined) return hour;
  const twelve = Number(hour) % 12;
  return String(half.toLowerCase().startsWith('p') ? twelve + 12 : twelve);
}

type Digits = string | undefined;

export interface DateParts {
  readonly year: Digits;
  /** 1 to 12. */
  readonly month: number;
  readonly day: Digits;
  readonly hour: Digits;
  readonly minute: Digits;
  readonly second: Digits;
  readonly ms: number;
}

/** Returns null if there is no such day or time. */
export function utc(parts: DateParts, zone: string | undefined): string | null {
  const [year, day] = [Number(parts.year), Number(parts.day)];
  const [hour, minute, second] = [Number(parts.hour ?? 0), Number(parts.minute ?? 0), Number(parts.second ?? 0)];
  const isTime = hour < 24 && minute < 60 && second <= 60;
  if (year < 1_000 || parts.month < 1 || parts.month > 12 || !isTime) return null;
  const midnight = new Date(Date.UTC(year, parts.month - 1, day));
  if (midnight.getUTCDate() !== day || midnight.getUTCMonth() !== parts.month - 1) return null;
  const wallMs = midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1_000 + parts.ms;
  const ahead = zone === undefined ? 0 : zoneMinutes(zone, wallMs);
  return isoFromMs(ahead === null ? midnight.getTime() : wallMs - ahead * 60_000);
}

/** Converts Unix milliseconds. Omits them from the text if they are zero. */
export function isoFromMs(ms: JsonValue | undefined): string | null {
  if (typeof ms !== 'number') return null;
  const date = new Date(ms);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() < 1_000 || date.getUTCFullYear() > 9_999) return null;
  return date.toISOString().replace('.000Z', 'Z');
}
