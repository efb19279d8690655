import { RATE_WINDOW_SECONDS } from './limits.ts';

/**
 * Returns the start of the rate window of `nowSeconds`, after one that began at `startSeconds`; -1 if there was none. If the clock steps
 * back by up to one window, that window continues; if it steps back further, a new window starts.
 */
export function windowStart(startSeconds: number, nowSeconds: number): number {
  const start = nowSeconds - (nowSeconds % RATE_WINDOW_SECONDS);
  return start <= startSeconds && start >= startSeconds - RATE_WINDOW_SECONDS ? startSeconds : start;
}

/** The current rate window. Windows start at multiples of 60 s. Source: contract, 3.9. */
export class FixedWindow {
  #startSeconds = -1;

  /** Unix seconds. */
  get startSeconds(): number {
    return this.#startSeconds;
  }

  /** Unix seconds. */
  get endSeconds(): number {
    return this.#startSeconds + RATE_WINDOW_SECONDS;
  }

  /** Moves to the window of `nowSeconds`. Returns whether a new one begins. */
  roll(nowSeconds: number): boolean {
    const before = this.#startSeconds;
    this.#startSeconds = windowStart(before, nowSeconds);
    return this.#startSeconds !== before;
  }
}
