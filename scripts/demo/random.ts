import { createHash } from 'node:crypto';

/** Chance that is the same in every run: the demo's two runs must print one table. */
export interface Random {
  /** 0 up to, but not, 1. */
  next(): number;
  /** A whole number, both ends included. */
  whole(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  hex(digits: number): string;
}

/** A stream of its own for each text, so that a new persona changes nothing in the others. */
export function seeded(text: string): Random {
  let state = createHash('sha256').update(text).digest().readUInt32LE(0);
  // mulberry32: a few lines, and even enough for this.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const whole = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    whole,
    chance: (probability) => next() < probability,
    pick(from) {
      const picked = from[whole(0, from.length - 1)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
    hex: (digits) => Array.from({ length: digits }, () => whole(0, 15).toString(16)).join(''),
  };
}
