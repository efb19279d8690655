import type { CustomerNumber } from '../kernel/brand.ts';
import { tally } from '../kernel/tally.ts';
import type { Delivery } from '../work/webhook.ts';
import { DELIVERIES_WAITING_MAX } from '../kernel/delivery-limits.ts';
import type { StoreFault, StoreWrite } from '../state/tables/durable.ts';

/** The rows of one journal entry, written together. */
export interface DueRows {
  /** Sequence of the journal entry; 0 for rows that are in no journal. */
  readonly sequence: number;
  readonly rows: readonly Delivery[];
}

/** Reads the journal's entries after a given one. */
export interface Backlog {
  /** Returns the rows of the next entries; empty when everything written has been read. */
  next(): readonly DueRows[];
  /** Returns whether an entry has been written. If so, and `next` returns nothing, it has been read. */
  isWritten(sequence: number): boolean;
  close(): void;
}

export interface RowWriterParts {
  /** Writes the rows and the stored-up-to mark in one transaction. Resolves when they can be read. */
  insert(rows: readonly Delivery[], storedUpToSequence: number): Promise<StoreWrite<unknown>>;
  onStored(rows: readonly Delivery[], storedUpToSequence: number): void;
  onFault(fault: StoreFault): void;
  /** How long rows of journal entries may wait for others, or for what becomes of them, ms. */
  readonly gatherMs: number;
  openBacklog(afterSequence: number): Backlog;
  /** Called when rows are deferred to the journal from now on. */
  onBehind(): void;
  /** Called when the journal has been read completely; `rows` came from it. */
  onCaughtUp(rows: number): void;
  /** Called when the journal cannot be read; it is retried. */
  onUnread(error: unknown): void;
}

/** Choice: pause after the store refused a write or the journal could not be read. */
const RETRY_MS = 1_000;
/** Choice: rows per transaction, plus the rest of its last entry; some 10 ms of the main thread. */
const ROWS_PER_WRITE = 1_000;
/** Choice: a staged entry is written within the same turn of the event loop; if it is not, it is polled again after this time. */
const UNWRITTEN_MS = 10;

/**
 * Writes new deliveries to the store: all of `gatherMs`, and at least of one turn of the event loop, in one transaction, one transaction at
 * a time. A transaction contains whole entries, so that the stored-up-to mark never passes a row that is not stored.
 *
 * Rows beyond the memory limit stay in the journal: after the first deferred entry all later ones are deferred as well. When the rows in
 * memory are written, the writer continues from the journal until it has read all of it. So memory is bounded, and no delivery has to wait
 * for a restart.
 */
export class RowWriter {
  /** Fault of the store's last write; null if it succeeded. */
  lastFault: StoreFault | null = null;
  readonly #parts: RowWriterParts;
  #waiting: DueRows[] = [];
  readonly #held = new PendingTally();
  /** Rows that this run of the process deferred to the journal. */
  readonly #left = new PendingTally();
  /** Number of queued rows. */
  #count = 0;
  /** Sequence of the newest accepted entry. */
  #sequence: number;
  #marked: number;
  #running: Promise<void> | null = null;
  /** Rows accepted since the start, and those of them that can be read. */
  #added = 0;
  #stored = 0;
  /** Rows up to this one, counted like `#added`, are written without waiting for others. */
  #hurriedTo = 0;
  /** Ends the wait for further rows; null when the writer does not wait for any. */
  #endGathering: (() => void) | null = null;
  /** Resolves with the write or pause under way, whatever its result. */
  #nextWrite: Promise<unknown> = Promise.resolve();
  /** Sequence of the newest entry deferred to the journal; null while none is. */
  #behindTo: number | null = null;
  #backlog: Backlog | null = null;
  #readBack = 0;
  #closing = false;
  /** Number of writes that the store refused. */
  #refused = 0;
  /** Number of deliveries that were deferred to the journal. */
  deferred = 0;

