import type { Watch, WatchSchedule } from './watch.ts';

/** When watches run. Pure: times are Unix ms, and cron lines are read in UTC, which has no summer time. */

/** Source: contract, 11.7. */
export const WATCH_SECONDS_MIN = 300;
const WATCH_SECONDS_MAX = 365 * 86_400;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Choice: every 29 February is found, also over a century that has none. */
const CRON_DAYS_MAX = 366 * 8 + 1;
/** Choice: due times that are counted one by one after a long stop. */
const MISSED_COUNTED_MAX = 1_000;

const UNIT_SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

/** Reads `15m`, `6h` or `1d`; null for another form, and for less than 5 minutes or more than 365 days. */
export function readEvery(text: string): number | null {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  const seconds = Number(digits) * (UNIT_SECONDS[unit] ?? 0);
  return seconds >= WATCH_SECONDS_MIN && seconds <= WATCH_SECONDS_MAX ? seconds : null;
}

/** Writes seconds in the largest unit that divides them. */
export function showEvery(seconds: number): string {
  const unit = ['d', 'h'].find((one) => seconds % (UNIT_SECONDS[one] ?? 1) === 0) ?? 'm';
  return `${seconds / (UNIT_SECONDS[unit] ?? 1)}${unit}`;
}

interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** With a day of the month and a day of the week, one of them is enough. Source: POSIX, crontab. */
  readonly isEitherDay: boolean;
}

interface CronField {
  readonly least: number;
  readonly most: number;
  readonly names?: readonly string[];
}

const FIELDS: readonly CronField[] = [
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  {
    least: 1,
    most: 12,
    names: ['', 'JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
  },
  { least: 0, most: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] },
];

/**
 * Reads the five fields of a cron line: lists, ranges, steps, and names of months and weekdays. Returns null for another form, for a line
 * that never comes, and for one that comes twice within 5 minutes.
 */
export function readCron(line: string): Cron | null {
  const texts = line.trim().split(/\s+/);
  if (texts.length !== FIELDS.length || line.length > 100) return null;
  const values = texts.map((text, at) => readField(text, FIELDS[at] as CronField));
  const [minutes, hours, days, months, weekdays] = values;
  if (!minutes || !hours || !days || !months || !weekdays) return null;
  const cron: Cron = {
    minutes: [...minutes].sort((a, b) => a - b),
    hours: [...hours].sort((a, b) => a - b),
    days,
    months,
    weekdays: new Set([...weekdays].map((day) => day % 7)),
    isEitherDay: !texts[2]?.startsWith('*') && !texts[4]?.startsWith('*'),
  };
  return isSparse(cron) && cronAfter(cron, 0) !== null ? cron : null;
}

function readField(text: string, { least, most, names = [] }: CronField): ReadonlySet<number> | null {
  const found = new Set<number>();
  const numberOf = (word: string): number =>
    /^\d{1,2}$/.test(word) ? Number(word) : word === '' ? -1 : names.indexOf(word.toUpperCase());
  for (const part of text.split(',')) {
    const [, range = '', step] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(part) ?? [];
    const [first = '', last, ...more] = range.split('-');
    const from = range === '*' ? least : numberOf(first);
    const to = range === '*' || (last === undefined && step !== undefined) ? most : numberOf(last ?? first);
    const by = Number(step ?? 1);
    if (more.length > 0 || from < least || to > most || from > to || by < 1) return null;
    for (let at = from; at <= to; at += by) found.add(at);
  }
  return found;
}

/** Returns whether two due times are always at least 5 minutes apart. */
function isSparse({ minutes, hours }: Cron): boolean {
  const gap = WATCH_SECONDS_MIN / 60;
  if (minutes.some((minute, at) => at > 0 && minute - (minutes[at - 1] ?? 0) < gap)) return false;
  const overHour = (minutes[0] ?? 0) + 60 - (minutes.at(-1) ?? 0);
  // From the last minute of an hour to the first of the next, if both hours are named.
  return overHour >= gap || !hours.some((hour) => hours.includes((hour + 1) % 24));
}

function cronAfter(cron: Cron, afterMs: number): number | null {
  const firstMs = (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
  let dayMs = Math.floor(firstMs / DAY_MS) * DAY_MS;
  for (let days = 0; days < CRON_DAYS_MAX; days++, dayMs += DAY_MS) {
    if (!isCronDay(cron, new Date(dayMs))) continue;
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const atMs = dayMs + (hour * 60 + minute) * MINUTE_MS;
        if (atMs >= firstMs) return atMs;
      }
    }
  }
  return null;
}

function isCronDay({ days, months, weekdays, isEitherDay }: Cron, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const [byDay, byWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
  return isEitherDay ? byDay || byWeekday : byDay && byWeekday;
}

/** Returns the first due time after `afterMs`. */
export function dueAfter(schedule: WatchSchedule, anchorMs: number, afterMs: number): number {
  if (schedule.kind === 'every') {
    const everyMs = schedule.seconds * 1_000;
    return anchorMs + Math.max(0, Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs;
  }
  const cron = readCron(schedule.line);
  // Stored lines were accepted; one that a later build refuses never comes.
  return (cron && cronAfter(cron, afterMs)) ?? Number.MAX_SAFE_INTEGER;
}

/** Returns the first due time of a schedule that is set now: at once for `every`. */
export function firstDue(schedule: WatchSchedule, nowMs: number): number {
  return schedule.kind === 'every' ? nowMs : dueAfter(schedule, nowMs, nowMs);
}

export interface DueRun {
  /** The due time that the run stands for: the newest that has come. */
  readonly dueAtMs: number;
  /** Earlier due times, which no run stands for. */
  readonly missed: number;
  readonly nextDueAtMs: number;
}

/** Returns the run that is due; null if none is. */
export function dueRun(
  { schedule, anchorMs, dueAtMs }: Pick<Watch, 'schedule' | 'anchorMs' | 'dueAtMs'>,
  nowMs: number,
): DueRun | null {
  if (dueAtMs > nowMs) return null;
  let [at, missed] = [dueAtMs, 0];
  for (let next = at; missed < MISSED_COUNTED_MAX; missed++) {
    next = dueAfter(schedule, anchorMs, at);
    if (next > nowMs) break;
    at = next;
  }
  return { dueAtMs: at, missed, nextDueAtMs: dueAfter(schedule, anchorMs, Math.max(at, nowMs)) };
}

/**
 * Returns whether the clock was set back so far that the next due time lies more than a day beyond the one that the schedule now gives.
 * Within a day, a watch waits for its due time, so that none runs twice.
 */
export function isStranded(
  { schedule, anchorMs, dueAtMs }: Pick<Watch, 'schedule' | 'anchorMs' | 'dueAtMs'>,
  nowMs: number,
): boolean {
  // Before the anchor of `every`, the next due time is the anchor itself.
  const nextMs = schedule.kind === 'every' ? nowMs + schedule.seconds * 1_000 : dueAfter(schedule, anchorMs, nowMs);
  return dueAtMs > nextMs + DAY_MS;
}
