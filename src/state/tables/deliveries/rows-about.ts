import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../../kernel/brand.ts';
import { endOfCustomer } from '../request-rows.ts';
import { type Slices, walkInSlices } from '../turns.ts';
import { u32Key } from '../value.ts';
import { isPending, requestOfRow } from './row.ts';

export interface DeliveriesErased {
  readonly removed: number;
  /** Those that are still to be sent. */
  readonly waiting: number;
}

/** Returns the stored keys of a customer's ended deliveries about some decisions, and how many are pending. In slices. */
export async function deliveriesAbout(
  table: Database<Buffer, Buffer>,
  customer: CustomerNumber,
  requestIds: ReadonlySet<string>,
  slices: Slices,
): Promise<{ readonly keys: readonly Buffer[]; readonly waiting: number }> {
  const keys: Buffer[] = [];
  let waiting = 0;
  const range = { start: u32Key(customer), end: endOfCustomer(customer) };
  await walkInSlices(table, range, slices, (key, value) => {
    if (!requestIds.has(requestOfRow(value))) return 'on';
    if (isPending(value)) waiting++;
    else keys.push(Buffer.from(key));
    return 'on';
  });
  return { keys, waiting };
}
