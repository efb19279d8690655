import type { Table } from './table.ts';

/**
 * Counts of what a ring had no room for, by when it was: a word for each ninth of the window, epoch << 16 | count. The oldest
 * bucket is in the window with a part only, and counts by that part.
 *
 * Error: at most the count in that ninth, on average under a tenth of it at even traffic; a bucket ends at 65,535.
 */
export const BUCKETS = 10;

const MASK = 0xffff;
const TRIES_MAX = 64;

export function addToBucket(table: Table, at: number, windowMs: number, eventMs: number): void {
  const { words } = table;
  const epoch = Math.floor(eventMs / widthOf(windowMs));
  const bucket = at + (epoch % BUCKETS);
  const head = ((epoch & MASK) << 16) >>> 0;
  for (let n = 0; n < TRIES_MAX; n++) {
    const word = words[bucket] ?? 0;
    const count = (word & ~MASK) >>> 0 === head ? word & MASK : 0;
    if (count === MASK || Atomics.compareExchange(words, bucket, word, head + count + 1) === word) return;
  }
  table.lose();
}

/** Not a whole number: the oldest bucket counts by its part. */
export function sumBuckets({ words }: Table, at: number, windowMs: number, nowMs: number): number {
  const widthMs = widthOf(windowMs);
  const epoch = Math.floor(nowMs / widthMs);
  const partOfOldest = 1 - (nowMs - epoch * widthMs) / widthMs;
  let sum = 0;
  for (let i = at; i < at + BUCKETS; i++) {
    const word = words[i] ?? 0;
    const age = (epoch - (word >>> 16)) & MASK;
    if (age < BUCKETS) sum += (word & MASK) * (age === BUCKETS - 1 ? partOfOldest : 1);
  }
  return sum;
}

function widthOf(windowMs: number): number {
  return windowMs / (BUCKETS - 1);
}
