import type { TouchedShare } from './own-rule.ts';

/** The circuit breaker of an own rule or of the model: when it touches far more than was predicted. Source: contract, 6.9. */

/** Choice: long enough for a small shop to have traffic, short enough that a quiet night does not hide what happens now. */
export const BREAKER_WINDOW_MS = 3_600_000;
/** Choice: below it a family of shared causes, such as one office or one campaign, explains a burst as well as a wrong rule does. */
export const BREAKER_TOUCHED_MIN = 50;
/** Choice: one person, or one machine, must not be able to switch a rule off: a /24 or a /48 counts once. */
export const BREAKER_NETWORKS_MIN = 20;
/** Source: the rule of three. Without a touch in n decisions the true share is at most 3 / n, with 95 %. */
const TOUCHED_MARGIN = 3;

/** Returns the share of decisions from which on a rule touches too many; above 1 it never does. */
export function tripShare({ touched, decisions }: TouchedShare, factor: number): number {
  return decisions === 0 ? Infinity : (factor * (touched + TOUCHED_MARGIN)) / decisions;
}

/** Counts what one rule touches, in windows of an hour that begin with the first decision. Memory is constant. */
export class RuleBreaker {
  readonly #tripShare: number;
  readonly #networks = new Set<string>();
  #startMs = Number.NEGATIVE_INFINITY;
  #decisions = 0;
  #touched = 0;

  /** `share`: of the decisions, above which it touches too many. */
  constructor(share: number) {
    this.#tripShare = share;
  }

  /** What it counted in the present window. */
  get counted(): TouchedShare {
    return { touched: this.#touched, decisions: this.#decisions };
  }

  /** Counts a decision on which the rule did not fire. */
  pass(nowMs: number): void {
    this.#begin(nowMs);
    this.#decisions++;
  }

  /** Counts a decision on which it fired; `network`: that of the address, as text. Returns whether it touches too many. */
  touch(network: string, nowMs: number): boolean {
    this.pass(nowMs);
    this.#touched++;
    if (this.#networks.size < BREAKER_NETWORKS_MIN) this.#networks.add(network);
    return (
      this.#touched >= BREAKER_TOUCHED_MIN &&
      this.#networks.size >= BREAKER_NETWORKS_MIN &&
      this.#touched / this.#decisions > this.#tripShare
    );
  }

  #begin(nowMs: number): void {
    if (nowMs - this.#startMs < BREAKER_WINDOW_MS) return;
    this.#startMs = nowMs;
    this.#decisions = 0;
    this.#touched = 0;
    this.#networks.clear();
  }
}
