import type { Problem } from '../contract/problem.ts';
import { badQuery } from './query.ts';

export type TimeRange =
  | { readonly kind: 'range'; readonly from: number; readonly to: number }
  | { readonly kind: 'problem'; readonly problem: Problem };

const DAY_SECONDS = 86_400;
const REVERSED = 'This must be before to.';

/** Returns the range of a query, Unix seconds; by default the last 24 hours. */
export function readRange(
  { from, to }: { readonly from: number | undefined; readonly to: number | undefined },
  nowSeconds: number,
): TimeRange {
  const end = to ?? nowSeconds + 1;
  const start = from ?? Math.max(0, end - DAY_SECONDS);
  if (start >= end) return { kind: 'problem', problem: badQuery('from', REVERSED) };
  return { kind: 'range', from: start, to: end };
}
