import type { CustomerNumber } from '../kernel/brand.ts';
import type { Origin } from '../ports/change-feed.ts';
import type { StoredErasure } from '../state/tables/erasure-table.ts';
import type { StoreFault } from '../state/tables/durable.ts';

/** An erasure that a caller asks for. */
export interface ErasureWish {
  readonly customer: CustomerNumber;
  /** `entity.<name>`, `ip` or `browser`. */
  readonly subject: string;
  /** As the caller writes it. */
  readonly value: string;
  readonly keepBlocks: boolean;
}

export interface ErasureState extends StoredErasure {
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed';
}

/** The erasures of people. They survive a restart. */
export interface PrivacyQueue {
  /**
   * Resolves when the erasure is recorded, and so will be carried out. `not_a_value`: no value of that subject. `limit_reached`: the
   * customer has all of its erasures, `queue_full`: too many that wait.
   */
  erase(
    wish: ErasureWish,
    origin: Origin,
  ): Promise<ErasureState | 'not_a_value' | 'limit_reached' | 'queue_full' | StoreFault>;
  find(customer: CustomerNumber, id: string): ErasureState | null;
}
