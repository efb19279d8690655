import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { ENVIRONMENT_FORMATS, UNRECORDED_VERSION } from '../kernel/formats.ts';
import { messageOf } from './durable.ts';
import { openEnvironment } from './environment.ts';
import { readVersion, VERSION_TABLES } from './format-version.ts';
import { type EnvironmentName, TABLES } from './table-names.ts';
import { sumFits } from './value.ts';

/**
 * Checks the environments in the folder given as the first argument (followed by their names, and the milliseconds available for verifying
 * check sums). Writes a first line when the program is up, then one line of JSON per environment. A separate process, because touching a
 * damaged file kills the process by a signal: the parent then finds that line missing.
 */
export type ChildLine =
  | { readonly kind: 'up' }
  | {
      readonly kind: 'usable';
      readonly environment: EnvironmentName;
      readonly version: number;
      /** Without the record of the version. */
      readonly rows: number;
      /** Number of rows whose check sums were not verified, for lack of time. */
      readonly unchecked: number;
    }
  /** A newer build wrote it; its rows were not checked, because this build does not know their form. */
  | { readonly kind: 'newer'; readonly environment: EnvironmentName; readonly version: number }
  | { readonly kind: 'damaged'; readonly environment: EnvironmentName; readonly detail: string }
  | { readonly kind: 'unreadable'; readonly environment: EnvironmentName; readonly detail: string };

/** Errors of the machine, not of the file: quarantining the file would not help. */
const MACHINE_FAULTS =
  /permission denied|not permitted|EACCES|cannot allocate|too many open files|no space left|read-only file system/i;

async function main(): Promise<void> {
  const [folder = '', names = '', valuesMs = '0'] = process.argv.slice(2);
  print({ kind: 'up' });
  for (const environment of ['state', 'hot', 'extract', 'deliveries'] as const) {
    if (names.split(',').includes(environment)) print(await walk(folder, environment, Number(valuesMs)));
  }
}

function print(line: ChildLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function walk(folder: string, environment: EnvironmentName, valuesMs: number): Promise<ChildLine> {
  const file = join(folder, environment, 'data.mdb');
  try {
    if (!existsSync(file)) return { kind: 'damaged', environment, detail: 'the data file is missing' };
    accessSync(file, constants.R_OK);
    const root = openEnvironment(folder, environment, true);
    const version = findVersion(root, environment);
    const isNewer = version !== null && version > ENVIRONMENT_FORMATS[environment].version;
    const line: ChildLine = isNewer
      ? { kind: 'newer', environment, version }
      : walkTables(root, environment, version, valuesMs);
    await root.close();
    return line;
  } catch (error) {
    const detail = messageOf(error);
    return { kind: MACHINE_FAULTS.test(detail) ? 'unreadable' : 'damaged', environment, detail };
  }
}

function findVersion(root: RootDatabase<Buffer, Buffer>, environment: EnvironmentName): number | null {
  const name = VERSION_TABLES[environment];
  // Returns undefined, which the library's types omit, when the sub-database is missing.
  const table: Database<Buffer, Buffer> | undefined = root.openDB<Buffer, Buffer>({
    name,
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  return table === undefined ? null : readVersion(table);
}

function walkTables(
  root: RootDatabase<Buffer, Buffer>,
  environment: EnvironmentName,
  version: number | null,
  valuesMs: number,
): ChildLine {
  const deadline = performance.now() + valuesMs;
  // The record of the version is not counted.
  let rows = version === null ? 0 : -1;
  let unchecked = 0;
  for (const { name, keyBytes } of TABLES.filter((row) => row.environment === environment)) {
    const table = root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
    // The first opening created all tables before the marker was written; a table added by a newer version is created when that version
    // first opens the store.
    if (table === undefined) continue;
    // The native count visits every leaf, so it touches all pages of the tree; the result must match the entry count in the tree's header.
    const counted = table.getCount();
    const { entryCount } = table.getStats() as { readonly entryCount: number };
    if (counted !== entryCount) throw new Error(`${name} has ${counted} rows instead of ${entryCount}`);
    rows += counted;
    let seen = 0;
    for (const { key, value } of table.getRange()) {
      if ((seen & 255) === 255 && performance.now() > deadline) break;
      seen++;
      if (key.length !== keyBytes) throw new Error(`${name} has a key of a wrong length`);
      if (!sumFits(key, value)) throw new Error(`${name} has a row whose check sum is wrong`);
    }
    unchecked += counted - seen;
  }
  return { kind: 'usable', environment, version: version ?? UNRECORDED_VERSION, rows, unchecked };
}

await main();
