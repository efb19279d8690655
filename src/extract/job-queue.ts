import type { CustomerNumber } from '../base/brand.ts';

export interface QueueBounds {
  /** Jobs of one customer that run at the same time, and of all. */
  readonly runningPerCustomerMax: number;
  readonly runningMax: number;
  /** Jobs of one customer that wait, and of all. */
  readonly queuedPerCustomerMax: number;
  readonly queuedMax: number;
}

/** Jobs that wait for their turn to run: of each customer the first first, and customers in turns. */
export class JobQueue<T> {
  readonly #bounds: QueueBounds;
  readonly #queued = new Map<CustomerNumber, Map<number, T>>();
  readonly #running = new Map<CustomerNumber, number>();
  #queuedCount = 0;
  #runningCount = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  get queued(): number {
    return this.#queuedCount;
  }

  get running(): number {
    return this.#runningCount;
  }

  /** `coming`: jobs that are being written and will be added. */
  hasRoom(customer: CustomerNumber, coming: { readonly own: number; readonly all: number }): boolean {
    const own = this.#queued.get(customer)?.size ?? 0;
    const { queuedPerCustomerMax, queuedMax } = this.#bounds;
    return own + coming.own < queuedPerCustomerMax && this.#queuedCount + coming.all < queuedMax;
  }

  add(customer: CustomerNumber, number: number, job: T): void {
    const queue = this.#queued.get(customer);
    if (queue === undefined) this.#queued.set(customer, new Map([[number, job]]));
    else queue.set(number, job);
    this.#queuedCount++;
  }

  /** Whether it was waiting. */
  remove(customer: CustomerNumber, number: number): boolean {
    const queue = this.#queued.get(customer);
    if (queue?.delete(number) !== true) return false;
    if (queue.size === 0) this.#queued.delete(customer);
    this.#queuedCount--;
    return true;
  }

  /** The next that may run, which counts as running from now on. */
  take(): T | null {
    if (this.#runningCount >= this.#bounds.runningMax) return null;
    for (const [customer, queue] of this.#queued) {
      if ((this.#running.get(customer) ?? 0) >= this.#bounds.runningPerCustomerMax) continue;
      for (const [number, job] of queue) {
        this.remove(customer, number);
        // Behind the other customers.
        const rest = this.#queued.get(customer);
        if (rest !== undefined) {
          this.#queued.delete(customer);
          this.#queued.set(customer, rest);
        }
        this.began(customer);
        return job;
      }
    }
    return null;
  }

  /** A job runs that was not taken from here. */
  began(customer: CustomerNumber): void {
    this.#running.set(customer, (this.#running.get(customer) ?? 0) + 1);
    this.#runningCount++;
  }

  ended(customer: CustomerNumber): void {
    const running = (this.#running.get(customer) ?? 0) - 1;
    if (running > 0) this.#running.set(customer, running);
    else this.#running.delete(customer);
    this.#runningCount--;
  }
}
