import type { StoreFault } from '../durable.ts';

/** The items of one call, and how many of them are written. */
interface Waiting<T> {
  readonly items: readonly T[];
  written: number;
  readonly resolve: (fault: StoreFault | null) => void;
}

/**
 * Runs one write at a time. Each contains everything queued during the previous one, in order and up to a limit. So thousands of small
 * calls a second cause few transactions, and one large call does not block the main thread.
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

  /** Resolves when all items are written. Resolves with the fault if one is refused; the items after it are not written either. */
  add(items: readonly T[]): Promise<StoreFault | null> {
    if (items.length === 0) return Promise.resolve(null);
    const added = new Promise<StoreFault | null>((resolve) => {
      this.#waiting.push({ items, written: 0, resolve });
    });
    this.#last = added;
    if (!this.#running) void this.#run();
    return added;
  }

  /** Resolves when everything added before this call is written or refused. */
  async settled(): Promise<void> {
    await this.#last;
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Items added in the same turn go into the first write.
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
