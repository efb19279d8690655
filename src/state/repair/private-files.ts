import { chmodSync, lstatSync, readdirSync, statSync } from 'node:fs';
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

/** Permission of group and others to create, rename and remove files in a folder. */
const FOREIGN_WRITE = 0o022;

/**
 * Removes the permission of group and others to write to the data directory: they could replace any file in it. The rest of its mode stays,
 * because another user's updater may have to reach `geoip`. Returns a warning if the folder was open to others, null if not.
 * Choice: a folder of another user stays as it is, because a volume may be writable by the group of this process only.
 */
export function closeDataDir(dataDir: string): string | null {
  const { mode, uid } = statSync(dataDir);
  const isOwn = uid === process.geteuid?.();
  if ((mode & (isOwn ? FOREIGN_WRITE : FOREIGN_WRITE & 0o007)) === 0) return null;
  const permissions = (mode & 0o777).toString(8);
  if (!isOwn)
    return `every user can replace files in the data directory (mode ${permissions}); its owner must change that`;
  try {
    chmodSync(dataDir, mode & 0o7777 & ~FOREIGN_WRITE);
  } catch {
    // Some file systems have no permissions to change.
    return `other users can replace files in the data directory (mode ${permissions}), and its mode cannot be changed`;
  }
  return `other users could replace files in the data directory (mode ${permissions}); removed their permission to write`;
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
