import type { CustomerNumber } from '../kernel/brand.ts';
import type { Origin } from '../ports/change-feed.ts';
import type { StoredErasure } from '../state/tables/erasure-table.ts';
import type { StoreFault } from '../state/tables/durable.ts';

/** A person about whom a caller asks for something. */
export interface PersonWish {
  readonly customer: CustomerNumber;
  /** `entity.<name>`, `ip` or `browser`. */
  readonly subject: string;
  /** As the caller writes it. */
  readonly value: string;
}

export interface ErasureWish extends PersonWish {
  readonly keepBlocks: boolean;
}

type Status = 'queued' | 'running' | 'succeeded' | 'failed';

export interface ErasureState extends StoredErasure {
  readonly status: Status;
}

export interface ExportState {
  readonly id: string;
  readonly subject: string;
  readonly status: Status;
  readonly requestedAtMs: number;
  readonly finishedAtMs: number | null;
  /** Place → rows. */
  readonly found: Readonly<Record<string, number>>;
  /** Place → rows that did not fit. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** The exports of people, in the memory of this node. */
export interface PersonExportQueue {
  /** Resolves when the export is in the audit log. `not_a_value`: no value of that subject. `queue_full`: the customer has too many. */
  start(wish: PersonWish, origin: Origin): Promise<ExportState | 'not_a_value' | 'queue_full' | StoreFault>;
  find(customer: CustomerNumber, id: string): ExportState | null;
  /** Returns the text; null for an unknown export. */
  read(customer: CustomerNumber, id: string, format: 'ndjson' | 'html'): Promise<Buffer | 'not_ready' | null>;
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
