import type { WorkConsumer } from '../ports/work-queue-port.ts';
import type { StoreFault, StoreWrite } from '../state/durable.ts';
import type { Delivery } from '../work/webhook.ts';

export interface IntakeParts {
  readonly queue: WorkConsumer;
  rowsOf(bytes: Uint8Array): readonly Delivery[];
  /** Writes the rows, and the mark up to which entries are stored, in one transaction. */
  insert(rows: readonly Delivery[], upToSequence: number): StoreWrite<unknown>;
  onStored(rows: readonly Delivery[]): void;
  onFault(fault: StoreFault): void;
  /** Called when the queue cannot be read; it is retried. */
  onUnread(error: unknown): void;
  /** Calls back in a later turn of the event loop; `ms` 0 means the next one. */
  after(ms: number, then: () => void): void;
}

/** Choice: bytes per transaction, some hundred entries and a few milliseconds of this thread. */
const READ_BYTES = 65_536;
/** Choice: pause after the store refused a write or the queue could not be read. */
const RETRY_MS = 1_000;

/**
 * Stores the deliveries of outbox entries: what has arrived in one transaction, then, after a turn of the event loop, the next. An entry is
 * acknowledged when its rows are stored, and nothing is sent before. Memory holds one transaction's entries; the rest stays in the queue.
 */
export class Intake {
  readonly #parts: IntakeParts;
  /** What the store has not accepted yet. */
  #unstored: { readonly rows: readonly Delivery[]; readonly upTo: number } | null = null;
  #isScheduled = false;
  #isClosed = false;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /** Call after entries were announced to the queue. */
  wake(): void {
    this.#runAfter(0);
  }

  close(): void {
    this.#isClosed = true;
  }

  #runAfter(ms: number): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    this.#parts.after(ms, () => {
      this.#isScheduled = false;
      if (!this.#isClosed) this.#run();
    });
  }

  #run(): void {
    try {
      this.#unstored ??= this.#receive();
    } catch (error) {
      this.#parts.onUnread(error);
      this.#runAfter(RETRY_MS);
      return;
    }
    if (this.#unstored === null) return;
    const { rows, upTo } = this.#unstored;
    const stored = this.#parts.insert(rows, upTo);
    if (stored.kind === 'fault') {
      this.#parts.onFault(stored);
      this.#runAfter(RETRY_MS);
      return;
    }
    this.#unstored = null;
    this.#parts.queue.ack(upTo);
    this.#parts.onStored(rows);
    this.#runAfter(0);
  }

  #receive(): { readonly rows: readonly Delivery[]; readonly upTo: number } | null {
    const entries = this.#parts.queue.receive(READ_BYTES);
    const last = entries.at(-1);
    if (last === undefined) return null;
    return { rows: entries.flatMap(({ bytes }) => this.#parts.rowsOf(bytes)), upTo: last.sequence };
  }
}
