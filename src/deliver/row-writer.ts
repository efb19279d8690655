import type { CustomerNumber } from '../base/brand.ts';
import { tally } from '../base/tally.ts';
import type { Delivery } from '../core/webhook.ts';
import { DELIVERIES_WAITING_MAX } from '../limits.ts';
import type { StoreFault, StoreWrite } from '../store/durable.ts';

/** Rows that belong together: those of one entry of the journal. */
export interface DueRows {
  /** The entry's; 0 for rows that are in no journal. */
  readonly sequence: number;
  readonly rows: readonly Delivery[];
}

/** What the journal has behind an entry. */
export interface Backlog {
  /** The next entries' rows; none when all that is written has been read. */
  next(): readonly DueRows[];
  /** Whether an entry has been written, so that it was read when `next` gives none. */
  isWritten(sequence: number): boolean;
  close(): void;
}

export interface RowWriterParts {
  /** One transaction: the rows, and how far the journal is stored with them. Resolves when they can be read. */
  insert(rows: readonly Delivery[], storedUpToSequence: number): Promise<StoreWrite<unknown>>;
  onStored(rows: readonly Delivery[], storedUpToSequence: number): void;
  onFault(fault: StoreFault): void;
  openBacklog(afterSequence: number): Backlog;
  /** The journal holds more than is taken in from now on. */
  onBehind(): void;
  /** It does no more; so many rows came from it. */
  onCaughtUp(rows: number): void;
  /** The journal cannot be read; it is tried again. */
  onUnread(error: unknown): void;
}

/** Choice: how long a store that refused a write, or a journal that cannot be read, is left alone. */
const RETRY_MS = 1_000;
/** Choice: rows of one transaction, and those of its last entry; some 10 ms of the main thread. */
const ROWS_PER_WRITE = 1_000;
/** Choice: an entry that is staged is written within the same turn; where it is not, it is looked for again so soon. */
const UNWRITTEN_MS = 10;

/**
 * Writes new deliveries to the store: all of a turn of the event loop in one transaction, one transaction after the other, each of
 * whole entries, so that the mark of what is stored never passes by a row that is not. Only what is stored is handed out.
 *
 * What is more than it may hold stays in the journal: from the first entry that it refuses it takes no other, and when it has
 * written what it holds it goes on with the journal, until that has no more. So memory is bounded and nothing waits for a restart.
 */
export class RowWriter {
  /** Why the store refused the last write; null where it took it. */
  lastFault: StoreFault | null = null;
  readonly #parts: RowWriterParts;
  #waiting: DueRows[] = [];
  readonly #held = new PendingTally();
  /** Of those that are left to the journal, as far as this run of the process left them there. */
  readonly #left = new PendingTally();
  /** Rows that wait. */
  #count = 0;
  /** The newest entry that was taken. */
  #sequence: number;
  #marked: number;
  #running: Promise<void> | null = null;
  /** Rows since the start, and those of them that can be read. */
  #added = 0;
  #stored = 0;
  /** Resolves with the write that is under way, whatever comes of it. */
  #nextWrite: Promise<unknown> = Promise.resolve();
  /** The newest entry that is left to the journal; null while none is. */
  #behindTo: number | null = null;
  #backlog: Backlog | null = null;
  #readBack = 0;
  #closing = false;
  /** Writes that the store refused. */
  #refused = 0;
  /** Deliveries that were left to the journal at first. */
  deferred = 0;

  /** `markedUpTo` is the newest entry that the store has. */
  constructor(parts: RowWriterParts, markedUpTo: number) {
    this.#parts = parts;
    this.#marked = markedUpTo;
    this.#sequence = markedUpTo;
  }

  /** Rows that wait to be written. */
  get waiting(): number {
    return this.#count;
  }

  /** Whether the journal holds entries that have not been taken in yet. */
  get isBehind(): boolean {
    return this.#behindTo !== null;
  }

  /** Pending rows that no reader sees yet: they wait here, or in the journal. */
  waitingOf(endpointId: string): number {
    return this.#held.ofEndpoint(endpointId) + this.#left.ofEndpoint(endpointId);
  }

  waitingOfCustomer(customer: CustomerNumber): number {
    return this.#held.ofCustomer(customer) + this.#left.ofCustomer(customer);
  }

  /** The journal has entries up to this one, of the last run. */
  resume(journalledUpTo: number): void {
    if (journalledUpTo > this.#sequence) this.#fallBehind(journalledUpTo);
  }

  /**
   * `sequence` is the journal's entry that has these rows; 0 where none has. False where there is no room: rows of an entry come
   * from the journal in their turn then, others are lost on the caller, who tells somebody.
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
    this.#running ??= this.#run();
    return true;
  }

  /**
   * Resolves when every row that was taken before can be read, whatever is added meanwhile; at the first write that the store refuses,
   * as nobody knows when it takes one again.
   */
  async settled(): Promise<void> {
    const target = this.#added;
    const refused = this.#refused;
    while (this.#stored < target && this.#running !== null && !this.#closing && this.#refused === refused)
      await this.#nextWrite;
  }

  /** The last writes; a store that refuses them is given up on, and the journal keeps their entries. */
  async close(): Promise<void> {
    this.#closing = true;
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
      // The rest of this turn of the event loop goes into the same transaction.
      await this.#pause((done) => setImmediate(done));
      while (this.#count > 0 || (this.isBehind && !this.#closing)) {
        if (this.#count === 0) await this.#tryToGoOn();
        else if (!(await this.#write()) && this.#closing) break;
      }
    } finally {
      this.#running = null;
    }
  }

  /** False where the store refused it. */
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

  /** Takes in what the journal has next. */
  async #goOn(): Promise<void> {
    this.#backlog ??= this.#parts.openBacklog(this.#sequence);
    const next = this.#backlog.next();
    for (const due of next) {
      this.#push(due);
      this.#readBack += due.rows.length;
      // What an earlier run of the process left there was never counted.
      for (const row of due.rows) if (this.#left.ofEndpoint(row.endpointId) > 0) this.#left.add([row], -1);
    }
    if (next.length > 0) {
      // Others get their turn, where these have no row left to write.
      await this.#pause((done) => setImmediate(done));
      return;
    }
    if (!this.#backlog.isWritten(this.#behindTo ?? 0)) {
      await this.#pause((done) => setTimeout(done, UNWRITTEN_MS));
      return;
    }
    // Where it ends with entries that owe nothing any more, the mark passes them by all the same.
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

/** How many pending rows there are of each endpoint and of each customer. */
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
