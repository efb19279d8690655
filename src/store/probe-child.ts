import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { messageOf } from './durable.ts';
import { openEnvironment } from './environment.ts';
import { type EnvironmentName, TABLES } from './tables.ts';
import { sumFits } from './value.ts';

/**
 * Walks the environments in the folder given as the first argument (then: their names, and the milliseconds for comparing
 * check sums) and writes one line of JSON about each, after a first line that says that the program came up. It is a process of
 * its own because a damaged file ends the process that touches it by signal: the parent then finds that line missing.
 */
export type ChildLine =
  | { readonly kind: 'up' }
  | {
      readonly kind: 'usable';
      readonly environment: EnvironmentName;
      readonly rows: number;
      /** Rows whose check sums were not compared for want of time. */
      readonly unchecked: number;
    }
  | { readonly kind: 'damaged'; readonly environment: EnvironmentName; readonly detail: string }
  | { readonly kind: 'unreadable'; readonly environment: EnvironmentName; readonly detail: string };

/** Faults of the machine, not of the file: putting the file aside would help nobody. */
const MACHINE_FAULTS =
  /permission denied|not permitted|EACCES|cannot allocate|too many open files|no space left|read-only file system/i;

async function main(): Promise<void> {
  const [folder = '', names = '', valuesMs = '0'] = process.argv.slice(2);
  print({ kind: 'up' });
  for (const environment of ['state', 'hot', 'extract'] as const) {
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
    const line = walkTables(root, environment, valuesMs);
    await root.close();
    return line;
  } catch (error) {
    const detail = messageOf(error);
    return { kind: MACHINE_FAULTS.test(detail) ? 'unreadable' : 'damaged', environment, detail };
  }
}

function walkTables(root: RootDatabase<Buffer, Buffer>, environment: EnvironmentName, valuesMs: number): ChildLine {
  const deadline = performance.now() + valuesMs;
  let rows = 0;
  let unchecked = 0;
  for (const { name, keyBytes } of TABLES.filter((row) => row.environment === environment)) {
    const table = root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
    // The first opening made all tables before the marker was written; one that a newer version added is made at its first opening.
    if (table === undefined) continue;
    // The native count steps through every leaf, so it touches all pages of the tree; what the tree's head claims must agree.
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
  return { kind: 'usable', environment, rows, unchecked };
}

await main();
