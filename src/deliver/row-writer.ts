import type { Delivery } from '../core/webhook.ts';
import { DELIVERIES_WAITING_MAX } from '../limits.ts';
import type { StoreFault, StoreWrite } from '../store/durable.ts';

export interface RowWriterParts {
  /** One transaction: the rows, and how far the journal is stored with them. Resolves when they can be read. */
  insert(rows: readonly Delivery[], storedUpToSequence: number): Promise<StoreWrite<unknown>>;
  onStored(rows: readonly Delivery[], storedUpToSequence: number): void;
  onFault(fault: StoreFault): void;
}

/** Choice: how long a store that refused a write is left alone. */
const RETRY_MS = 1_000;
/** Choice: rows of one transaction; some 10 ms of the main thread. */
const ROWS_PER_WRITE = 1_000;

/**
 * Writes new deliveries to the store: all of a turn of the event loop in one transaction, one transaction after the other, so that
 * the mark of what is stored never passes by a row that is not. Only what is stored is handed out.
 */
export class RowWriter {
  readonly #parts: RowWriterParts;
  #rows: Delivery[] = [];
  #sequence = 0;
  #marked: number;
  #running: Promise<void> | null = null;
  /** Rows since the start, and those of them that can be read. */
  #added = 0;
  #stored = 0;
  /** Resolves with the write that is under way, whatever comes of it. */
  #nextWrite: Promise<unknown> = Promise.resolve();
  /** Rows were left to the journal: the mark stands still from then on, and the next start reads them from there. */
  #frozen = false;
  #closing = false;
  /** Deliveries that go out after the next start only. */
  deferred = 0;

  /** `markedUpTo` is what the store has. */
  constructor(parts: RowWriterParts, markedUpTo: number) {
    this.#parts = parts;
    this.#marked = markedUpTo;
    this.#sequence = markedUpTo;
  }

  get waiting(): number {
    return this.#rows.length;
  }

  /** `sequence` is the newest entry of the journal that has its rows among these or before. Says whether there was room. */
  add(rows: readonly Delivery[], sequence: number): boolean {
    if (this.#rows.length + rows.length > DELIVERIES_WAITING_MAX) {
      this.#frozen = true;
      this.deferred += rows.length;
      return false;
    }
    for (const row of rows) this.#rows.push(row);
    this.#added += rows.length;
    this.#sequence = Math.max(this.#sequence, sequence);
    this.#running ??= this.#run();
    return true;
  }

  /** Resolves when every row that was added before can be read, whatever is added meanwhile. */
  async settled(): Promise<void> {
    const target = this.#added;
    while (this.#stored < target && this.#running !== null && !this.#closing) await this.#nextWrite;
  }

  /** The last writes; a store that refuses them is given up on, and the journal keeps their entries. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // The rest of this turn of the event loop goes into the same transaction.
    const turn = new Promise((done) => setImmediate(done));
    this.#nextWrite = turn;
    await turn;
    while (this.#rows.length > 0) {
      const rows = this.#rows.splice(0, ROWS_PER_WRITE);
      const isLast = this.#rows.length === 0;
      // In a part of what waits the rows of one entry may be torn apart: the mark moves with the last.
      const mark = !this.#frozen && isLast ? this.#sequence : this.#marked;
      const write = this.#parts.insert(rows, mark);
      this.#nextWrite = write;
      const done = await write;
      if (done.kind === 'ok') {
        this.#marked = mark;
        this.#stored += rows.length;
        this.#parts.onStored(rows, mark);
        continue;
      }
      this.#parts.onFault(done);
      this.#rows = [...rows, ...this.#rows];
      if (this.#closing) break;
      const pause = new Promise((resume) => setTimeout(resume, RETRY_MS));
      this.#nextWrite = pause;
      await pause;
    }
    this.#running = null;
  }
}
