/** The total time of a call: its attempts, the waits between them and the reading of each body. */
export class CallDeadline {
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
  /** Never resolves; rejects when the time is over, even where a runtime does not end an aborted request at once. */
  readonly #over: Promise<never>;
  readonly #endMs: number;
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(timeoutMs: number) {
    const controller = new AbortController();
    this.signal = controller.signal;
    this.#endMs = performance.now() + timeoutMs;
    let reject: ((reason: Error) => void) | undefined;
    this.#over = new Promise<never>((_resolve, rejectOver) => (reject = rejectOver));
    this.#over.catch(() => {});
    this.#timer = setTimeout(() => {
      const reason = new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError');
      reject?.(reason);
      controller.abort(reason);
    }, timeoutMs);
  }

  get remainingMs(): number {
    return this.#endMs - performance.now();
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  /** Returns the promise's value, or rejects when the time is over before it. */
  within<Value>(promise: Promise<Value>): Promise<Value> {
    // The promise may still reject later, which nothing else would handle.
    promise.catch(() => {});
    return Promise.race([promise, this.#over]);
  }

  /** Must be called when the call has ended, so that the timer does not keep the process running. */
  end(): void {
    clearTimeout(this.#timer);
  }
}
