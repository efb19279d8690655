/**
 * Circuit breaker of the connection to one primary. Open: nothing is sent except a probe. It opens when the connection is lost, or when
 * some round trips in succession miss their deadline; it closes when a probe is answered within the deadline.
 *
 * Half-open trials are probes of the connection itself, not requests of callers, so no decision waits for a store that is still down.
 */
export class Breaker {
  readonly #lateMax: number;
  #isOpen = true;
  #late = 0;
  #opened = 0;

  /** Open until the first probe is answered. `lateMax`: late round trips in succession that open it. */
  constructor(lateMax: number) {
    this.#lateMax = lateMax;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Times that it opened. */
  get opened(): number {
    return this.#opened;
  }

  onTime(): void {
    this.#late = 0;
  }

  late(): void {
    if (++this.#late >= this.#lateMax) this.lost();
  }

  lost(): void {
    if (!this.#isOpen) this.#opened++;
    this.#isOpen = true;
  }

  /** A probe was answered within the deadline. */
  proved(): void {
    this.#isOpen = false;
    this.#late = 0;
  }
}
