import type { SendOutcome } from './sender.ts';

/** Latency of some requests of a phase, ms. Requests without a response count as slower than all others. */
export interface LatencySummary {
  readonly requests: number;
  readonly p50_ms: number;
  readonly p90_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
  readonly max_ms: number;
  /** p99 of the generator's own lateness: the part of the figures above that the server did not cause. */
  readonly late_p99_ms: number;
}

export interface Slice extends LatencySummary {
  readonly from_ms: number;
}

/** Points of the percentile curve of the picture. */
export const CURVE_SHARES = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999] as const;

/** Includes requests that were due from `fromMs` (inclusive) to `toMs` (exclusive). */
export function summarise(outcome: SendOutcome, fromMs = 0, toMs = Infinity): LatencySummary {
  const [latency, late] = [outcome.latencyMs, outcome.lateMs].map((values) =>
    sortedBetween(outcome, values, fromMs, toMs),
  );
  const of = (share: number): number => quantileOf(latency, share);
  return {
    requests: latency?.length ?? 0,
    p50_ms: of(0.5),
    p90_ms: of(0.9),
    p99_ms: of(0.99),
    p999_ms: of(0.999),
    max_ms: of(1),
    late_p99_ms: quantileOf(late, 0.99),
  };
}

/** Divides the phase into equal slices of time, for a timeline. */
export function slices(outcome: SendOutcome, sliceMs: number): readonly Slice[] {
  const endMs = outcome.dueMs.at(-1) ?? 0;
  const count = Math.floor(endMs / sliceMs) + 1;
  return Array.from({ length: count }, (_, n) => ({
    from_ms: n * sliceMs,
    ...summarise(outcome, n * sliceMs, (n + 1) * sliceMs),
  }));
}

/** Latency at each of `CURVE_SHARES`, ms, of the requests that were due from `fromMs` on. */
export function curve(outcome: SendOutcome, fromMs = 0): readonly number[] {
  const sorted = sortedBetween(outcome, outcome.latencyMs, fromMs, Infinity);
  return CURVE_SHARES.map((share) => quantileOf(sorted, share));
}

/** Number of requests per status; '0' means no response. */
export function countStatuses({ status }: SendOutcome): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const one of status) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
}

function sortedBetween({ dueMs }: SendOutcome, values: Float64Array, fromMs: number, toMs: number): Float64Array {
  return values
    .filter((_, n) => (dueMs[n] ?? 0) >= fromMs && (dueMs[n] ?? 0) < toMs)
    .map((value) => (Number.isNaN(value) ? Infinity : value))
    .sort();
}

function quantileOf(sorted: Float64Array | undefined, share: number): number {
  if (sorted === undefined || sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
