import type { RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { STORE_DISK_FREE_BYTES_MIN } from '../../kernel/limits.ts';
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
/** Choice: while the free pages are in use, other writes take theirs from the disk, up to the reserve of all writes. */
const FILL_FREE_BYTES_MIN = 2 * STORE_DISK_FREE_BYTES_MIN;
/** Choice: removing filler takes some 20 pages of 4,096 bytes and gives back 64; so it may use the reserve. */
const CLEAR_FREE_BYTES_MIN = 1_048_576;

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
 * Returns null on success. Refuses with `store_full` when the disk has little room. Rows stay in the filler if the slices are aborted or
 * the process is killed: call `clearFiller` at the next start.
 */
export async function overwriteFreePages(
  root: RootDatabase<Buffer, Buffer>,
  filler: TableName,
  slices: Slices,
): Promise<StoreFault | null> {
  const rows = table(root, filler);
  let written: StoreWrite<unknown> = await clearFiller(root, filler, slices);
  for (let tries = 0, at = 0; tries < TRIES && written.kind === 'ok'; tries++) {
    await new Promise((resolve) => void setTimeout(resolve, BETWEEN_TRIES_MS));
    // What is free now is used up when a transaction takes all of its pages from the end of the file.
    for (let grown = 0; grown < ROWS_AT_ONCE && written.kind === 'ok';) {
      await slices.begin();
      const before = pagesOf(root);
      const from = at;
      written = await committed(
        root,
        () => {
          for (; at < from + ROWS_AT_ONCE; at++) void rows.put(u32Key(at), withSum(u32Key(at), ZEROS));
        },
        FILL_FREE_BYTES_MIN,
      );
      grown = pagesOf(root) - before;
    }
  }
  // Also after a fault: until then no other write can use these pages.
  const cleared = await clearFiller(root, filler, slices);
  if (written.kind === 'fault') return written;
  return cleared.kind === 'fault' ? cleared : null;
}

const ZEROS = Buffer.alloc(FILLER_BYTES);

function pagesOf(root: RootDatabase<Buffer, Buffer>): number {
  const { lastPageNumber } = root.getStats() as { readonly lastPageNumber?: number };
  return lastPageNumber ?? 0;
}

/** Removes all rows of a filler, also from a full disk: they occupy the pages that other writes need. */
export async function clearFiller(
  root: RootDatabase<Buffer, Buffer>,
  filler: TableName,
  slices: Slices,
): Promise<StoreWrite<unknown>> {
  const rows = table(root, filler);
  for (;;) {
    await slices.begin();
    const keys = [...rows.getKeys({ limit: ROWS_AT_ONCE })].map((key) => Buffer.from(key));
    if (keys.length === 0) return { kind: 'ok', value: null };
    const removed = await committed(
      root,
      () => {
        for (const key of keys) void rows.remove(key);
      },
      CLEAR_FREE_BYTES_MIN,
    );
    if (removed.kind === 'fault' || keys.length < ROWS_AT_ONCE) return removed;
  }
}
