import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Permission bits of group and others. */
const FOREIGN = 0o077;
/** Choice: the operator's own files, which another user's updater may write; the service only reads them. */
const OPERATORS = new Set(['geoip']);

/**
 * From here on what this process makes is readable by its own user only: files 0600, folders 0700. Libraries make files too (LMDB
 * asks for 0664), so the process's mask is the one place that covers all.
 */
export function makeFilesPrivate(): void {
  process.umask(FOREIGN);
}

/**
 * Takes what group and others may do from everything below the data directory: an older version left files that anybody could
 * read. Links are not followed. Files of another user stay as they are.
 */
export function makePrivateBelow(dataDir: string): void {
  for (const name of readdirSync(dataDir)) if (!OPERATORS.has(name)) makePrivate(join(dataDir, name));
}

function makePrivate(path: string): void {
  try {
    const status = lstatSync(path);
    if (status.isSymbolicLink()) return;
    if ((status.mode & FOREIGN) !== 0) chmodSync(path, status.mode & 0o700);
    if (!status.isDirectory()) return;
    for (const name of readdirSync(path)) makePrivate(join(path, name));
  } catch {
    // Another user's, or gone meanwhile.
  }
}
