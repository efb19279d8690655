import type { CustomerNumber } from '../../kernel/brand.ts';
import { decodeRow, deliveryRowKey, encodeRow } from '../../state/tables/deliveries/row.ts';
import type { Delivery } from '../../work/webhook.ts';

/**
 * Version of a delivery between nodes: a byte, then customer number, u32, then the row as in the delivery log. Raise it when the row
 * changes. Nodes leave rows of another version where they are: a node that reads them continues them.
 */
export const DELIVERY_FORMAT = 1;
const HEAD_BYTES = 5;

export function packDelivery(row: Delivery): Buffer {
  const key = keyOf(row.customer, row.id);
  return Buffer.concat([VERSION, key.subarray(0, 4), encodeRow(key, row)]);
}

const VERSION = Buffer.from([DELIVERY_FORMAT]);

/** Returns null for a row of another version. `bytes` must belong to the caller. */
export function unpackDelivery(id: string, bytes: Buffer): Delivery | null {
  if (bytes[0] !== DELIVERY_FORMAT || bytes.length < HEAD_BYTES) return null;
  return decodeRow(keyOf(bytes.readUInt32BE(1) as CustomerNumber, id), bytes.subarray(HEAD_BYTES));
}

function keyOf(customer: CustomerNumber, id: string): Buffer {
  const key = deliveryRowKey(customer, id);
  if (key === null) throw new Error('a delivery needs an id of its own');
  return key;
}
