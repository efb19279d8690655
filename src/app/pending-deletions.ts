import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { removeRequestsOf } from '../history/request-log/request-files.ts';
import { testCustomerOf } from '../kernel/test-customers.ts';
import type { Log } from '../observe/log.ts';
import { type CustomerDeleted, deleteCustomer } from '../state/repair/delete-customer.ts';
import type { Origin } from '../ports/change-feed.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { Customer } from '../state/tables/customer-table.ts';
import type { StoreFault } from '../state/tables/durable.ts';
import { isCode } from '../state/tables/write-files.ts';

const DELETIONS_NAME = 'deletions.log';
const ID = /^cus_[0-9A-HJKMNP-TV-Z]{26}$/;

/** What a deletion removed. */
export interface EntirelyDeleted extends CustomerDeleted {
  /** Files of logged requests. */
  readonly requestFiles: number;
}

/** Deletes a customer with its rows and files. The caller has the lock of the server. */
export async function deleteEntirely(
  store: Store,
  customer: Customer,
  origin: Origin,
): Promise<EntirelyDeleted | StoreFault> {
  const deleted = await deleteCustomer(store, customer, origin);
  if (deleted.kind === 'fault') return deleted;
  const numbers = [customer.number, testCustomerOf(customer.number)];
  const requestFiles = numbers.reduce((sum, number) => sum + removeRequestsOf(store.dataDir, number), 0);
  return { ...deleted, requestFiles };
}

/** Records, beside a running server, that its next start deletes a customer. Throws file system errors. */
export function noteDeletion(dataDir: string, id: string): void {
  const file = openSync(join(dataDir, DELETIONS_NAME), 'a', 0o600);
  try {
    // A line break first: the last line may be truncated.
    writeSync(file, `\n${id}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Deletes the customers that `noteDeletion` recorded, at the start of a server, before anything has their rows in memory. A customer whose
 * suspension has ended since is kept: its operator has changed their mind. A failed deletion is logged, and the next start repeats it.
 */
export async function completeDeletions(store: Store, nowMs: number, log: Log): Promise<void> {
  const path = join(store.dataDir, DELETIONS_NAME);
  const ids = readIds(path);
  let failed = 0;
  for (const id of new Set(ids)) {
    const customer = store.customers.findById(id);
    if (customer === null) continue;
    if (customer.suspendedAtSeconds === null) {
      log.warn({ customer: id }, 'a customer is not deleted: its suspension has ended');
      continue;
    }
    const deleted = await deleteEntirely(store, customer, { by: 'service', nowMs });
    if (deleted.kind === 'fault') {
      failed++;
      log.error({ customer: id, detail: deleted.detail }, 'a customer could not be deleted; the next start repeats it');
      continue;
    }
    const { tables, requestFiles } = deleted;
    const removed = Object.fromEntries(tables.flatMap(({ table, removed: rows }) => (rows > 0 ? [[table, rows]] : [])));
    log.info(
      { customer: id, removed, request_files: requestFiles },
      'a customer was deleted; no table has a row of it',
    );
  }
  if (failed === 0) rmSync(path, { force: true });
}

/** Returns the ids of the valid lines; empty without a file. */
function readIds(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => ID.test(line));
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}
