import type { CustomerNumber } from '../kernel/brand.ts';
import type { Outcome } from '../risk/event-outcome.ts';
import type { HistoryEvent, HistoryFacts } from '../risk/history.ts';

/**
 * The velocity store of one installation. Its single-node adapter is the table in shared memory (`src/velocity`).
 *
 * Takes the events of a batch, in their order, and returns the history of each, in the same order. Direction of failure: open; an
 * unavailable store returns null for an event, and rules about history stay quiet.
 */
export interface Velocity {
  /** `isAlone`: these requests have already waited in vain for what nodes share, so an adapter does not wait for it again. */
  observe(
    events: readonly HistoryEvent[],
    isAlone?: boolean,
  ): readonly (HistoryFacts | null)[] | Promise<readonly (HistoryFacts | null)[]>;
}

/** The same store, for outcomes that are reported later. */
export interface OutcomeMemory {
  /**
   * Replaces the previous outcome, and reverts or confirms what the event added about its entities: at once for this node. A promise
   * resolves when all nodes can know it, and never rejects.
   */
  settle(settled: SettledEvent): void | Promise<void>;
}

/** A decision whose outcome is reported. */
export interface SettledEvent {
  readonly customer: CustomerNumber;
  readonly publicKey: boolean;
  /** As returned by `observe`. */
  readonly trace: Uint8Array;
  readonly occurredAtMs: number;
  readonly nowMs: number;
  /** The outcome that counted so far; null without one. */
  readonly before: Outcome | null;
  readonly outcome: Outcome;
}
