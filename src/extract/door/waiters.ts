/** Callers that wait for the end of a job. */
export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #after: (ms: number, then: () => void) => () => void;

  /** `after` calls `then` once, later. The returned function cancels it. */
  constructor(after: (ms: number, then: () => void) => () => void) {
    this.#after = after;
  }

  /** Resolves when `tell` is called with the id, or after `timeoutMs`. */
  wait(id: string, timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(id) ?? new Set();
      this.#waiting.set(id, waiting);
      const done = (): void => {
        callOff();
        waiting.delete(done);
        if (waiting.size === 0) this.#waiting.delete(id);
        resolve();
      };
      const callOff = this.#after(timeoutMs, done);
      waiting.add(done);
    });
  }

  tell(id: string): void {
    for (const done of this.#waiting.get(id) ?? []) done();
  }

  /** Releases all waiting callers, because no job ends any more. */
  tellAll(): void {
    for (const id of this.#waiting.keys()) this.tell(id);
  }
}
