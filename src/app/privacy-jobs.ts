import type { ErasureState, ErasureWish, PrivacyQueue } from '../api/privacy-port.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { FairEntry, FairQueue } from '../kernel/fair-queue.ts';
import { newId } from '../kernel/ids.ts';
import type { Log } from '../observe/log.ts';
import type { Origin } from '../ports/change-feed.ts';
import { completeErasures, encryptPerson, erasePerson, type EraseParts, PLACES } from '../privacy/erase-person.ts';
import { releaseFillers, Traces } from '../privacy/leave-no-trace.ts';
import { readPerson } from '../privacy/person.ts';
import type { Change } from '../state/feed/changes.ts';
import { fault, messageOf, type StoreFault } from '../state/tables/durable.ts';
import { type Erasure, type ErasureFinish, ERASURES_PER_CUSTOMER_MAX } from '../state/tables/erasure-table.ts';
import { Slices } from '../state/tables/turns.ts';

/** An erasure that waits. */
interface Waiting {
  readonly customer: CustomerNumber;
  readonly erasure: Erasure;
  /**
   * `erase`: this node erases, also in the tables that all nodes share. `repeat`: so it does, and an earlier attempt may have removed rows
   * without their traces. `follow`: only in this node's own tables. `complete`: another node has ended the erasure.
   */
  readonly work: 'erase' | 'repeat' | 'follow' | 'complete';
}

/** Choice: what a customer may have waiting. Each takes a scan of the customer's rows. */
export const ERASURES_QUEUED_MAX = 1_000;
/** Choice: erasures that are completed together. */
const COMPLETED_AT_ONCE_MAX = 100;
/** Choice: lines of one write to the file. */
const FILED_AT_ONCE = 1_000;

/**
 * Erases people, one after the other; customers take turns. A call is recorded in the store and in a file beside it before it is answered.
 * Each start goes on with what is not complete, and repeats the erasures of the file that the store does not have: it was restored from an
 * older backup.
 */
export class PrivacyJobs implements PrivacyQueue {
  readonly #parts: EraseParts;
  readonly #log: Log;
  readonly #nowMs: () => number;
  readonly #waiting = new FairQueue<CustomerNumber, Waiting>({ sizePerKeyMax: ERASURES_QUEUED_MAX });
  /** Calls that are being recorded, by customer. */
  readonly #coming = new Map<CustomerNumber, number>();
  readonly #failed = new Set<string>();
  readonly #running = new Set<string>();
  readonly #traces = new Traces();
  readonly #stopping = new AbortController();
  /** Ids of erasures that came while the start reads those of earlier runs; null after. */
  #early: Set<string> | null = new Set();
  #starting: Promise<void> = Promise.resolve();
  #run: Promise<void> | null = null;

