import type { Delivery } from '../core/webhook.ts';

/** How many deliveries of each endpoint have been taken in since the start and have not ended. */
export class PendingCounts {
  readonly #counts = new Map<string, number>();

  of(endpointId: string): number {
    return this.#counts.get(endpointId) ?? 0;
  }

  /** Rows that are no longer pending do not count. */
  added(rows: readonly Delivery[]): void {
    for (const { endpointId, status } of rows) {
      if (status === 'pending') this.#counts.set(endpointId, this.of(endpointId) + 1);
    }
  }

  /** Those of the last run end too, and were never counted. */
  ended(endpointId: string): void {
    const left = this.of(endpointId) - 1;
    if (left > 0) this.#counts.set(endpointId, left);
    else this.#counts.delete(endpointId);
  }
}
