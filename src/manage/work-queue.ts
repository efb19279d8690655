import type { CustomerNumber } from '../base/brand.ts';

export interface WorkBounds {
  /** Calls in work at once, of all customers and of one. */
  readonly inWorkMax: number;
  readonly inWorkPerCustomerMax: number;
  /** Calls that wait, of all customers and of one, and the bytes that they hold. */
  readonly waitingMax: number;
  readonly waitingPerCustomerMax: number;
  readonly waitingBytesMax: number;
  readonly waitingBytesPerCustomerMax: number;
  /** Bytes of answers that a customer has not received; with as many its further calls wait. */
  readonly unsentBytesMax: number;
}

/** A call's place among those in work. */
export interface Place {
  /** Gives the place up while the call waits for something else than the main thread, then waits for another one. */
  whileOut<T>(awaited: () => Promise<T>): Promise<T>;
  /** So many bytes of the answer are on their way; `received` is called when they are gone, after `leave` too. */
  sending(bytes: number): { received(): void };
  /** Ends it. May be called again. */
  leave(): void;
}

interface Waiting {
  readonly bytes: number;
  enter(): void;
}

interface CustomerWork {
  readonly customer: CustomerNumber;
  inWork: number;
  /** Calls that gave their place up and will be back. */
  out: number;
  waiting: Waiting[];
  waitingBytes: number;
  unsentBytes: number;
}

/**
 * Management calls of all customers: few are in work at once, and the others wait in the order in which each customer's came. What
 * becomes free goes to the customers in turn, so that whoever asks for little waits for one call of each other customer at most.
 */
export class WorkQueue {
  readonly #bounds: WorkBounds;
  readonly #customers = new Map<CustomerNumber, CustomerWork>();
  /** Customers with waiting calls; the first is the next to be served. */
  readonly #turns = new Set<CustomerWork>();
  #inWork = 0;
  #waiting = 0;
  #waitingBytes = 0;

  constructor(bounds: WorkBounds) {
    this.#bounds = bounds;
  }

  get inWork(): number {
    return this.#inWork;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** True when another call of the customer, with a body of so many bytes, can neither begin nor wait. */
  isFull(customer: CustomerNumber, bytes: number): boolean {
    const own = this.#customers.get(customer);
    if (this.#mayBegin(own)) return false;
    const { waitingMax, waitingPerCustomerMax, waitingBytesMax, waitingBytesPerCustomerMax } = this.#bounds;
    if (this.#waiting >= waitingMax || this.#waitingBytes + bytes > waitingBytesMax) return true;
    if (own === undefined) return false;
    return own.waiting.length >= waitingPerCustomerMax || own.waitingBytes + bytes > waitingBytesPerCustomerMax;
  }

  /** Resolves when the call may begin. The caller has asked `isFull` in the same turn. */
  async enter(customer: CustomerNumber, bytes: number): Promise<Place> {
    const own = this.#obtain(customer);
    await this.#entered(own, bytes, false);
    return this.#place(own);
  }

  #place(own: CustomerWork): Place {
    let isIn = true;
    const leave = (): void => {
      if (!isIn) return;
      isIn = false;
      own.inWork--;
      this.#inWork--;
      this.#next();
      this.#forget(own);
    };
    return {
      leave,
      whileOut: async (awaited) => {
        own.out++;
        leave();
        try {
          return await awaited();
        } finally {
          own.out--;
          await this.#entered(own, 0, true);
          isIn = true;
        }
      },
      sending: (bytes) => {
        own.unsentBytes += bytes;
        return {
          received: () => {
            own.unsentBytes -= bytes;
            this.#next();
            this.#forget(own);
          },
        };
      },
    };
  }

  /** `isBack`: the call was in work before, so it goes before those that were not. */
  #entered(own: CustomerWork, bytes: number, isBack: boolean): Promise<void> {
    return new Promise((resolve) => {
      const begin = (): void => {
        own.inWork++;
        this.#inWork++;
        resolve();
      };
      if (own.waiting.length === 0 && this.#mayBegin(own)) {
        begin();
        return;
      }
      const waiting = { bytes, enter: begin };
      if (isBack) own.waiting.unshift(waiting);
      else own.waiting.push(waiting);
      own.waitingBytes += bytes;
      this.#waiting++;
      this.#waitingBytes += bytes;
      this.#turns.add(own);
    });
  }

  #next(): void {
    for (const own of this.#turns) {
      if (this.#inWork >= this.#bounds.inWorkMax) return;
      if (!this.#mayBegin(own)) continue;
      const first = own.waiting.shift();
      // Its next one is behind those of the others.
      this.#turns.delete(own);
      if (own.waiting.length > 0) this.#turns.add(own);
      if (first === undefined) continue;
      own.waitingBytes -= first.bytes;
      this.#waiting--;
      this.#waitingBytes -= first.bytes;
      first.enter();
    }
  }

  #mayBegin(own: CustomerWork | undefined): boolean {
    if (this.#inWork >= this.#bounds.inWorkMax) return false;
    if (own === undefined) return true;
    return own.inWork < this.#bounds.inWorkPerCustomerMax && own.unsentBytes < this.#bounds.unsentBytesMax;
  }

  #obtain(customer: CustomerNumber): CustomerWork {
    const known = this.#customers.get(customer);
    if (known !== undefined) return known;
    const made = { customer, inWork: 0, out: 0, waiting: [], waitingBytes: 0, unsentBytes: 0 };
    this.#customers.set(customer, made);
    return made;
  }

  #forget(own: CustomerWork): void {
    if (own.inWork > 0 || own.out > 0 || own.waiting.length > 0 || own.unsentBytes > 0) return;
    if (this.#customers.get(own.customer) === own) this.#customers.delete(own.customer);
  }
}
