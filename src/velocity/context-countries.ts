import type { Familiarity } from '../core/history.ts';

/**
 * Two countries of an account in one word, 16 bits each: code 10 bits (`country.ts`) << 6 | sessions 6 bits, where 63 are 63 and more; 0 is
 * none. A third country takes the place of the one that was used less.
 *
 * Of two workers that count at once one may be lost.
 */
const HALF = 0xffff;
const COUNT_BITS = 6;
const COUNT_MAX = 63;
const HALVES = [0, 16] as const;

/** `code` 0 is no country. */
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

/** Takes one session back. */
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
