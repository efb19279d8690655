import type { Decision } from '../../contract/vocabulary.ts';

/** How numbers, times and decisions are written. Every page uses these, so that one thing looks the same everywhere. */

const counts = new Intl.NumberFormat('en-GB');
const compact = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });

/** 12400 → `12,400`. */
export function formatCount(count: number): string {
  return counts.format(count);
}

/** 12400 → `12.4K`, for axes and tight places. */
export function formatCompact(count: number): string {
  return compact.format(count);
}

/** 0.0184 → `1.8 %`; `–` if nothing was counted. */
export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '–' : formatPercent(part / whole);
}

export function formatPercent(share: number): string {
  const percent = share * 100;
  return `${percent !== 0 && Math.abs(percent) < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** Change of a share in percentage points, `+0.3`. */
export function formatPoints(change: number): string {
  const points = Math.round(change * 1_000) / 10;
  return `${points > 0 ? '+' : points < 0 ? '−' : '±'}${Math.abs(points).toFixed(1)}`;
}

/** Scores have one decimal on the wire; whole ones are written whole. */
export function formatScore(score: number): string {
  return Number.isInteger(score) ? String(score) : score.toFixed(1);
}

export function formatMs(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 10_000 ? `${formatCount(Math.round(ms))} ms` : formatSeconds(ms / 1_000);
}

/** 5400 → `1 h 30 min`. At most two units. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ] as const;
  const first = units.findIndex(([size]) => whole >= size);
  if (first === -1) return '0 s';
  const parts: string[] = [];
  let rest = whole;
  for (const [size, unit] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.join(' ');
}

/** `just now`, `3 min ago`, `in 2 h`. Both times in Unix seconds. */
export function formatAgo(at: number, now: number): string {
  const seconds = Math.round(now - at);
  if (Math.abs(seconds) < 5) return 'just now';
  const size = [86_400, 3_600, 60, 1].find((unit) => Math.abs(seconds) >= unit) ?? 1;
  const text = formatSeconds(Math.floor(Math.abs(seconds) / size) * size);
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

const RATE_UNITS = [
  ['minute', 60, 0.1],
  ['hour', 3_600, 0.1],
  ['day', 86_400, 1],
] as const;

/** `1,200 a minute`, `0.4 an hour`, `less than one a day`: in the shortest unit in which it is not nearly 0. `seconds` > 0. */
export function formatRate(count: number, seconds: number): string {
  if (count === 0) return 'none yet';
  for (const [unit, unitSeconds, min] of RATE_UNITS) {
    const rate = (count / seconds) * unitSeconds;
    if (rate < min) continue;
    return `${rate < 10 ? rate.toFixed(1) : formatCount(Math.round(rate))} ${unit === 'hour' ? 'an' : 'a'} ${unit}`;
  }
  return 'less than one a day';
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const clockShort = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayAndClock = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const dateAndClock = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

/** The browser's zone: the clock for today, the day too for this year, the year too for others. Unix seconds. */
export function formatTime(at: number, now: number): string {
  const date = new Date(at * 1_000);
  const today = new Date(now * 1_000);
  if (date.toDateString() === today.toDateString()) return clock.format(date);
  return (date.getFullYear() === today.getFullYear() ? dayAndClock : dateAndClock).format(date);
}

export function formatClock(at: number, isShort = false): string {
  return (isShort ? clockShort : clock).format(new Date(at * 1_000));
}

/** For `title`: `2026-11-23 14:02:11 UTC`. */
export function formatUtc(at: number): string {
  return `${new Date(at * 1_000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Decisions in words, mildest first. */
export const DECISION_WORDS: Readonly<Record<Decision, string>> = {
  ALLOW: 'Allow',
  ALLOW_WATCH: 'Watch',
  SOFT_CHALLENGE: 'Challenge',
  REVIEW: 'Review',
  BLOCK: 'Block',
};

/** The class that gives a decision its colour: see `styles/tokens.css`. */
export const DECISION_CLASSES: Readonly<Record<Decision, string>> = {
  ALLOW: 'd-allow',
  ALLOW_WATCH: 'd-watch',
  SOFT_CHALLENGE: 'd-challenge',
  REVIEW: 'd-review',
  BLOCK: 'd-block',
};

/** The five decisions, mildest first. A copy of the vocabulary's order: pages import only types of the contract. */
export const DECISION_ORDER: readonly Decision[] = ['ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK'];

/** Fingerprints are 64 digits: eight of them distinguish those of a page. */
export function shortHash(hash: string): string {
  return hash.slice(0, 8);
}

/** `req_01K…7QF`: the start is the time, the end distinguishes two of one time. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 8)}…${id.slice(-4)}`;
}

/** `device_many_entities` → `device many entities`. */
export function asWords(code: string): string {
  return code.replaceAll('_', ' ');
}

/** One or many: `1 decision`, `3 decisions`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });

/** `DE` → `Germany`; an unknown code stays as it is. */
export function countryName(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code;
}
