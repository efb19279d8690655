import type { Database, RootDatabase } from 'lmdb';
import {
  ENVIRONMENT_FORMATS,
  type EnvironmentFormat,
  type RowRewrite,
  UNRECORDED_VERSION,
} from '../../kernel/formats.ts';
import { lackOfRoom } from '../tables/disk-room.ts';
import { fault, messageOf, type StoreWrite } from '../tables/durable.ts';
import { openEnvironment } from '../tables/environment.ts';
import { putVersion, readVersion, VERSION_TABLES } from './format-version.ts';
import type { EnvironmentName } from '../tables/table-names.ts';
import { withoutSum, withSum } from '../tables/value.ts';

/** Choice: rows copied at a time, so that a large table takes no more memory than a small one. */
const ROWS_MAX = 1_000;

/**
 * Brings an environment to the version that this build writes and returns the version that it had. Creates a missing environment. Each step
 * commits in one transaction together with its version, synced: a start that is killed repeats only the step that it was in. A step that
 * throws changes nothing. Only for the holder of the server's lock.
 */
export async function migrateEnvironment(
  dataDir: string,
  environment: EnvironmentName,
  format: EnvironmentFormat = ENVIRONMENT_FORMATS[environment],
): Promise<StoreWrite<number>> {
  let root: RootDatabase<Buffer, Buffer> | null = null;
  try {
    root = openEnvironment(dataDir, environment, false);
    const lack = lackOfRoom(root);
    if (lack !== null) return fault('store_full', `${environment} cannot be migrated: ${lack}`);
    return { kind: 'ok', value: runSteps(root, environment, format) };
  } catch (error) {
    return fault('store_write_failed', `${environment} cannot be migrated: ${messageOf(error)}`);
  } finally {
    await root?.close();
  }
}

function runSteps(root: RootDatabase<Buffer, Buffer>, environment: EnvironmentName, format: EnvironmentFormat): number {
  const versions = openTable(root, VERSION_TABLES[environment]);
  const found = readVersion(versions) ?? UNRECORDED_VERSION;
  for (const { from, rows } of format.steps) {
    if (from < found) continue;
    const rewrites = Object.entries(rows).map(([name, rewrite]) => ({ table: openTable(root, name), rewrite }));
    // Unlike `transaction`, this one undoes everything if the rewrite throws.
    root.transactionSync(() => {
      for (const { table, rewrite } of rewrites) rewriteRows(table, rewrite);
      putVersion(versions, from + 1);
    });
  }
  return found;
}

function openTable(root: RootDatabase<Buffer, Buffer>, name: string): Database<Buffer, Buffer> {
  return root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
}

function rewriteRows(table: Database<Buffer, Buffer>, rewrite: RowRewrite): void {
  let after: Buffer | null = null;
  for (;;) {
    const rows: { readonly key: Buffer; readonly value: Buffer }[] = [];
    const range = table.getRange({ ...(after !== null && { start: after, exclusiveStart: true }), limit: ROWS_MAX });
    for (const { key, value } of range) rows.push({ key: Buffer.from(key), value: Buffer.from(value) });
    for (const { key, value } of rows) {
      const next = rewrite(key, withoutSum(value));
      if (next === null) void table.remove(key);
      else void table.put(key, withSum(key, next));
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_MAX) return;
    after = last.key;
  }
}
