import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { committed, type StoreFault, type StoreWrite } from './durable.ts';
import { table } from './environment.ts';
import { endOfCustomer } from './request-rows.ts';
import type { TableName } from './table-names.ts';
import type { Slices } from './turns.ts';
import { u32Key, withSum } from './value.ts';

/**
 * Makes what was removed from an environment disappear from its file. LMDB never overwrites a page in place: an old version of a page stays
 * in the file until the page is used again, and the free space of a live page may hold what a removed row left there.
 */

/** Choice: some 0.3 ms of the main thread for each transaction. */
const ROWS_AT_ONCE = 64;
/** A row of this size takes a page of its own, all of it: 4,096 bytes without the page's head. Its last four bytes are the checksum. */
const FILLER_BYTES = 4_076;
/** Choice: pages freed by the last transactions can be used only when no reader needs them; a reader begins again with each batch. */
const TRIES = 3;
const BETWEEN_TRIES_MS = 50;

/**
 * Writes the rows of a customer again, as they are, so that their pages move and leave behind what was removed from them. Not through
 * `apply`, because no content changes.
 */
export async function rewriteRows(
  root: RootDatabase<Buffer, Buffer>,
  name: TableName,
  customer: CustomerNumber,
  slices: Slices,
): Promise<StoreFault | null> {
  const rows = table(root, name);
  let start: Buffer = u32Key(customer);
  for (let isFirst = true; ; isFirst = false) {
    await slices.begin();
    const range = { start, end: endOfCustomer(customer), exclusiveStart: !isFirst, limit: ROWS_AT_ONCE };
    const keys = [...rows.getKeys(range)].map((key) => Buffer.from(key));
    const last = keys.at(-1);
    if (last === undefined) return null;
    const written = await committed(root, () => {
      for (const key of keys) {
        const value = rows.getBinary(key);
        if (value !== undefined) void rows.put(key, value);
      }
    });
    if (written.kind === 'fault') return written;
    start = last;
  }
}

/**
 * Fills the free pages of an environment with zeros, by rows of a table that is empty before and after. The file grows by some 100 pages.
 * Returns null on success.
 */
export async function overwriteFreePages(
  root: RootDatabase<Buffer, Buffer>,
  filler: TableName,
  slices: Slices,
): Promise<StoreFault | null> {
  const rows = table(root, filler);
  let written: StoreWrite<unknown> = await clear(root, rows, slices);
  for (let tries = 0, at = 0; tries < TRIES && written.kind === 'ok'; tries++) {
    await new Promise((resolve) => void setTimeout(resolve, BETWEEN_TRIES_MS));
    // What is free now is used up when a transaction takes all of its pages from the end of the file.
    for (let grown = 0; grown < ROWS_AT_ONCE && written.kind === 'ok';) {
      await slices.begin();
      const before = pagesOf(root);
      const from = at;
      written = await committed(root, () => {
        for (; at < from + ROWS_AT_ONCE; at++) void rows.put(u32Key(at), withSum(u32Key(at), ZEROS));
      });
      grown = pagesOf(root) - before;
    }
  }
  // Also after a fault: until then no other write can use these pages.
  const cleared = await clear(root, rows, slices);
  if (written.kind === 'fault') return written;
  return cleared.kind === 'fault' ? cleared : null;
}

const ZEROS = Buffer.alloc(FILLER_BYTES);

function pagesOf(root: RootDatabase<Buffer, Buffer>): number {
  const { lastPageNumber } = root.getStats() as { readonly lastPageNumber?: number };
  return lastPageNumber ?? 0;
}

async function clear(
  root: RootDatabase<Buffer, Buffer>,
  rows: Database<Buffer, Buffer>,
  slices: Slices,
): Promise<StoreWrite<unknown>> {
  for (;;) {
    await slices.begin();
    const keys = [...rows.getKeys({ limit: ROWS_AT_ONCE })].map((key) => Buffer.from(key));
    const removed = await committed(root, () => {
      for (const key of keys) void rows.remove(key);
    });
    if (removed.kind === 'fault' || keys.length < ROWS_AT_ONCE) return removed;
  }
}
