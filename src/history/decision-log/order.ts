import type { Span } from './block.ts';

/** A position in the order of a customer's decisions: by time, then by arrival. The pair is unique. */
export interface LogPlace {
  readonly occurredAtMs: number;
  readonly arrival: number;
}

/** Returns a value above 0 if `a` is newer. */
export function comparePlaces(a: LogPlace, b: LogPlace): number {
  return a.occurredAtMs - b.occurredAtMs || a.arrival - b.arrival;
}

/** Returns the upper bound of the block's rows. */
export function newestOf(span: Span): LogPlace {
  return { occurredAtMs: span.newestMs, arrival: span.lastArrival };
}

/** Returns whether a row of the block can be older than `place`. */
export function reachesBefore(span: Span, place: LogPlace): boolean {
  if (span.oldestMs !== place.occurredAtMs) return span.oldestMs < place.occurredAtMs;
  return span.firstArrival < place.arrival;
}
