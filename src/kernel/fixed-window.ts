import { RATE_WINDOW_SECONDS } from './limits.ts';

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

  /**
   * Moves to the window of `nowSeconds`. Returns whether a new one begins. If the clock steps back by up to one window, the current window
   * continues; if it steps back further, a new window starts.
   */
  roll(nowSeconds: number): boolean {
    const start = nowSeconds - (nowSeconds % RATE_WINDOW_SECONDS);
    if (start <= this.#startSeconds && start >= this.#startSeconds - RATE_WINDOW_SECONDS) return false;
    this.#startSeconds = start;
    return true;
  }
}
