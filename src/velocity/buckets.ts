import type { Table } from './table.ts';

/**
 * Counts, by their time, the events that a ring had no room for: one word per ninth of the window, epoch << 16 | count. Only part of the
 * oldest bucket is inside the window; it is weighted by that part.
 *
 * Error: at most the count in that ninth, on average under a tenth of it with even traffic. A bucket stops at 65,535.
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

/** Returns a fraction, because the oldest bucket is weighted. */
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
