import type { Random } from './random.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** Monday, 9 November 2026, 0:00 UTC. */
export const WEEK_START_MS = Date.UTC(2026, 10, 9);

/** The countries whose people are simulated. */
export const COUNTRIES = ['DE', 'IT', 'CA'] as const;
export type Country = (typeof COUNTRIES)[number];

/** UTC offset in November, hours. Choice: one time zone for all of Canada. */
const AHEAD_HOURS: Readonly<Record<Country, number>> = { DE: 1, IT: 1, CA: -5 };

/** Relative activity in each hour of the local day. */
type Rhythm = readonly number[];
export const AT_HOME: Rhythm = [3, 1, 1, 1, 1, 2, 4, 6, 6, 7, 8, 8, 9, 9, 8, 8, 9, 11, 14, 17, 19, 18, 13, 7];
export const ON_THE_WAY: Rhythm = [1, 1, 0, 0, 1, 4, 9, 14, 9, 6, 6, 7, 12, 10, 7, 7, 11, 15, 13, 9, 7, 5, 3, 2];
export const AT_WORK: Rhythm = [0, 0, 0, 0, 0, 0, 1, 5, 14, 16, 14, 12, 14, 13, 12, 12, 10, 6, 2, 1, 0, 0, 0, 0];
export const FIRST_MORNING: Rhythm = [0, 0, 0, 0, 0, 0, 0, 2, 20, 30, 20, 8, 6, 6, 5, 3, 0, 0, 0, 0, 0, 0, 0, 0];

/** Draws a time on that day by the local clock, Unix ms. Day 0 is Monday. */
export function momentOn(day: number, country: Country, rhythm: Rhythm, random: Random): number {
  const hour = random.weighted(rhythm.map((weight, n) => [n, weight] as const));
  return localTime(day, country, hour) + random.below(HOUR_MS);
}

/** Returns a local time as Unix ms. `hour` may have a fraction. */
export function localTime(day: number, country: Country, hour: number): number {
  return WEEK_START_MS + day * DAY_MS + (hour - AHEAD_HOURS[country]) * HOUR_MS;
}

export function isWorkday(day: number): boolean {
  return day % 7 < 5;
}
