import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { ENVIRONMENT_FORMATS, UNRECORDED_VERSION } from '../../kernel/formats.ts';
import { messageOf } from '../tables/durable.ts';
import { openEnvironment } from '../tables/environment.ts';
import { readVersion, VERSION_TABLES } from './format-version.ts';
import { ENVIRONMENT_NAMES, type EnvironmentName, TABLES } from '../tables/table-names.ts';
import { sumFits } from '../tables/value.ts';

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
      /** Rows by sub-database, the record of the version included; without those that do not exist yet. */
      readonly tables: Readonly<Record<string, number>>;
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
  for (const environment of ENVIRONMENT_NAMES) {
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

type Table = Database<Buffer, Buffer>;

function walkTables(
  root: RootDatabase<Buffer, Buffer>,
  environment: EnvironmentName,
  version: number | null,
  valuesMs: number,
): ChildLine {
  const opened = openTables(root, environment);
  // The record of the version is not counted.
  let rows = version === null ? 0 : -1;
  let unchecked = 0;
  const tables: Record<string, number> = {};
  for (const { name, table } of opened) {
    tables[name] = countRows(name, table);
    rows += tables[name];
  }
  // Counting a large table on a slow machine takes longer than the time for check sums, and must not use it up.
  const deadline = performance.now() + valuesMs;
  for (const { name, keyBytes, table } of opened) {
    const counted = tables[name] ?? 0;
    unchecked += counted - verifySums(name, keyBytes, table, counted, deadline);
  }
  // Last, because only damage to inner pages, of which there are few, is found this way alone.
  for (const { name, table } of opened) verifyDescents(name, table, deadline);
  return { kind: 'usable', environment, version: version ?? UNRECORDED_VERSION, rows, tables, unchecked };
}

/**
 * Opens the sub-databases that exist. A table that a newer version added is created when that version first opens the store, and an older
 * version does not know it. So a missing table or an unknown one is no damage, but both at once are a name that changed.
 */
function openTables(
  root: RootDatabase<Buffer, Buffer>,
  environment: EnvironmentName,
): readonly { readonly name: string; readonly keyBytes: number; readonly table: Table }[] {
  const names: string[] = [];
  for (const key of root.getKeys()) names.push(Buffer.from(key).toString('latin1').replace(/\0$/, ''));
  const { entryCount } = root.getStats() as { readonly entryCount: number };
  if (names.length !== entryCount) throw new Error(`${names.length} tables are found instead of ${entryCount}`);
  const known = TABLES.filter((row) => row.environment === environment);
  const opened: { readonly name: string; readonly keyBytes: number; readonly table: Table }[] = [];
  for (const { name, keyBytes } of known) {
    // Returns undefined, which the library's types omit, when the sub-database is missing.
    const table: Table | undefined = root.openDB<Buffer, Buffer>({
      name,
      encoding: 'binary',
      keyEncoding: 'binary',
    });
    if (table !== undefined) opened.push({ name, keyBytes, table });
    else if (names.includes(name)) throw new Error(`${name} cannot be opened`);
  }
  const unknown = names.find((name) => !known.some((row) => row.name === name));
  if (unknown !== undefined && opened.length < known.length) throw new Error('a table has an unknown name');
  return opened;
}

/** The native count visits every leaf, so it touches all pages of the tree; the result must match the entry count in the tree's header. */
function countRows(name: string, table: Table): number {
  const counted = table.getCount();
  const { entryCount } = table.getStats() as { readonly entryCount: number };
  if (counted !== entryCount) throw new Error(`${name} has ${counted} rows instead of ${entryCount}`);
  return counted;
}

/**
 * Verifies the rows in order until the deadline and returns how many. A damaged pointer inside a page leaves the count right and every
 * check sum too: rows then repeat, are out of order, or end early.
 */
function verifySums(name: string, keyBytes: number, table: Table, counted: number, deadline: number): number {
  let seen = 0;
  let before: Buffer | null = null;
  for (const { key, value } of table.getRange()) {
    if ((seen & 255) === 255 && performance.now() > deadline) return seen;
    seen++;
    if (key.length !== keyBytes) throw new Error(`${name} has a key of a wrong length`);
    if (!sumFits(key, value)) throw new Error(`${name} has a row whose check sum is wrong`);
    if (before !== null && Buffer.compare(before, key) >= 0) throw new Error(`${name} has rows that are out of order`);
    before = key;
  }
  if (seen !== counted) throw new Error(`${name} ends after ${seen} of ${counted} rows`);
  return seen;
}

/** Verifies until the deadline that every row is found by its key: a damaged key of an inner page leads look-ups to the wrong leaf. */
function verifyDescents(name: string, table: Table, deadline: number): void {
  let seen = 0;
  for (const key of table.getKeys()) {
    if ((seen++ & 255) === 255 && performance.now() > deadline) return;
    if (!table.doesExist(key)) throw new Error(`${name} has a row that is not found by its key`);
  }
}

// Not awaited: a program of the bundle is a CommonJS file. A rejection ends the process with its error.
void main();
