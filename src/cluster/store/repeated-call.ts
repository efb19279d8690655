/** Repeats a call to the store: one at a time, each `everyMs` after the end of the one before. */
export class RepeatedCall<T> {
  readonly #everyMs: number;
  readonly #call: () => Promise<T>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<T> | null = null;
  #isClosed = false;

  constructor(everyMs: number, call: () => Promise<T>) {
    this.#everyMs = everyMs;
    this.#call = call;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Makes the first call after `everyMs`. */
  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.now().finally(() => this.start()), this.#everyMs).unref();
  }

  /** Calls now, unless a call is in progress. Returns its result. */
  now(): Promise<T> {
    this.#running ??= this.#call().finally(() => (this.#running = null));
    return this.#running;
  }

  /** Calls when the call in progress has ended: that one may have an earlier state. */
  async again(): Promise<T> {
    await this.#running;
    return this.now();
  }

  /** Makes no further call of itself. Resolves when the one in progress has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}
