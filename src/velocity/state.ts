import { idleSecondsOf, SEEN_MIN } from './layout.ts';

/** Interprets the state of a slot (`layout.ts`). */

/** Choice: creating a record takes under 1 µs. After this time its worker has died, and another one may take the slot. */
const CLAIM_SECONDS_MAX = 10;

/** Returns the state of a slot whose record is being created. */
export function claimOf(nowSeconds: number): number {
  return (nowSeconds & 0xffff) + 1;
}

/** Returns whether the slot was claimed by a worker that then died. */
export function isLeft(state: number, nowSeconds: number): boolean {
  return state !== 0 && state < SEEN_MIN && Math.abs(((nowSeconds - state + 1) << 16) >> 16) > CLAIM_SECONDS_MAX;
}

/** Ages from here on belong to slots whose record no longer counts. */
export const AGE_OVER = 1e11;

/** Returns the slot's rank for eviction: the largest goes first; -1 for a slot that may not be evicted. */
export function ageOf(tag: number, state: number, nowSeconds: number): number {
  if (state === 0) return Infinity;
  if (state < SEEN_MIN) return isLeft(state, nowSeconds) ? 1e12 : -1;
  const age = Math.max(0, nowSeconds - state);
  return age > idleSecondsOf(tag) ? age + AGE_OVER : age;
}

export function isLiving(tag: number, state: number, nowSeconds: number): boolean {
  return state >= SEEN_MIN && nowSeconds - state <= idleSecondsOf(tag);
}