  constructor(parts: Omit<EraseParts, 'slicesOf'>, nowMs: () => number, log: Log) {
    const slicesOf = (customer: CustomerNumber | null): Slices =>
      new Slices(parts.store.turns, customer, this.#stopping.signal);
    this.#parts = { ...parts, slicesOf };
    this.#nowMs = nowMs;
    this.#log = log;
  }

  /** Begins with what earlier runs left. Never rejects. */
  start(): Promise<void> {
    this.#starting = this.#resume()
      .catch((error: unknown) => {
        if (!this.#stopping.signal.aborted) this.#log.error({ err: error }, 'erasures cannot be read');
      })
      .finally(() => {
        this.#early = null;
      });
    return this.#starting;
  }

  async #resume(): Promise<void> {
    const { store, slicesOf } = this.#parts;
    const slices = slicesOf(null);
    await releaseFillers(store, slices);
    const inFile = await this.#recordFiled(slices);
    const unfiled: (readonly [CustomerNumber, Erasure])[] = [];
    await store.erasures.each(slices, (customer, erasure) => {
      if (this.#early?.has(erasure.id) === true) return;
      // Another node of the cluster recorded it while this one was away.
      if (!inFile.has(erasure.id)) unfiled.push([customer, erasure]);
      const isHere = store.erased?.has(customer, erasure.id) === true;
      if (erasure.finish === null || !isHere) this.#add({ customer, erasure, work: 'repeat' });
    });
    for (let at = 0; at < unfiled.length; at += FILED_AT_ONCE) {
      const unwritten = await this.#file(unfiled.slice(at, at + FILED_AT_ONCE));
      if (unwritten !== null) throw new Error(unwritten.detail);
    }
  }

  /** Records the erasures of the file that the store does not have, and returns the ids of all. */
  async #recordFiled(slices: Slices): Promise<ReadonlySet<string>> {
    const { store, changes } = this.#parts;
    const inFile = new Set<string>();
    const full = new Set<CustomerNumber>();
    for await (const { customer, customerId, ...filed } of store.erasureFile.read()) {
      if (slices.isOver) await slices.begin();
      inFile.add(filed.id);
      if (store.customers.find(customer)?.id !== customerId || full.has(customer)) continue;
      if (store.erasures.find(customer, filed.id) !== null || this.#early?.has(filed.id) === true) continue;
      const erasure = { ...filed, encrypted: null };
      const change = { kind: 'erasure.requested', customer, erasure } as const;
      const written = await changes.commit(change, { by: 'service', nowMs: this.#nowMs() });
      if (written.kind === 'fault') throw new Error(written.detail);
      if (written.value === 'limit_reached') full.add(customer);
      else this.#log.warn({ id: filed.id }, 'an erasure is repeated: the store was restored from an older backup');
    }
    return inFile;
  }

  /** Takes a change that another node of the cluster has made. */
  follow(change: Change): void {
    if (change.kind === 'erasure.requested') {
      const { customer, erasure } = change;
      this.#early?.add(erasure.id);
      this.#add({ customer, erasure, work: 'follow' });
      void this.#file([[customer, erasure]]).then((unwritten) => {
        if (unwritten !== null) this.#log.error({ id: erasure.id }, unwritten.detail);
      });
    } else if (change.kind === 'erasure.rows') {
      this.#traces.addRows(change.customer, change.rows);
    } else if (change.kind === 'erasure.finished') {
      const erasure = this.#parts.store.erasures.find(change.customer, change.id);
      if (erasure !== null) this.#add({ customer: change.customer, erasure, work: 'complete' });
    }
  }

  async erase(
    { customer, subject, value, keepBlocks }: ErasureWish,
    origin: Origin,
  ): Promise<ErasureState | 'not_a_value' | 'limit_reached' | 'queue_full' | StoreFault> {
    const { store, marker, keyFor } = this.#parts;
    const person = readPerson(subject, value);
    if (person === null) return 'not_a_value';
    const coming = this.#coming.get(customer) ?? 0;
    // Before the file is written, which has no limit.
    if (store.erasures.count(customer) + coming >= ERASURES_PER_CUSTOMER_MAX) return 'limit_reached';
    if (!this.#waiting.hasRoom(customer, 0, { own: coming, all: coming })) return 'queue_full';
    const id = newId('prv', origin.nowMs);
    this.#early?.add(id);
    const erasure: Erasure = {
      id,
      subject,
      keepBlocks,
      marks: marker.marksOf(customer, person),
      encrypted: encryptPerson(person, customer, id, keyFor),
      requestedAtMs: origin.nowMs,
    };
    this.#coming.set(customer, coming + 1);
    try {
      return await this.#record(customer, erasure, origin);
    } finally {
      const left = (this.#coming.get(customer) ?? 1) - 1;
      if (left === 0) this.#coming.delete(customer);
      else this.#coming.set(customer, left);
    }
  }

  async #record(
    customer: CustomerNumber,
    erasure: Erasure,
    origin: Origin,
  ): Promise<ErasureState | 'limit_reached' | StoreFault> {
    const unfiled = await this.#file([[customer, erasure]]);
    if (unfiled !== null) return unfiled;
    const written = await this.#parts.changes.commit({ kind: 'erasure.requested', customer, erasure }, origin);
    if (written.kind === 'fault') return written;
    if (written.value === 'limit_reached') return 'limit_reached';
    this.#add({ customer, erasure, work: 'erase' });
    return { ...erasure, finish: null, status: 'queued' };
  }

  find(customer: CustomerNumber, id: string): ErasureState | null {
    const found = this.#parts.store.erasures.find(customer, id);
    if (found === null) return null;
    const left = this.#failed.has(id) ? 'failed' : this.#running.has(id) ? 'running' : 'queued';
    return { ...found, status: found.finish === null ? left : 'succeeded' };
  }

  /** Interrupts a running erasure, which the next start repeats, and resolves when nothing here uses the store. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('the server stops'));
    await this.#starting;
    await this.#run;
  }

  /** Returns null on success. */
  async #file(erasures: readonly (readonly [CustomerNumber, Erasure])[]): Promise<StoreFault | null> {
    const { store } = this.#parts;
    const filed = erasures.map(([customer, erasure]) => ({
      ...erasure,
      customer,
      customerId: store.customers.find(customer)?.id ?? '',
    }));
    try {
      await store.erasureFile.append(filed);
      return null;
    } catch (error) {
      return fault('store_write_failed', `the file of erasures cannot be written: ${messageOf(error)}`);
    }
  }

  #add(waiting: Waiting): void {
    this.#waiting.put(waiting.customer, new FairEntry(waiting));
    this.#run ??= this.#work();
  }

  async #work(): Promise<void> {
    // `#run` must be set before this can end.
    await Promise.resolve();
    while (this.#waiting.size > 0 && !this.#stopping.signal.aborted) {
      const done: (readonly [Waiting, ErasureFinish | null])[] = [];
      for (let next = this.#take(); next !== null; next = this.#take()) {
        const { erasure } = next;
        this.#running.add(erasure.id);
        await this.#guard([erasure], async () => void done.push([next, await this.#carryOut(next)]));
        if (done.length === COMPLETED_AT_ONCE_MAX) break;
      }
      const erasures = done.map(([{ erasure }]) => erasure);
      await this.#guard(erasures, () => this.#complete(done));
      for (const { id } of erasures) this.#running.delete(id);
    }
    this.#run = null;
  }

