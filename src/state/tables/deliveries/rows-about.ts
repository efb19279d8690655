import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../../kernel/brand.ts';
import type { StoreWrite } from '../durable.ts';
import { endOfCustomer } from '../request-rows.ts';
import { type Slices, walkInSlices } from '../turns.ts';
import { u32Key } from '../value.ts';
import { isPending, requestOfRow } from './row.ts';

export interface DeliveriesErased {
  readonly removed: number;
  /** Those that are still to be sent. */
  readonly waiting: number;
}

/** Choice: rows that are removed in one transaction. */
const ERASE_ROWS = 500;

/** Passes the stored rows of a customer's deliveries about some decisions, in slices. The value is borrowed. */
export async function eachDeliveryAbout(
  table: Database<Buffer, Buffer>,
  customer: CustomerNumber,
  requestIds: ReadonlySet<string>,
  slices: Slices,
  visit: (key: Buffer, value: Buffer) => void,
): Promise<void> {
  const range = { start: u32Key(customer), end: endOfCustomer(customer) };
  await walkInSlices(table, range, slices, (key, value) => {
    if (requestIds.has(requestOfRow(value))) visit(Buffer.from(key), value);
    return 'on';
  });
}

/** Passes the stored keys of a customer's ended deliveries about some decisions to `remove`, in parts. In slices. */
export async function eraseDeliveriesAbout(
  table: Database<Buffer, Buffer>,
  customer: CustomerNumber,
  requestIds: ReadonlySet<string>,
  slices: Slices,
  remove: (keys: readonly Buffer[]) => Promise<StoreWrite<number>>,
): Promise<StoreWrite<DeliveriesErased>> {
  const keys: Buffer[] = [];
  let waiting = 0;
  await eachDeliveryAbout(table, customer, requestIds, slices, (key, value) => {
    if (isPending(value)) waiting++;
    else keys.push(key);
  });
  let removed = 0;
  for (let at = 0; at < keys.length; at += ERASE_ROWS) {
    await slices.begin();
    const written = await remove(keys.slice(at, at + ERASE_ROWS));
    if (written.kind === 'fault') return written;
    removed += written.value;
  }
  return { kind: 'ok', value: { removed, waiting } };
}
