import type { Delivery, DeliveryId } from '../work/webhook.ts';

/**
 * What other nodes of a cluster need in order to continue this node's deliveries after its death. A single node has none.
 *
 * While it is behind, the deliver worker begins no attempt: what others know of a delivery is then never older than its last attempt but
 * one.
 */
export interface DeliveryMirror {
  /** Takes new pending rows. Resolves when other nodes could continue them; they are handed out then. */
  stored(rows: readonly Delivery[]): Promise<void>;
  /** Takes pending rows after an attempt. */
  attempted(rows: readonly Delivery[]): void;
  /** Forgets deliveries that have ended. */
  ended(ids: readonly DeliveryId[]): void;
}
