import type { CustomerNumber } from '../../kernel/brand.ts';
import { FairEntry, FairQueue } from '../../kernel/fair-queue.ts';
import { KeyedSlots } from '../../kernel/keyed-slots.ts';

export interface PlacesBounds {
  readonly all: number;
  readonly perCustomer: number;
}

/** Concurrency limiter, in total and per customer. Free slots go to the waiting customers in turn. */
export class Places {
  readonly #slots: KeyedSlots<CustomerNumber>;
  readonly #waiting = new FairQueue<CustomerNumber, (isTaken: boolean) => void>();
  readonly #mayTake = (customer: CustomerNumber): boolean => this.#slots.hasRoom(customer);
  #isStopping = false;

  constructor({ all, perCustomer }: PlacesBounds) {
    this.#slots = new KeyedSlots({ all, perKey: perCustomer });
  }

  /** Resolves to false if the service stops before a slot is free. */
  take(customer: CustomerNumber): Promise<boolean> {
    if (this.#isStopping) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (isTaken: boolean): void => {
        if (isTaken) this.#slots.take(customer);
        resolve(isTaken);
      };
      if (this.#mayTake(customer)) end(true);
      else this.#waiting.put(customer, new FairEntry(end));
    });
  }

  give(customer: CustomerNumber): void {
    this.#slots.give(customer);
    this.#waiting.take(this.#mayTake)?.(true);
  }

  stop(): void {
    this.#isStopping = true;
    for (let end = this.#waiting.take(); end !== null; end = this.#waiting.take()) end(false);
  }
}
