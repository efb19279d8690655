import type { CustomerNumber } from '../kernel/brand.ts';
import { pack } from '../kernel/pack.ts';
import { decodeRow, deliveryKey, encodeRow } from '../state/deliveries/row.ts';
import type { DeliveryReason, DeliveryReport, DeliveryWork } from '../state/delivery-work.ts';
import type { Delivery } from '../work/webhook.ts';
import type { WorkCodec } from './redis-work-queue.ts';

/** Deliveries in the lanes of their endpoints: customer number, u32, then the row as in the delivery log. */
export const DELIVERY_CODEC: WorkCodec<Delivery, DeliveryWork, DeliveryReport, DeliveryReason> = {
  idOf: ({ id }) => id,
  laneOf: ({ endpointId }) => endpointId,
  encode: packDelivery,
  decode(id, lane, bytes) {
    const row = unpackDelivery(id, bytes);
    return { id: row.id, lane, row };
  },
  retried: ({ row }, { attempt, elapsedMs }, atMs) =>
    packDelivery({
      ...row,
      attempts: attempt === null ? row.attempts : [...row.attempts, attempt],
      elapsedMs,
      nextAttemptAtMs: atMs,
    }),
  encodeReason: ({ status, error }) => pack([status, error]),
};

export function packDelivery(row: Delivery): Buffer {
  const key = keyOf(row.customer, row.id);
  return Buffer.concat([key.subarray(0, 4), encodeRow(key, row)]);
}

/** `bytes` must belong to the caller. */
export function unpackDelivery(id: string, bytes: Buffer): Delivery {
  return decodeRow(keyOf(bytes.readUInt32BE(0) as CustomerNumber, id), bytes.subarray(4));
}

function keyOf(customer: CustomerNumber, id: string): Buffer {
  const key = deliveryKey(customer, id);
  if (key === null) throw new Error('a delivery needs an id of its own');
  return key;
}
