/** Choice: an outage makes 20 requests wait, and no others. */
const FAILURES = 20;
const WINDOW_MS = 10_000;
const OPEN_MS = 5_000;
const ASK_ONE_IN = 20;

/**
 * Decides whether the service is asked at all. After 20 failures within 10 s only one request in 20 is asked, for 5 s after the last
 * failure; the first success ends that.
 */
export class CircuitBreaker {
  readonly #nowMs: () => number;
  /** Times of the last failures, oldest first, at most `FAILURES`. */
  readonly #failuresMs: number[] = [];
  #openUntilMs = -Infinity;
  #spared = 0;

  /** @param nowMs a clock that never goes back. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get isOpen(): boolean {
    return this.#nowMs() < this.#openUntilMs;
  }

  mayAsk(): boolean {
    if (!this.isOpen) return true;
    this.#spared++;
    if (this.#spared < ASK_ONE_IN) return false;
    this.#spared = 0;
    return true;
  }

  onSuccess(): void {
    if (!this.isOpen) return;
    this.#openUntilMs = -Infinity;
    this.#failuresMs.length = 0;
  }

  onFailure(): void {
    const nowMs = this.#nowMs();
    this.#failuresMs.push(nowMs);
    if (this.#failuresMs.length > FAILURES) this.#failuresMs.shift();
    const [firstMs = nowMs] = this.#failuresMs;
    if (this.#failuresMs.length < FAILURES || nowMs - firstMs > WINDOW_MS) return;
    if (!this.isOpen) this.#spared = 0;
    this.#openUntilMs = nowMs + OPEN_MS;
  }
}
