import { idleSecondsOf, SEEN_MIN } from './layout.ts';

/** What the state of a place says (`layout.ts`). */

/** Choice: making a record takes under 1 µs; after so long its maker is gone, and another one may have the place. */
const CLAIM_SECONDS_MAX = 10;

/** The state of a place whose record is being made. */
export function claimOf(nowSeconds: number): number {
  return (nowSeconds & 0xffff) + 1;
}

/** A place that was claimed and then left by a worker that died. */
export function isLeft(state: number, nowSeconds: number): boolean {
  return state !== 0 && state < SEEN_MIN && Math.abs(((nowSeconds - state + 1) << 16) >> 16) > CLAIM_SECONDS_MAX;
}

/** Ages from here on are those of places whose record counts no more. */
export const AGE_OVER = 1e11;

/** Of what is thrown out the oldest goes first; -1 for what may not be. */
export function ageOf(tag: number, state: number, nowSeconds: number): number {
  if (state === 0) return Infinity;
  if (state < SEEN_MIN) return isLeft(state, nowSeconds) ? 1e12 : -1;
  const age = Math.max(0, nowSeconds - state);
  return age > idleSecondsOf(tag) ? age + AGE_OVER : age;
}

export function isLiving(tag: number, state: number, nowSeconds: number): boolean {
  return state >= SEEN_MIN && nowSeconds - state <= idleSecondsOf(tag);
}