  #take(): Waiting | null {
    return this.#stopping.signal.aborted ? null : this.#waiting.take();
  }

  /** Never rejects. */
  async #guard(erasures: readonly Erasure[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const ids = erasures.map(({ id }) => id);
      for (const id of ids) this.#running.delete(id);
      if (this.#stopping.signal.aborted) return this.#log.info({ ids }, 'the next start goes on with erasures');
      for (const id of ids) this.#failed.add(id);
      this.#log.error({ err: error, ids }, 'an erasure failed; the next start repeats it');
    }
  }

  /** Returns null if this node does not report the end. */
  async #carryOut({ customer, erasure, work }: Waiting): Promise<ErasureFinish | null> {
    if (work === 'complete') return null;
    const isShared = work !== 'follow';
    const finish = await erasePerson(this.#parts, { customer, erasure, isShared }, this.#nowMs());
    const places = PLACES.filter((place) => work === 'repeat' || (finish.erased[place] ?? 0) > 0);
    this.#traces.add(customer, places);
    this.#log.info({ id: erasure.id, erased: finish.erased }, 'a person was erased');
    return isShared ? finish : null;
  }

  async #complete(done: readonly (readonly [Waiting, ErasureFinish | null])[]): Promise<void> {
    // A node that follows has the traces of the shared tables too, until the erasure has ended.
    const noted = done.filter(([{ work }]) => work !== 'follow').map(([waiting]) => waiting);
    await completeErasures(this.#parts, this.#traces, noted);
    for (const [{ customer, erasure }, finish] of done) {
      if (finish === null) continue;
      const change = { kind: 'erasure.finished', customer, id: erasure.id, finish } as const;
      const written = await this.#parts.changes.commit(change, { by: 'service', nowMs: this.#nowMs() });
      if (written.kind === 'fault') throw new Error(written.detail);
    }
  }
}
