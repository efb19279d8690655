import type { Span } from './block.ts';

/** A place in the order of a customer's decisions, which goes by time and then by arrival; both are unique together. */
export interface Place {
  readonly occurredAtMs: number;
  readonly arrival: number;
}

/** Above 0 where `a` is newer. */
export function comparePlaces(a: Place, b: Place): number {
  return a.occurredAtMs - b.occurredAtMs || a.arrival - b.arrival;
}

/** No row of the block is newer than this. */
export function newestOf(span: Span): Place {
  return { occurredAtMs: span.newestMs, arrival: span.lastArrival };
}

/** Whether a row of the block can be older than `place`. */
export function reachesBefore(span: Span, place: Place): boolean {
  if (span.oldestMs !== place.occurredAtMs) return span.oldestMs < place.occurredAtMs;
  return span.firstArrival < place.arrival;
}
