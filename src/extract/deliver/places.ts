import type { CustomerNumber } from '../../base/brand.ts';

export interface PlacesBounds {
  readonly all: number;
  readonly perCustomer: number;
}

/** Places for what may be under way at once, of all customers and of one. Who waits gets one in turn, as its customer has room. */
export class Places {
  readonly #bounds: PlacesBounds;
  readonly #takenBy = new Map<CustomerNumber, number>();
  #waiting: { readonly customer: CustomerNumber; readonly resolve: (isTaken: boolean) => void }[] = [];
  #taken = 0;
  #isStopping = false;

  constructor(bounds: PlacesBounds) {
    this.#bounds = bounds;
  }

  /** False when the service stops before there is one. */
  take(customer: CustomerNumber): Promise<boolean> {
    if (this.#isStopping) return Promise.resolve(false);
    if (this.#hasRoom(customer)) {
      this.#count(customer, 1);
      return Promise.resolve(true);
    }
    return new Promise((resolve) => this.#waiting.push({ customer, resolve }));
  }

  give(customer: CustomerNumber): void {
    this.#count(customer, -1);
    const at = this.#waiting.findIndex((one) => this.#hasRoom(one.customer));
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (next === undefined) return;
    this.#count(next.customer, 1);
    next.resolve(true);
  }

  stop(): void {
    this.#isStopping = true;
    for (const { resolve } of this.#waiting) resolve(false);
    this.#waiting = [];
  }

  #hasRoom(customer: CustomerNumber): boolean {
    return this.#taken < this.#bounds.all && (this.#takenBy.get(customer) ?? 0) < this.#bounds.perCustomer;
  }

  #count(customer: CustomerNumber, by: 1 | -1): void {
    this.#taken += by;
    const own = (this.#takenBy.get(customer) ?? 0) + by;
    if (own > 0) this.#takenBy.set(customer, own);
    else this.#takenBy.delete(customer);
  }
}
