import * as fc from 'fast-check';

/** Of Unicode's code points those that are no half of a pair. */
const HALVES_FROM = 0xd800;
const HALVES = 0x800;

/**
 * What `unit: 'binary'` is, any character: that one makes a table of a million of them, which takes two seconds in each process of
 * tests. For the same seed it gives the same texts.
 */
export const ANY_CHARACTER = fc.nat(0x10_ffff - HALVES).map(
  (place) => String.fromCodePoint(place < HALVES_FROM ? place : place + HALVES),
  (character) => {
    const point = typeof character === 'string' ? (character.codePointAt(0) ?? -1) : -1;
    if (point < 0 || character !== String.fromCodePoint(point)) throw new Error('no character');
    return point < HALVES_FROM ? point : point - HALVES;
  },
);
