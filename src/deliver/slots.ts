import { ATTEMPT_LATE_MS, ENDPOINT_ATTEMPTS_MAX, ENDPOINT_ATTEMPTS_MIN } from '../limits.ts';

/**
 * How much of the worker an endpoint may take, by what its attempts showed. `slow` is one whose attempts take long: each of them
 * holds a slot for up to seconds, whether it succeeds or not. `unproven` has shown nothing yet, or failed quickly.
 */
export const STANDINGS = ['proven', 'unproven', 'slow'] as const;
export type Standing = (typeof STANDINGS)[number];

/** What came of an attempt, as far as slots are concerned. */
export type AttemptCourse = 'succeeded' | 'failed' | 'timed_out';

/** Choice: how much of the usual time an attempt makes up, so that one that is late by chance changes nothing, and a habit does. */
const NEWEST_SHARE = 0.25;

/** How long the endpoint's attempts take, ms, the newest ones above all. */
export function usualMsAfter(usualMs: number, durationMs: number): number {
  return Math.round(usualMs + NEWEST_SHARE * (durationMs - usualMs));
}

/** `usualMs` with this attempt in it. */
export function standingAfter(course: AttemptCourse, usualMs: number): Standing {
  if (course === 'timed_out' || usualMs > ATTEMPT_LATE_MS) return 'slow';
  return course === 'succeeded' ? 'proven' : 'unproven';
}

/**
 * Attempts that an endpoint may have in flight after one that went so: more by one after each success, half after a time-out.
 * Choice: a late success counts as well. A receiver that needs a second for each takes as many a second as it has in flight; what
 * its attempts may hold is bounded by what else is in flight (`Slots.hasShare`), not by their number.
 */
export function allowanceAfter(allowance: number, course: AttemptCourse): number {
  switch (course) {
    case 'succeeded':
      return Math.min(ENDPOINT_ATTEMPTS_MAX, allowance + 1);
    case 'failed':
      return allowance;
    case 'timed_out':
      return Math.max(ENDPOINT_ATTEMPTS_MIN, Math.floor(allowance / 2));
  }
}

/**
 * Choice: an endpoint has at most as many in flight as this times the part that is free. Alone, and beside a dozen others, it has all
 * that it may have; the more is held, the fewer each may add, and the last slots are for endpoints that have nothing in flight.
 */
const SHARE_ATTEMPTS = 2 * ENDPOINT_ATTEMPTS_MAX;

/** Whether an endpoint with so many in flight may begin another where `free` of `max` places are free. */
export function isWithinShare(inFlight: number, free: number, max: number): boolean {
  return inFlight * max < SHARE_ATTEMPTS * free;
}

/**
 * The slots of a whole worker. Nothing of a slow endpoint begins where slow ones have half of them, nothing of one that is not proven
 * where both have three quarters. What turns out to be late counts as slow from then on, also beyond that half: then slow ones wait
 * until they are back below it.
 *
 * So, with all 512 slots: as long as fewer than 128 endpoints have something in flight, however long it takes, one that is proven
 * finds a slot at once. With more there may be none; then one is free when an attempt ends, 5 s later at most, and those whose
 * attempts took so long no longer stand in that line.
 */
export class Slots {
  readonly #max: Readonly<Record<Standing, number>>;
  readonly #taken: Record<Standing, number> = { proven: 0, unproven: 0, slow: 0 };

  constructor(attemptsInFlightMax: number) {
    const part = (share: number): number => Math.max(1, Math.floor(attemptsInFlightMax * share));
    this.#max = { proven: attemptsInFlightMax, unproven: part(0.75), slow: part(0.5) };
  }

  get taken(): number {
    return this.#taken.proven + this.#taken.unproven + this.#taken.slow;
  }

  hasRoom(standing: Standing): boolean {
    if (this.taken >= this.#max.proven) return false;
    if (standing === 'proven') return true;
    if (this.#taken.unproven + this.#taken.slow >= this.#max.unproven) return false;
    return standing === 'unproven' || this.#taken.slow < this.#max.slow;
  }

  /** Whether an endpoint with so many in flight may have one more. True for one with none where its standing has room. */
  hasShare(standing: Standing, inFlight: number): boolean {
    const max = this.#max.proven;
    if (!isWithinShare(inFlight, max - this.taken, max)) return false;
    return standing !== 'slow' || isWithinShare(inFlight, this.#max.slow - this.#taken.slow, this.#max.slow);
  }

  take(standing: Standing): void {
    this.#taken[standing]++;
  }

  /** An attempt that was taken otherwise turns out to be late. */
  slowDown(standing: Exclude<Standing, 'slow'>): void {
    this.#taken[standing]--;
    this.#taken.slow++;
  }

  /** `standing` is what it was taken with, or `slow` after `slowDown`. */
  give(standing: Standing): void {
    this.#taken[standing]--;
  }
}
