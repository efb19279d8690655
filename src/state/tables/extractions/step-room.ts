import type { CustomerNumber } from '../../../kernel/brand.ts';
import type { ExtractionState } from '../../../work/extraction-state.ts';

/** Limits of the disk space that steps take. */
export interface StepRoomBounds {
  readonly stepBytesPerJobMax: number;
  readonly stepBytesPerCustomerMax: number;
  /** Limit for all customers together. */
  readonly stepBytesMax: number;
  /** What a job may take whatever other jobs take. */
  readonly stepBytesPerJobMin: number;
}

interface OpenJob {
  readonly job: { readonly customer: CustomerNumber };
  readonly state: Pick<ExtractionState, 'stepBytes'>;
}

/**
 * Disk space that the steps of open jobs take, per customer. Follows from the jobs' states alone, so that all nodes of a cluster decide
 * alike.
 */
export class StepRoom {
  readonly #bounds: StepRoomBounds;
  readonly #open: () => Iterable<OpenJob>;
  #bytes: Map<CustomerNumber, number> | null = null;
  #all = 0;

  constructor(bounds: StepRoomBounds, open: () => Iterable<OpenJob>) {
    this.#bounds = bounds;
    this.#open = open;
  }

  /** Call before the first change of a transaction whose states are not stored yet. */
  load(): void {
    if (this.#bytes !== null) return;
    this.#bytes = new Map();
    this.#all = 0;
    for (const { job, state } of this.#open()) this.count(job.customer, state.stepBytes);
  }

  /** Adds to what a customer's steps take. Does nothing before the first `load`. */
  count(customer: CustomerNumber, bytes: number): void {
    if (this.#bytes === null) return;
    const own = (this.#bytes.get(customer) ?? 0) + bytes;
    this.#all += bytes;
    if (own > 0) this.#bytes.set(customer, own);
    else this.#bytes.delete(customer);
  }

  /** Returns how much more the steps of a job may take that take `own` bytes. */
  left(customer: CustomerNumber, own: number): number {
    const { stepBytesPerJobMax, stepBytesPerCustomerMax, stepBytesMax, stepBytesPerJobMin } = this.#bounds;
    const shared = Math.min(stepBytesPerCustomerMax - (this.#bytes?.get(customer) ?? 0), stepBytesMax - this.#all);
    return Math.min(stepBytesPerJobMax - own, Math.max(shared, stepBytesPerJobMin - own));
  }

  /** Call after a refused write, and when rows were written past this class. */
  forget(): void {
    this.#bytes = null;
  }
}
