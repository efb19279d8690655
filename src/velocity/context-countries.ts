import type { Familiarity } from '../risk/history.ts';

/**
 * Two countries of an account in one word, 16 bits each: code 10 bits (`country.ts`) << 6 | sessions 6 bits, where 63 means 63 or more; 0
 * is empty. A third country replaces the less used one.
 *
 * When two workers count at the same time, one count may be lost.
 */
const HALF = 0xffff;
const COUNT_BITS = 6;
const COUNT_MAX = 63;
const HALVES = [0, 16] as const;

/** `code` 0 means that the event has no country. */
export function countryFamiliarity(word: number, code: number): Familiarity {
  if (code === 0 || word === 0) return 'unknown';
  return shiftOf(word, code) < 0 ? 'new' : 'known';
}

export function addCountry(words: Uint32Array, at: number, code: number): void {
  const word = words[at] ?? 0;
  const found = shiftOf(word, code);
  const shift = found < 0 ? (countAt(word, 0) <= countAt(word, 16) ? 0 : 16) : found;
  const count = found < 0 ? 1 : Math.min(COUNT_MAX, countAt(word, shift) + 1);
  Atomics.compareExchange(words, at, word, withHalf(word, shift, (code << COUNT_BITS) | count));
}

/** Reverts one session. */
export function removeCountry(words: Uint32Array, at: number, code: number): void {
  const word = words[at] ?? 0;
  const shift = shiftOf(word, code);
  if (shift < 0) return;
  const count = countAt(word, shift) - 1;
  Atomics.compareExchange(words, at, word, withHalf(word, shift, count <= 0 ? 0 : (code << COUNT_BITS) | count));
}

function shiftOf(word: number, code: number): number {
  for (const shift of HALVES) if (((word >>> shift) & HALF) >>> COUNT_BITS === code) return shift;
  return -1;
}

function countAt(word: number, shift: number): number {
  return (word >>> shift) & COUNT_MAX;
}

function withHalf(word: number, shift: number, half: number): number {
  return ((word & ~(HALF << shift)) | (half << shift)) >>> 0;
}
