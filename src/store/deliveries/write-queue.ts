import type { StoreFault } from '../durable.ts';

/** What one call handed over, and how far it has come. */
interface Waiting<T> {
  readonly items: readonly T[];
  written: number;
  readonly resolve: (fault: StoreFault | null) => void;
}

/**
 * One write at a time, each with all that came while the one before it ran, in order and up to a bound: so thousands of small
 * calls a second make few transactions, and one large call does not hold the main thread.
 */
export class WriteQueue<T> {
  readonly #write: (items: readonly T[]) => Promise<StoreFault | null>;
  readonly #perWrite: number;
  #waiting: Waiting<T>[] = [];
  #running = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(write: (items: readonly T[]) => Promise<StoreFault | null>, perWrite: number) {
    this.#write = write;
    this.#perWrite = perWrite;
  }

  /** Resolves when all of them are written; with the fault when one is not, and what stands behind it in `items` is not either. */
  add(items: readonly T[]): Promise<StoreFault | null> {
    if (items.length === 0) return Promise.resolve(null);
    const added = new Promise<StoreFault | null>((resolve) => {
      this.#waiting.push({ items, written: 0, resolve });
    });
    this.#last = added;
    if (!this.#running) void this.#run();
    return added;
  }

  /** Resolves when everything that was added before this call is written or refused. */
  async settled(): Promise<void> {
    await this.#last;
  }

  async #run(): Promise<void> {
    this.#running = true;
    // So that what comes in the same turn goes into the first write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      const fault = await this.#write(batch.items);
      for (const call of batch.calls) {
        if (fault !== null || call.written === call.items.length) call.resolve(fault);
      }
      if (fault !== null) this.#waiting = this.#waiting.filter((call) => !batch.calls.includes(call));
    }
    this.#running = false;
  }

  #take(): { items: readonly T[]; calls: readonly Waiting<T>[] } {
    const items: T[] = [];
    const calls: Waiting<T>[] = [];
    for (const call of this.#waiting) {
      if (items.length === this.#perWrite) break;
      const some = call.items.slice(call.written, call.written + this.#perWrite - items.length);
      items.push(...some);
      call.written += some.length;
      calls.push(call);
    }
    const whole = calls.filter((call) => call.written === call.items.length).length;
    this.#waiting.splice(0, whole);
    return { items, calls };
  }
}
