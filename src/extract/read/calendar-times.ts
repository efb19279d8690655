import {
  calendarText,
  propertyOf,
  type CalendarComponent,
  type CalendarProperty,
  type CalendarZone,
} from './calendar-lines.ts';
import { isoFromMs, utc } from './dates.ts';
import { namedZoneMinutes } from './zones.ts';

/** Times of an iCalendar file (RFC 5545) in UTC. */

export interface CalendarTime {
  /** ISO 8601 in UTC. A day is its midnight. */
  readonly iso: string;
  /** Whether it is a day without a time. */
  readonly isDay: boolean;
}

/** Standard or daylight time of a zone that the file defines. */
interface Observance {
  readonly minutes: number;
  /** When it began first, by the clock of the zone as if that were UTC (ms). */
  readonly startMs: number;
  /** When it begins in each year; null if it began once. */
  readonly yearly: { readonly month: number; readonly week: number; readonly weekday: number } | null;
}

export interface CalendarClock {
  /** Zone of times that name none; null if the file names none either: they are then UTC. */
  readonly zone: string | null;
  readonly defined: ReadonlyMap<string, DefinedZone>;
  /** Names that were looked up, with the place of the zone database that each means; null for none. Bounded by `ZONES_MAX`. */
  readonly places: Map<string, string | null>;
}

/** Choice: calendars name a handful. What names more is read as if it did not know them. */
const ZONES_MAX = 200;
/** Choice: some programs list all changes of a zone since 1900. */
const OBSERVANCES_MAX = 200;

interface DefinedZone {
  readonly place: string | null;
  readonly observances: readonly Observance[];
}

const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
const DAY_MS = 86_400_000;

export function calendarClock(head: CalendarComponent, zones: readonly CalendarZone[]): CalendarClock {
  const defined = zones.flatMap((zone) => {
    const name = propertyOf(zone.head, 'TZID')?.value.trim();
    if (name === undefined) return [];
    const observances = zone.observances.slice(-OBSERVANCES_MAX).flatMap((one) => readObservance(one) ?? []);
    return [[name, { place: calendarText(propertyOf(zone.head, 'X-LIC-LOCATION')), observances }] as const];
  });
  return { zone: calendarText(propertyOf(head, 'X-WR-TIMEZONE')), defined: new Map(defined), places: new Map() };
}

/** Returns the times of a property, which may be a list; those that are not valid are left out. */
export function calendarTimes(property: CalendarProperty, clock: CalendarClock): readonly CalendarTime[] {
  const zone = property.parameters.get('TZID') ?? clock.zone;
  return property.value.split(',').flatMap((value) => readTime(value.trim(), zone, clock) ?? []);
}

export function calendarTime(property: CalendarProperty | undefined, clock: CalendarClock): CalendarTime | null {
  return property === undefined ? null : (calendarTimes(property, clock)[0] ?? null);
}

const TIME = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?$/i;

function readTime(value: string, zone: string | null, clock: CalendarClock): CalendarTime | null {
  const match = TIME.exec(value);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, isUtc] = match;
  const parts = { year, month: Number(month), day, hour, minute, second, ms: 0 };
  const wall = utc(parts, undefined);
  if (wall === null) return null;
  if (hour === undefined || isUtc !== undefined || zone === null) return { iso: wall, isDay: hour === undefined };
  const ahead = minutesAhead(zone, Date.parse(wall), clock);
  // As with any date whose zone is not known: the day is right, and no time is made up.
  const iso =
    ahead === null
      ? utc({ ...parts, hour: '0', minute: '0', second: '0' }, undefined)
      : isoFromMs(Date.parse(wall) - ahead * 60_000);
  return iso === null ? null : { iso, isDay: false };
}

/** Names of the zone database may have a prefix: `/mozilla.org/20070129_1/Europe/Berlin`. */
const PREFIXED = /\/([A-Z][A-Za-z]+\/[A-Za-z0-9_+-]+(?:\/[A-Za-z_]+)?)$/;