  /** `markedUpTo` is the newest entry that the store has. */
  constructor(parts: RowWriterParts, markedUpTo: number) {
    this.#parts = parts;
    this.#marked = markedUpTo;
    this.#sequence = markedUpTo;
  }

  /** Number of rows queued for writing. */
  get waiting(): number {
    return this.#count;
  }

  /** Whether the journal holds entries that have not been read yet. */
  get isBehind(): boolean {
    return this.#behindTo !== null;
  }

  /** Returns the number of pending rows that readers cannot see yet, in memory or in the journal. */
  waitingOf(endpointId: string): number {
    return this.#held.ofEndpoint(endpointId) + this.#left.ofEndpoint(endpointId);
  }

  waitingOfCustomer(customer: CustomerNumber): number {
    return this.#held.ofCustomer(customer) + this.#left.ofCustomer(customer);
  }

  /** Sets the newest entry that the last run left in the journal. */
  resume(journalledUpTo: number): void {
    if (journalledUpTo > this.#sequence) this.#fallBehind(journalledUpTo);
  }

  /**
   * Queues rows. `sequence` is their journal entry; 0 if they are in no journal. Returns false if there is no room: rows of an entry are
   * then read from the journal later. Others are lost; the caller must report them.
   */
  add(rows: readonly Delivery[], sequence: number): boolean {
    const isFull = this.#count + rows.length > DELIVERIES_WAITING_MAX;
    if (sequence > 0 && (isFull || this.isBehind)) {
      this.deferred += rows.length;
      this.#left.add(rows, 1);
      this.#fallBehind(sequence);
      return false;
    }
    if (isFull) return false;
    this.#push({ sequence, rows });
    if (sequence === 0 && rows.some(({ status }) => status === 'pending')) this.#hurry();
    else if (this.#count >= ROWS_PER_WRITE) this.#endGathering?.();
    this.#running ??= this.#run();
    return true;
  }

  /**
   * Resolves when every row accepted before this call can be read, whatever is added meanwhile. Also resolves at the first write that the
   * store refuses, because nobody knows when it will accept one again.
   */
  async settled(): Promise<void> {
    const target = this.#added;
    this.#hurry();
    const refused = this.#refused;
    while (this.#stored < target && this.#running !== null && !this.#closing && this.#refused === refused)
      await this.#nextWrite;
  }

  /** Does the last writes. If the store refuses them, the rows are dropped and the journal keeps their entries. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#hurry();
    await this.#running;
    this.#backlog?.close();
  }

  #fallBehind(sequence: number): void {
    if (!this.isBehind) this.#parts.onBehind();
    this.#behindTo = Math.max(this.#behindTo ?? 0, sequence);
    this.#running ??= this.#run();
  }

  #push(due: DueRows): void {
    this.#waiting.push(due);
    this.#count += due.rows.length;
    this.#added += due.rows.length;
    this.#sequence = Math.max(this.#sequence, due.sequence);
    this.#held.add(due.rows, 1);
  }

  async #run(): Promise<void> {
    try {
      // The remaining rows of this turn of the event loop go into the same transaction.
      await this.#pause((done) => setImmediate(done));
      while (this.#count > 0 || (this.isBehind && !this.#closing)) {
        await this.#gather();
        if (this.#count === 0) await this.#tryToGoOn();
        else if (!(await this.#write()) && this.#closing) break;
      }
    } finally {
      this.#running = null;
    }
  }

  #hurry(): void {
    this.#hurriedTo = this.#added;
    this.#endGathering?.();
  }

  /** Waits for further rows, unless somebody waits for those that are there. */
  async #gather(): Promise<void> {
    const isHurried = this.#stored < this.#hurriedTo || this.#closing;
    if (isHurried || this.isBehind || this.lastFault !== null || this.#count >= ROWS_PER_WRITE) return;
    if (this.#parts.gatherMs === 0) return;
    await this.#pause((done) => {
      const timer = setTimeout(done, this.#parts.gatherMs);
      this.#endGathering = () => {
        clearTimeout(timer);
        done();
      };
    });
    this.#endGathering = null;
  }

  /** Returns false if the store refused the write. */
  async #write(): Promise<boolean> {
    const batch = this.#take();
    const rows = batch.flatMap((due) => due.rows);
    const mark = batch.reduce((newest, { sequence }) => Math.max(newest, sequence), this.#marked);
    const write = this.#parts.insert(rows, mark);
    this.#nextWrite = write;
    const done = await write;
    if (done.kind === 'fault') {
      this.#refused++;
      this.lastFault = done;
      this.#parts.onFault(done);
      this.#waiting = [...batch, ...this.#waiting];
      this.#count += rows.length;
      if (!this.#closing) await this.#pause((resume) => setTimeout(resume, RETRY_MS));
      return false;
    }
    this.lastFault = null;
    this.#marked = mark;
    this.#stored += rows.length;
    this.#held.add(rows, -1);
    this.#parts.onStored(rows, mark);
    return true;
  }

  #take(): readonly DueRows[] {
    let rows = 0;
    let entries = 0;
    while (entries < this.#waiting.length && rows < ROWS_PER_WRITE) rows += this.#waiting[entries++]?.rows.length ?? 0;
    this.#count -= rows;
    return this.#waiting.splice(0, entries);
  }

  async #tryToGoOn(): Promise<void> {
    try {
      await this.#goOn();
    } catch (error) {
      this.#parts.onUnread(error);
      this.#backlog?.close();
      this.#backlog = null;
      if (!this.#closing) await this.#pause((done) => setTimeout(done, RETRY_MS));
    }
  }

  /** Reads the next entries from the journal. */
  async #goOn(): Promise<void> {
    this.#backlog ??= this.#parts.openBacklog(this.#sequence);
    const next = this.#backlog.next();
    for (const due of next) {
      this.#push(due);
      this.#readBack += due.rows.length;
      // Rows deferred by an earlier run of the process were never counted.
      for (const row of due.rows) if (this.#left.ofEndpoint(row.endpointId) > 0) this.#left.add([row], -1);
    }
    if (next.length > 0) {
      // Yields to the event loop, even if these entries have no row left to write.
      await this.#pause((done) => setImmediate(done));
      return;
    }
    if (!this.#backlog.isWritten(this.#behindTo ?? 0)) {
      await this.#pause((done) => setTimeout(done, UNWRITTEN_MS));
      return;
    }
    // The last entries may have no row left; the mark passes them anyway.
    if (this.#waiting.length > 0 && !(await this.#write())) return;
    this.#backlog.close();
    this.#backlog = null;
    this.#behindTo = null;
    this.#left.clear();
    this.#parts.onCaughtUp(this.#readBack);
    this.#readBack = 0;
  }

  async #pause(until: (done: () => void) => unknown): Promise<void> {
    const pause = new Promise<void>((done) => until(done));
    this.#nextWrite = pause;
    await pause;
  }
}

/** Counts pending rows per endpoint and per customer. */
class PendingTally {
  readonly #endpoints = new Map<string, number>();
  readonly #customers = new Map<CustomerNumber, number>();

  add(rows: readonly Delivery[], by: 1 | -1): void {
    for (const { status, endpointId, customer } of rows) {
      if (status !== 'pending') continue;
      tally(this.#endpoints, endpointId, by);
      tally(this.#customers, customer, by);
    }
  }

  ofEndpoint(endpointId: string): number {
    return this.#endpoints.get(endpointId) ?? 0;
  }

  ofCustomer(customer: CustomerNumber): number {
    return this.#customers.get(customer) ?? 0;
  }

  clear(): void {
    this.#endpoints.clear();
    this.#customers.clear();
  }
}
