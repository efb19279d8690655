import type { Deliveries } from '../state/tables/delivery-table.ts';
import type { Delivery, DeliveryId } from '../work/webhook.ts';

/** Choice: rows read at a time, about a millisecond of the main thread. */
const ROWS_AT_ONCE = 64;

/** Yields all pending deliveries, some of one endpoint at a time; the caller may wait between two. */
export function* pendingRows(
  deliveries: Pick<Deliveries, 'endpointsWithPending' | 'pendingOf'>,
): Generator<readonly Delivery[]> {
  for (const endpoint of deliveries.endpointsWithPending()) {
    let after: DeliveryId | null = null;
    for (;;) {
      const rows: readonly Delivery[] = deliveries.pendingOf(endpoint, after, ROWS_AT_ONCE);
      if (rows.length > 0) yield rows;
      after = rows.at(-1)?.id ?? null;
      if (rows.length < ROWS_AT_ONCE) break;
    }
  }
}
