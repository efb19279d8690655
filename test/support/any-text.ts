import * as fc from 'fast-check';

/** First surrogate code point, and the number of surrogates; these are excluded. */
const HALVES_FROM = 0xd800;
const HALVES = 0x800;

/**
 * Any character, like `unit: 'binary'`, which builds a table of a million characters; that takes two seconds in each test process. Gives
 * the same texts for the same seed.
 */
export const ANY_CHARACTER = fc.nat(0x10_ffff - HALVES).map(
  (place) => String.fromCodePoint(place < HALVES_FROM ? place : place + HALVES),
  (character) => {
    const point = typeof character === 'string' ? (character.codePointAt(0) ?? -1) : -1;
    if (point < 0 || character !== String.fromCodePoint(point)) throw new Error('not a character');
    return point < HALVES_FROM ? point : point - HALVES;
  },
);
