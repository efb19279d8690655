import type { JsonValue } from '../../connector.ts';

/** Years that ISO 8601 writes with four digits. */
const ISO_MS_MIN = Date.UTC(0, 0, 1) - 1_900 * 366 * 86_400_000;
const ISO_MS_MAX = Date.UTC(9_999, 11, 31, 23, 59, 59, 999);
/** `Z`, `+01:00`, `-0500` or a zone's name at the end. */
const ZONE = /(?:Z|[+-]\d{2}:?\d{2}|\b(?:UTC|GMT))$/i;
/** A day with a time after it and so, without a zone, one that would be read in the zone of this machine. */
const DAY_AND_TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}.*)$/;

/** ISO 8601 in UTC; null for what is no date. Sources that leave out the zone mean UTC, by their documentation. */
export function isoFromText(value: JsonValue | undefined): string | null {
  if (typeof value !== 'string') return null;
  const text = value.trim();
  if (text === '' || text.startsWith('0000-')) return null;
  const [, day, time] = ZONE.test(text) ? [] : (DAY_AND_TIME.exec(text) ?? []);
  return isoFromMs(Date.parse(day === undefined || time === undefined ? text : `${day}T${time}Z`));
}

export function isoFromSeconds(value: JsonValue | undefined): string | null {
  return typeof value === 'number' ? isoFromMs(value * 1_000) : null;
}

export function isoFromMs(value: JsonValue | undefined): string | null {
  if (typeof value !== 'number' || !(value >= ISO_MS_MIN && value <= ISO_MS_MAX)) return null;
  const iso = new Date(value).toISOString();
  return /^\d{4}-/.test(iso) ? iso : null;
}
