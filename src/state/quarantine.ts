import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvironmentName } from './table-names.ts';
import { namesIn, stampOf, syncPath } from './write-files.ts';

/** Moves and replaces the files of environments that nothing has open. */

/** Moves `state`, or only the database files of the other environments, to `<name>.damaged-<time>` and returns that name. */
export function setAside(dataDir: string, name: EnvironmentName, nowMs: number): string {
  let aside = `${name}.damaged-${stampOf(nowMs)}`;
  while (existsSync(join(dataDir, aside))) aside += '-2';
  const from = join(dataDir, name);
  if (name === 'state') {
    if (existsSync(from)) renameSync(from, join(dataDir, aside));
  } else {
    mkdirSync(join(dataDir, aside));
    for (const file of namesIn(from).filter(isDataFile)) renameSync(join(from, file), join(dataDir, aside, file));
  }
  syncPath(dataDir);
  return aside;
}

export function removeDataFiles(dataDir: string, name: EnvironmentName): void {
  const folder = join(dataDir, name);
  for (const file of namesIn(folder).filter(isDataFile)) rmSync(join(folder, file));
}

function isDataFile(name: string): boolean {
  return name === 'data.mdb' || name === 'lock.mdb';
}

/** Makes a folder with a copy of a data file, synced. */
export function copyIntoFolder(file: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  copyFileSync(file, join(folder, 'data.mdb'));
  syncPath(join(folder, 'data.mdb'));
  syncPath(folder);
}
