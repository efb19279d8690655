/** Calls to another thread that have no result yet. Each is identified by a number, under which the other side returns its result. */
export class Calls {
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #next = 1;

  /** Sends a call, and resolves to its result. Rejects if the other side ends before. */
  make<T>(send: (call: number) => void): Promise<T> {
    const call = this.#next++;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(call, { resolve: (value) => resolve(value as T), reject });
      send(call);
    });
  }

  /** Takes the result of a call; ignores unknown numbers. */
  returned(call: number, value: unknown): void {
    this.#waiting.get(call)?.resolve(value);
    this.#waiting.delete(call);
  }

  /** Takes the failure of a call; ignores unknown numbers. */
  failed(call: number, error: Error): void {
    this.#waiting.get(call)?.reject(error);
    this.#waiting.delete(call);
  }

  /** Rejects all calls, because the other side has ended. */
  fail(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
