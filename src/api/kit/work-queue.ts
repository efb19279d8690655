import type { CustomerNumber } from '../../kernel/brand.ts';
import { FairEntry, FairQueue } from '../../kernel/fair-queue.ts';

export interface WorkBounds {
  /** Concurrently running calls: of all customers, and of one customer. */
  readonly inWorkMax: number;
  readonly inWorkPerCustomerMax: number;
  /** Waiting calls, and the bytes of their bodies: of all customers, and of one customer. */
  readonly waitingMax: number;
  readonly waitingPerCustomerMax: number;
  readonly waitingBytesMax: number;
  readonly waitingBytesPerCustomerMax: number;
  /** Response bytes that a customer has not received yet. At this number its further calls wait. */
  readonly unsentBytesMax: number;
}

/** The slot of a running call. */
export interface QueuePlace {
  /** Frees the slot while the call waits for something other than the main thread, then waits for another slot. */
  whileOut<T>(awaited: () => Promise<T>): Promise<T>;
  /** Counts `bytes` of the response as unsent until the caller calls `received`, which may be after `leave`. */
  sending(bytes: number): { received(): void };
  /** Frees the slot. Idempotent. */
  leave(): void;
}

interface CustomerWork {
  readonly customer: CustomerNumber;
  inWork: number;
  /** Calls that have freed their slot and will return. */
  out: number;
  unsentBytes: number;
}

/**
 * Limits the concurrency of management calls. Only a few run at once; the others wait, first in first out for each customer. Free slots
 * go to the customers in turn, so that a customer with few calls waits for at most one call of each other customer.
 */
export class WorkQueue {
  readonly #bounds: WorkBounds;
  readonly #customers = new Map<CustomerNumber, CustomerWork>();
  readonly #arriving = new Map<string, { calls: number; bytes: number }>();
  /** What begins each waiting call; the weight is the bytes of its body. */
  readonly #waiting: FairQueue<CustomerNumber, () => void>;
  readonly #mayServe = (customer: CustomerNumber): boolean => this.#mayBegin(this.#customers.get(customer));
  #inWork = 0;

  constructor(bounds: WorkBounds) {
    this.#bounds = bounds;
    this.#waiting = new FairQueue({
      sizeMax: bounds.waitingMax,
      sizePerKeyMax: bounds.waitingPerCustomerMax,
      weightMax: bounds.waitingBytesMax,
      weightPerKeyMax: bounds.waitingBytesPerCustomerMax,
    });
  }

  get inWork(): number {
    return this.#inWork;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Returns true if another call of the customer, with a body of `bytes`, can neither begin nor wait. */
  isFull(customer: CustomerNumber, bytes: number): boolean {
    return !this.#mayServe(customer) && !this.#waiting.hasRoom(customer, bytes);
  }

  /** Returns whether there will be room for a call when its body has arrived, after the calls that have reserved room from this source. */
  mayReceive(customer: CustomerNumber, bytes: number, source: string): boolean {
    const { calls, bytes: arrivingBytes } = this.#arriving.get(laneOf(customer, source)) ?? NONE;
    const free = this.#freeSlots(this.#customers.get(customer));
    if (calls < free) return true;
    // The others begin at once.
    const waiting = calls - free;
    const waitingBytes = calls === 0 ? 0 : (arrivingBytes * waiting) / calls;
    return this.#waiting.hasRoom(customer, bytes + waitingBytes, { own: waiting, all: waiting });
  }

  /**
   * Reserves room for a call while its large body is received, so that a body that could not wait is refused unread. The caller is not
   * verified yet, so only `mayReceive` for the same source counts it. Returns what ends the reservation, which is idempotent.
   */
  reserve(customer: CustomerNumber, bytes: number, source: string): () => void {
    const lane = laneOf(customer, source);
    const arriving = this.#arriving.get(lane) ?? { calls: 0, bytes: 0 };
    this.#arriving.set(lane, arriving);
    arriving.calls++;
    arriving.bytes += bytes;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      arriving.calls--;
      arriving.bytes -= bytes;
      if (arriving.calls === 0) this.#arriving.delete(lane);
    };
  }

  /** Resolves when the call may begin. The caller must have checked `isFull` in the same turn of the event loop. */
  async enter(customer: CustomerNumber, bytes: number): Promise<QueuePlace> {
    const own = this.#obtain(customer);
    await this.#entered(own, bytes, false);
    return this.#place(own);
  }

  #place(own: CustomerWork): QueuePlace {
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

  /** `isBack`: the call ran before, so it goes before calls that have not started. */
  #entered(own: CustomerWork, bytes: number, isBack: boolean): Promise<void> {
    return new Promise((resolve) => {
      const begin = (): void => {
        own.inWork++;
        this.#inWork++;
        resolve();
      };
      const { customer } = own;
      if (this.#waiting.sizeOf(customer) === 0 && this.#mayBegin(own)) {
        begin();
        return;
      }
      const entry = new FairEntry<CustomerNumber, () => void>(begin);
      if (isBack) this.#waiting.putFirst(customer, entry, bytes);
      else this.#waiting.put(customer, entry, bytes);
    });
  }

  #next(): void {
    while (this.#inWork < this.#bounds.inWorkMax) {
      const begin = this.#waiting.take(this.#mayServe);
      if (begin === null) return;
      begin();
    }
  }

  #mayBegin(own: CustomerWork | undefined): boolean {
    return this.#freeSlots(own) > 0;
  }

  /** Returns how many more calls of the customer may begin. */
  #freeSlots(own: CustomerWork | undefined): number {
    const { inWorkMax, inWorkPerCustomerMax, unsentBytesMax } = this.#bounds;
    if (own !== undefined && own.unsentBytes >= unsentBytesMax) return 0;
    return Math.max(0, Math.min(inWorkMax - this.#inWork, inWorkPerCustomerMax - (own?.inWork ?? 0)));
  }

  #obtain(customer: CustomerNumber): CustomerWork {
    const known = this.#customers.get(customer);
    if (known !== undefined) return known;
    const made = { customer, inWork: 0, out: 0, unsentBytes: 0 };
    this.#customers.set(customer, made);
    return made;
  }

  #forget(own: CustomerWork): void {
    if (own.inWork > 0 || own.out > 0 || own.unsentBytes > 0 || this.#waiting.sizeOf(own.customer) > 0) return;
    if (this.#customers.get(own.customer) === own) this.#customers.delete(own.customer);
  }
}

const NONE = { calls: 0, bytes: 0 } as const;

function laneOf(customer: CustomerNumber, source: string): string {
  return `${customer} ${source}`;
}
