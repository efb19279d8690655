/**
 * The rate limits per registrable domain that all nodes keep together. Each node has its own limiter, which a request passes first; this
 * one decides between nodes. A single node needs none.
 */
export interface SharedPoliteness {
  /** Nodes among which the limits are divided while the store does not answer; at least 1. */
  readonly nodes: number;
  /**
   * Takes a slot for a request. Resolves to 0 if the request may start now, and to the ms after which to ask again; null: the store did
   * not answer. A slot is held until it is released; those of a dead node are free again after some seconds.
   */
  acquire(domain: string, slot: string): Promise<number | null>;
  /** Ends a slot, also one whose `acquire` had no answer. */
  release(domain: string, slot: string): void;
  /** Reports what a source asks for, in ms: all nodes wait for it. */
  report(domain: string, wish: { readonly retryAfterMs?: number; readonly crawlDelayMs?: number }): void;
}
