import { DECISION_SCAN_SLICE_MS } from '../limits.ts';

/**
 * Long reads on the main thread take turns: one slice of one of them in a turn of the event loop, however many there are, so
 * that requests never wait for more than a slice.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is the caller's turn. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#run());
    });
  }

  #run(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#run());
  }
}

/** Of one read: says when its slice is over. */
export class Slices {
  readonly #turns: Turns;
  #endMs = 0;

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  async begin(): Promise<void> {
    await this.#turns.next();
    this.#endMs = performance.now() + DECISION_SCAN_SLICE_MS;
  }

  get isOver(): boolean {
    return performance.now() >= this.#endMs;
  }
}
