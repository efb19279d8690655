import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Permission bits of group and others. */
const FOREIGN = 0o077;
/** Choice: the operator's own files, which another user's updater may write; the service only reads them. */
const OPERATORS = new Set(['geoip']);

/**
 * Makes all files that this process creates from now on readable by its own user only: files 0600, folders 0700. Libraries create files too
 * (LMDB requests 0664), so the process's umask is the one place that covers all.
 */
export function makeFilesPrivate(): void {
  process.umask(FOREIGN);
}

/**
 * Removes the permissions of group and others from everything below the data directory: an older version left files that anybody could
 * read. Does not follow links. Files of another user stay unchanged.
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
    // Owned by another user, or removed meanwhile.
  }
}
