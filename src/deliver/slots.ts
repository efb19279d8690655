import { ENDPOINT_ATTEMPTS_MAX, ENDPOINT_ATTEMPTS_MIN } from '../limits.ts';

/**
 * How much of the worker an endpoint may take, by what its last attempt showed. `slow` is one whose attempt takes long
 * or ran into its time limit: each of its attempts holds a slot for seconds. `unproven` has shown nothing yet, or failed quickly.
 */
export const STANDINGS = ['proven', 'unproven', 'slow'] as const;
export type Standing = (typeof STANDINGS)[number];

/** What came of an attempt, as far as slots are concerned. */
export type AttemptPace = 'succeeded' | 'failed' | 'timed_out';

export function standingAfter(pace: AttemptPace): Standing {
  switch (pace) {
    case 'succeeded':
      return 'proven';
    case 'failed':
      return 'unproven';
    case 'timed_out':
      return 'slow';
  }
}

/** Attempts that an endpoint may have in flight after one that went so: more by one after each success, half after a time-out. */
export function allowanceAfter(allowance: number, pace: AttemptPace): number {
  switch (pace) {
    case 'succeeded':
      return Math.min(ENDPOINT_ATTEMPTS_MAX, allowance + 1);
    case 'failed':
      return allowance;
    case 'timed_out':
      return Math.max(ENDPOINT_ATTEMPTS_MIN, Math.floor(allowance / 2));
  }
}

/**
 * The slots of a whole worker. Slow endpoints have half of them at most, those that are not proven three quarters, so however
 * many endpoints hang, one that answers finds a slot.
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

  take(standing: Standing): void {
    this.#taken[standing]++;
  }

  /** An attempt that was taken otherwise turns out to be slow; it stays what it was where slow ones have no room. */
  slowDown(standing: Exclude<Standing, 'slow'>): Standing {
    if (this.#taken.slow >= this.#max.slow) return standing;
    if (standing === 'proven' && this.#taken.unproven + this.#taken.slow >= this.#max.unproven) return standing;
    this.#taken[standing]--;
    this.#taken.slow++;
    return 'slow';
  }

  /** `standing` is what it was taken with, or what `slowDown` gave. */
  give(standing: Standing): void {
    this.#taken[standing]--;
  }
}