function minutesAhead(name: string, wallMs: number, clock: CalendarClock): number | null {
  const zone = clock.defined.get(name);
  let place = clock.places.get(name);
  if (place === undefined) {
    if (clock.places.size >= ZONES_MAX) return null;
    const names = [name, zone?.place ?? null, PREFIXED.exec(name)?.[1] ?? null];
    place = names.find((one) => one !== null && namedZoneMinutes(one, wallMs) !== null) ?? null;
    clock.places.set(name, place);
  }
  if (place !== null) return namedZoneMinutes(place, wallMs);
  return zone === undefined ? null : definedMinutes(zone.observances, wallMs);
}

/** Returns the offset of the observance that began last before the time. */
function definedMinutes(observances: readonly Observance[], wallMs: number): number | null {
  const year = new Date(wallMs).getUTCFullYear();
  let last: { readonly ms: number; readonly minutes: number } | null = null;
  for (const { minutes, startMs, yearly } of observances) {
    const onsets = yearly === null ? [startMs] : [year - 1, year].map((one) => onsetMs(one, startMs, yearly));
    for (const ms of onsets) if (ms <= wallMs && (last === null || ms > last.ms)) last = { ms, minutes };
  }
  return last?.minutes ?? observances[0]?.minutes ?? null;
}

function onsetMs(year: number, startMs: number, { month, week, weekday }: NonNullable<Observance['yearly']>): number {
  const timeMs = ((startMs % DAY_MS) + DAY_MS) % DAY_MS;
  // From the first day of the month on, or from the last one back.
  const edge = new Date(week > 0 ? Date.UTC(year, month - 1, 1) : Date.UTC(year, month, 0));
  const ahead = (weekday - edge.getUTCDay() + 7) % 7;
  const days = week > 0 ? ahead + (week - 1) * 7 : -((7 - ahead) % 7) + (week + 1) * 7;
  return edge.getTime() + days * DAY_MS + timeMs;
}

function readObservance(component: CalendarComponent): Observance | null {
  const offset = /^([+-])(\d{2})(\d{2})/.exec(propertyOf(component, 'TZOFFSETTO')?.value.trim() ?? '');
  const start = TIME.exec(propertyOf(component, 'DTSTART')?.value.trim() ?? '');
  if (offset === null || start === null) return null;
  const [, year, month, day, hour, minute, second] = start;
  const wall = utc({ year, month: Number(month), day, hour, minute, second, ms: 0 }, undefined);
  if (wall === null) return null;
  const minutes = (Number(offset[2]) * 60 + Number(offset[3])) * (offset[1] === '-' ? -1 : 1);
  return { minutes, startMs: Date.parse(wall), yearly: readYearly(propertyOf(component, 'RRULE')?.value ?? '') };
}

function readYearly(rule: string): Observance['yearly'] {
  const month = Number(/(?:^|;)BYMONTH=(\d{1,2})(?:;|$)/.exec(rule)?.[1] ?? 0);
  const [, week, name = ''] = /(?:^|;)BYDAY=([+-]?[1-5])([A-Z]{2})(?:;|$)/.exec(rule) ?? [];
  const weekday = WEEKDAYS.indexOf(name);
  return month < 1 || month > 12 || weekday < 0 ? null : { month, week: Number(week), weekday };
}

const DURATION = /^([+-])?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,6})S)?)?$/i;

/** Returns the time after a duration such as `P1DT2H`; null if it is not one. A day has 24 hours. */
export function afterDuration(time: CalendarTime, duration: string): string | null {
  const match = DURATION.exec(duration.trim());
  if (match === null) return null;
  const [weeks, days, hours, minutes, seconds] = match.slice(2).map((part: string | undefined) => Number(part ?? 0));
  const total = ((((weeks ?? 0) * 7 + (days ?? 0)) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0);
  return isoFromMs(Date.parse(time.iso) + total * 1_000 * (match[1] === '-' ? -1 : 1));
}

/** Returns the midnight after a day. */
export function nextDay(time: CalendarTime): string | null {
  return isoFromMs(Date.parse(time.iso) + DAY_MS);
}
