import { ATTEMPT_LATE_MS, ENDPOINT_ATTEMPTS_MAX, ENDPOINT_ATTEMPTS_MIN } from '../kernel/delivery-limits.ts';

/**
 * Class of an endpoint, derived from its attempts: how much of the worker it may use. `slow` endpoints have slow attempts: each holds a
 * slot for up to seconds, whether it succeeds or not. `unproven` endpoints have no result yet, or failed quickly.
 */
export const STANDINGS = ['proven', 'unproven', 'slow'] as const;
export type Standing = (typeof STANDINGS)[number];

/** Result of an attempt, as far as the concurrency limiter is concerned. */
export type AttemptCourse = 'succeeded' | 'failed' | 'timed_out';

/** Choice: weight of an attempt in the moving average, so that a single slow attempt changes nothing, but repeated ones do. */
const NEWEST_SHARE = 0.25;

/** Returns the moving average of the attempts' duration, ms; recent attempts weigh most. */
export function usualMsAfter(usualMs: number, durationMs: number): number {
  return Math.round(usualMs + NEWEST_SHARE * (durationMs - usualMs));
}

/** `usualMs` includes this attempt. */
export function standingAfter(course: AttemptCourse, usualMs: number): Standing {
  if (course === 'timed_out' || usualMs > ATTEMPT_LATE_MS) return 'slow';
  return course === 'succeeded' ? 'proven' : 'unproven';
}

/**
 * Returns how many attempts an endpoint may have in flight after this result: one more after a success, half after a time-out.
 * Choice: a slow success counts as well. A receiver that takes a second per attempt handles as many per second as are in flight. The slots
 * it may hold are limited by what else is in flight (`Slots.hasShare`), not by its number of attempts.
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
 * Choice: an endpoint may hold at most this factor times the free fraction of slots. Alone, and among a dozen others, it gets its full
 * allowance; the more slots are taken, the fewer each endpoint may add. The last slots are for endpoints with nothing in flight.
 */
const SHARE_ATTEMPTS = 2 * ENDPOINT_ATTEMPTS_MAX;

/** Returns whether an endpoint with this many attempts in flight may start another while `free` of `max` slots are free. */
export function isWithinShare(inFlight: number, free: number, max: number): boolean {
  return inFlight * max < SHARE_ATTEMPTS * free;
}

/**
 * Concurrency limiter of a worker. No attempt of a slow endpoint starts while slow ones hold half of the slots. No attempt of an unproven
 * or slow endpoint starts while both together hold three quarters. An attempt that turns out to be slow counts as slow from then on, even
 * beyond that half; then slow ones wait until they are below it again.
 *
 * So, with all 512 slots: while fewer than 128 endpoints have attempts in flight, however long these take, a proven endpoint gets a slot at
 * once. With more there may be no free slot; then one is free when an attempt ends, after 5 s at most, and endpoints whose attempts took
 * that long are no longer in the proven class.
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

  /**
   * Returns whether an endpoint with this many attempts in flight may have one more. True for an endpoint with none in flight while its
   * class has room.
   */
  hasShare(standing: Standing, inFlight: number): boolean {
    const max = this.#max.proven;
    if (!isWithinShare(inFlight, max - this.taken, max)) return false;
    return standing !== 'slow' || isWithinShare(inFlight, this.#max.slow - this.#taken.slow, this.#max.slow);
  }

  take(standing: Standing): void {
    this.#taken[standing]++;
  }

  /** Moves the slot of an attempt that turned out to be slow. */
  slowDown(standing: Exclude<Standing, 'slow'>): void {
    this.#taken[standing]--;
    this.#taken.slow++;
  }

  /** `standing` is the class that the slot was acquired with, or `slow` after `slowDown`. */
  give(standing: Standing): void {
    this.#taken[standing]--;
  }
}
