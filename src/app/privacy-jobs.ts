import type { ErasureState, ErasureWish, PrivacyQueue } from '../api/privacy-port.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { newId } from '../kernel/ids.ts';
import type { Log } from '../observe/log.ts';
import type { Origin } from '../ports/change-feed.ts';
import { encryptPerson, erasePerson, type EraseParts } from '../privacy/erase-person.ts';
import { leaveNoTrace } from '../privacy/leave-no-trace.ts';
import { readPerson } from '../privacy/person.ts';
import type { Change } from '../state/feed/changes.ts';
import { fault, messageOf, type StoreFault } from '../state/tables/durable.ts';
import type { Erasure } from '../state/tables/erasure-table.ts';

/**
 * An erasure that waits. `isShared`: this node also erases in the tables that all nodes share. `isTraceOnly`: another node has, and what it
 * removed is still in the file of this node's copy.
 */
interface Waiting {
  readonly customer: CustomerNumber;
  readonly erasure: Erasure;
  readonly isShared: boolean;
  readonly isTraceOnly?: boolean;
}

/**
 * Erases people, one after the other. A call is recorded in the store and in a file beside it before it is answered. Each start goes on
 * with what is not complete, and repeats the erasures of the file that the store does not have: it was restored from an older backup.
 */
export class PrivacyJobs implements PrivacyQueue {
  readonly #parts: EraseParts;
  readonly #log: Log;
  readonly #nowMs: () => number;
  readonly #waiting: Waiting[] = [];
  readonly #failed = new Set<string>();
  #running: string | null = null;
  #isClosed = false;

  constructor(parts: EraseParts, nowMs: () => number, log: Log) {
    this.#parts = parts;
    this.#nowMs = nowMs;
    this.#log = log;
  }

  /** Begins with what earlier runs left. Never rejects. */
  async start(): Promise<void> {
    const { store, changes } = this.#parts;
    try {
      const file = store.erasureFile.read();
      for (const { customer, customerId, ...filed } of file) {
        if (store.customers.find(customer)?.id !== customerId || store.erasures.find(customer, filed.id) !== null)
          continue;
        const erasure = { ...filed, encrypted: null };
        await changes.commit({ kind: 'erasure.requested', customer, erasure }, { by: 'service', nowMs: this.#nowMs() });
        this.#log.warn({ id: filed.id }, 'an erasure is repeated: the store was restored from an older backup');
      }
      const inFile = new Set(file.map(({ id }) => id));
      for (const [customer, erasure] of store.erasures.all()) {
        // Another node of the cluster recorded it while this one was away.
        if (!inFile.has(erasure.id)) this.#file(customer, erasure);
        const isHere = store.erased?.has(customer, erasure.id) === true;
        if (erasure.finish === null || !isHere) this.#add({ customer, erasure, isShared: true });
      }
    } catch (error) {
      this.#log.error({ err: error }, 'erasures cannot be read');
    }
  }

  /** Takes a change that another node of the cluster has made. */
  follow(change: Change): void {
    if (change.kind === 'erasure.requested') {
      const { customer, erasure } = change;
      this.#file(customer, erasure);
      this.#add({ customer, erasure, isShared: false });
    } else if (change.kind === 'erasure.finished') {
      const erasure = this.#parts.store.erasures.find(change.customer, change.id);
      if (erasure !== null) this.#add({ customer: change.customer, erasure, isShared: false, isTraceOnly: true });
    }
  }

  async erase(
    { customer, subject, value, keepBlocks }: ErasureWish,
    origin: Origin,
  ): Promise<ErasureState | 'not_a_value' | 'limit_reached' | StoreFault> {
    const { changes, marker, keyFor } = this.#parts;
    const person = readPerson(subject, value);
    if (person === null) return 'not_a_value';
    const id = newId('prv', origin.nowMs);
    const erasure: Erasure = {
      id,
      subject,
      keepBlocks,
      marks: marker.marksOf(customer, person),
      encrypted: encryptPerson(person, customer, id, keyFor),
      requestedAtMs: origin.nowMs,
    };
    const unfiled = this.#file(customer, erasure);
    if (unfiled !== null) return unfiled;
    const written = await changes.commit({ kind: 'erasure.requested', customer, erasure }, origin);
    if (written.kind === 'fault') return written;
    if (written.value === 'limit_reached') return 'limit_reached';
    this.#add({ customer, erasure, isShared: true });
    return { ...erasure, finish: null, status: 'queued' };
  }

  find(customer: CustomerNumber, id: string): ErasureState | null {
    const found = this.#parts.store.erasures.find(customer, id);
    if (found === null) return null;
    const left = this.#failed.has(id) ? 'failed' : this.#running === id ? 'running' : 'queued';
    return { ...found, status: found.finish === null ? left : 'succeeded' };
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Returns null on success. */
  #file(customer: CustomerNumber, erasure: Erasure): StoreFault | null {
    const { store } = this.#parts;
    try {
      store.erasureFile.append({ ...erasure, customer, customerId: store.customers.find(customer)?.id ?? '' });
      return null;
    } catch (error) {
      return fault('store_write_failed', `the file of erasures cannot be written: ${messageOf(error)}`);
    }
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (this.#running === null) void this.#run();
  }

  async #run(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined && !this.#isClosed; next = this.#waiting.shift()) {
      this.#running = next.erasure.id;
      try {
        await this.#carryOut(next);
      } catch (error) {
        this.#failed.add(next.erasure.id);
        this.#log.error({ err: error, id: next.erasure.id }, 'an erasure failed; the next start repeats it');
      }
    }
    this.#running = null;
  }

  async #carryOut(waiting: Waiting): Promise<void> {
    const nowMs = this.#nowMs();
    const { store, slicesOf } = this.#parts;
    if (waiting.isTraceOnly === true) return leaveNoTrace(store, waiting.customer, slicesOf(waiting.customer));
    const finish = await erasePerson(this.#parts, waiting, nowMs);
    const { customer, erasure, isShared } = waiting;
    this.#log.info({ id: erasure.id, erased: finish.erased }, 'a person was erased');
    if (!isShared) return;
    const change = { kind: 'erasure.finished', customer, id: erasure.id, finish } as const;
    const written = await this.#parts.changes.commit(change, { by: 'service', nowMs });
    if (written.kind === 'fault') throw new Error(written.detail);
  }
}
