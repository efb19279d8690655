import type { StatsBody, StatsPointBody } from '../../contract/wire-types.ts';
import type { Decision } from '../../contract/vocabulary.ts';
import { DECISION_ORDER } from './format.ts';

/** Sums over the periods of `GET /v1/stats`. */

export interface StatsSums {
  readonly decisions: Readonly<Record<Decision, number>>;
  readonly total: number;
  /** BLOCK, SOFT_CHALLENGE and REVIEW: decisions that the visitor notices. */
  readonly stopped: number;
  readonly reasons: ReadonlyMap<string, number>;
  readonly refusals: ReadonlyMap<string, number>;
  readonly refused: number;
  /** 20 buckets of 5 points. */
  readonly scores: readonly number[];
}

export function sumStats(points: readonly StatsPointBody[]): StatsSums {
  const decisions = { ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: 0, REVIEW: 0, BLOCK: 0 };
  const reasons = new Map<string, number>();
  const refusals = new Map<string, number>();
  const scores = Array.from({ length: 20 }, () => 0);
  for (const point of points) {
    for (const name of DECISION_ORDER) decisions[name] += point.decisions[name];
    addTo(reasons, point.reasons);
    addTo(refusals, point.refusals);
    for (const [n, count] of point.scores.entries()) scores[n] = (scores[n] ?? 0) + count;
  }
  const total = DECISION_ORDER.reduce((sum, name) => sum + decisions[name], 0);
  const stopped = decisions.BLOCK + decisions.SOFT_CHALLENGE + decisions.REVIEW;
  const refused = [...refusals.values()].reduce((sum, count) => sum + count, 0);
  return { decisions, total, stopped, reasons, refusals, refused, scores };
}

function addTo(sums: Map<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) sums.set(name, (sums.get(name) ?? 0) + count);
}

/** The largest first; equal ones by name, so that they do not change places. */
export function largest(counts: ReadonlyMap<string, number>, rows: number): readonly (readonly [string, number])[] {
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, rows);
}

/** Choice: columns of a chart: wide enough to be hit, narrow enough to show a peak. */
const PERIODS_MAX = 96;
const PERIOD_SECONDS = [60, 300, 600, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400];

export interface Period {
  readonly at: number;
  readonly points: readonly StatsPointBody[];
}

/** Groups points into at most 96 periods of equal length from `from` to `to`; periods without a point are there too. */
export function toPeriods(
  points: readonly StatsPointBody[],
  { from, to, step }: Pick<StatsBody, 'step' | 'to' | 'from'>,
): { readonly seconds: number; readonly periods: readonly Period[] } {
  const seconds =
    PERIOD_SECONDS.find((length) => length >= step && (to - from) / length <= PERIODS_MAX) ??
    PERIOD_SECONDS.at(-1) ??
    step;
  const first = Math.floor(from / seconds) * seconds;
  const byStart = new Map<number, StatsPointBody[]>();
  for (let at = first; at < to; at += seconds) byStart.set(at, []);
  for (const point of points) byStart.get(Math.floor(point.at / seconds) * seconds)?.push(point);
  return { seconds, periods: [...byStart].map(([at, points]) => ({ at, points })) };
}

/**
 * A latency of a longer period from those of its parts. Percentiles cannot be added: this is the mean weighted by decisions for the median,
 * and the largest for the 99th, which is at least the true one.
 */
export function latencyOf(points: readonly StatsPointBody[]): {
  readonly p50: number | null;
  readonly p99: number | null;
} {
  let count = 0;
  let sum = 0;
  let p99: number | null = null;
  for (const { decisions, latency_ms: latency } of points) {
    const own = DECISION_ORDER.reduce((total, name) => total + decisions[name], 0);
    if (latency.p50 === null || own === 0) continue;
    count += own;
    sum += latency.p50 * own;
    if (latency.p99 !== null) p99 = Math.max(p99 ?? 0, latency.p99);
  }
  return { p50: count === 0 ? null : sum / count, p99 };
}
