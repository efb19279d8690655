import type { CustomerNumber } from '../../kernel/brand.ts';
import { type Coming, FairEntry, FairQueue } from '../../kernel/fair-queue.ts';
import { KeyedSlots } from '../../kernel/keyed-slots.ts';
import { SlotMap } from '../../kernel/slot-map.ts';

export interface QueueBounds {
  /** Maximum number of running jobs, per customer and in total. */
  readonly runningPerCustomerMax: number;
  readonly runningMax: number;
  /** Maximum number of queued jobs, per customer and in total. */
  readonly queuedPerCustomerMax: number;
  readonly queuedMax: number;
}

interface Queued<T> {
  readonly customer: CustomerNumber;
  readonly number: number;
  readonly job: T;
}

/** Queue of jobs that wait to run: FIFO within a customer, round-robin between customers. */
export class JobQueue<T> {
  readonly #queued: FairQueue<CustomerNumber, Queued<T>>;
  readonly #entries = new SlotMap<FairEntry<CustomerNumber, Queued<T>>>();
  readonly #slots: KeyedSlots<CustomerNumber>;
  readonly #mayRun = (customer: CustomerNumber): boolean => this.#slots.hasRoom(customer);

  constructor({ queuedMax, queuedPerCustomerMax, runningMax, runningPerCustomerMax }: QueueBounds) {
    this.#queued = new FairQueue({ sizeMax: queuedMax, sizePerKeyMax: queuedPerCustomerMax });
    this.#slots = new KeyedSlots({ all: runningMax, perKey: runningPerCustomerMax });
  }

  get queued(): number {
    return this.#queued.size;
  }

  get running(): number {
    return this.#slots.taken;
  }

  /** `coming`: jobs being written that will be added. */
  hasRoom(customer: CustomerNumber, coming: Coming): boolean {
    return this.#queued.hasRoom(customer, 0, coming);
  }

  add(customer: CustomerNumber, number: number, job: T): void {
    const entry = new FairEntry<CustomerNumber, Queued<T>>({ customer, number, job });
    this.#entries.set(number, entry);
    this.#queued.put(customer, entry);
  }

  /** Returns whether the job was queued. */
  remove(number: number): boolean {
    const entry = this.#entries.get(number);
    this.#entries.delete(number);
    return entry !== undefined && this.#queued.remove(entry);
  }

  /** Returns the next job that may run, and counts it as running. */
  take(): T | null {
    const next = this.#slots.isAnyFree ? this.#queued.take(this.#mayRun) : null;
    if (next === null) return null;
    this.#entries.delete(next.number);
    this.began(next.customer);
    return next.job;
  }

  /** Counts a running job that was not taken from this queue. */
  began(customer: CustomerNumber): void {
    this.#slots.take(customer);
  }

  ended(customer: CustomerNumber): void {
    this.#slots.give(customer);
  }
}
