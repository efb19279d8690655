/** ISO 8601 with a date, a time and a zone. A time without a zone counts as UTC, since most exports of databases are. */
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)\s?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?)?$/i;
const NUMBER = /^-?\d+(?:\.\d+)?$/;
/**
 * Source: contract, 2.4: times are Unix seconds. Choice: numbers from 10^11 (the year 5138) are milliseconds, from 10^14 microseconds,
 * from 10^17 nanoseconds.
 */
const MILLISECONDS_FROM = 1e11;
const MICROSECONDS_FROM = 1e14;
const NANOSECONDS_FROM = 1e17;

/** Reads the time of an event: Unix seconds, ms, µs or ns, or ISO 8601. Returns Unix ms; null if it is none. */
export function readEventTime(given: unknown): number | null {
  if (typeof given === 'number') return fromNumber(given);
  if (typeof given !== 'string') return null;
  const text = given.trim();
  if (NUMBER.test(text)) return fromNumber(Number(text));
  const parts = ISO.exec(text);
  if (parts === null) return null;
  const [, date = '', time = '00:00:00', zone = 'Z'] = parts;
  const ms = Date.parse(`${date}T${withSeconds(time)}${zoneText(zone)}`);
  return Number.isNaN(ms) ? null : ms;
}

function fromNumber(given: number): number | null {
  if (!Number.isFinite(given)) return null;
  const size = Math.abs(given);
  if (size >= NANOSECONDS_FROM) return Math.round(given / 1_000_000);
  const ms = size >= MICROSECONDS_FROM ? given / 1_000 : size >= MILLISECONDS_FROM ? given : given * 1_000;
  return Math.round(ms);
}

/** `Date.parse` takes at most three digits of a second everywhere. */
function withSeconds(time: string): string {
  const [whole = '', fraction = ''] = time.replace(',', '.').split('.');
  const seconds = whole.length === 5 ? `${whole}:00` : whole;
  return fraction === '' ? seconds : `${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}`;
}

function zoneText(zone: string): string {
  if (/^(?:Z|UTC)$/i.test(zone)) return 'Z';
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  return `${zone.charAt(0)}${digits.slice(0, 2)}:${digits.slice(2)}`;
}
