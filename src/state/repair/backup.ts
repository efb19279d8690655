import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makeFolders } from './data-dir.ts';
import { freeBytes } from '../tables/disk-room.ts';
import { fault, messageOf, type StoreFault } from '../tables/durable.ts';
import { namesIn, parseStamp, stampOf, syncPath } from '../tables/write-files.ts';
import { MARKER_NAME, putMarker, readMarker } from './marker.ts';
import type { Store } from '../feed/open-store.ts';
import { checkIntegrity, INTEGRITY_ALL_VALUES_MS, type IntegrityResult } from './integrity-check.ts';
import { RevocationFile } from '../feed/revocations.ts';
import { namesInBackup } from '../tables/table-names.ts';
import { STORE_DISK_FREE_BYTES_MIN } from '../../kernel/limits.ts';

export const BACKUPS_NAME = 'backups';
/** Part of the name of a folder while the backup is written into it. */
export const PARTIAL = '.partial-';

export type BackupResult = { readonly kind: 'ok'; readonly folder: string; readonly bytes: number } | StoreFault;

/**
 * Copies the compacted environments, the marker and the revoked keys into `folder`, which must be new or empty. Each environment is a
 * consistent snapshot; writers in this and other processes continue meanwhile. The master key is not included: stored beside the data that
 * it encrypts, it would protect nothing.
 */
export async function backup(
  store: Store,
  dataDir: string,
  folder: string,
  kind: 'automatic' | 'manual' = 'manual',
): Promise<BackupResult> {
  const target = resolve(folder);
  const partial = `${target}${PARTIAL}${process.pid}`;
  try {
    if (existsSync(target) && (!statSync(target).isDirectory() || readdirSync(target).length > 0)) {
      return fault('backup_refused', `${folder} exists and is not an empty folder`);
    }
    if (store.hot === null) return fault('backup_refused', 'a store that was opened read-only cannot be backed up');
    const names = namesInBackup(kind);
    rmSync(partial, { recursive: true, force: true });
    makeFolders(partial);
    const lack = lackOfRoom(dataDir, partial, names);
    if (lack !== null) {
      rmSync(partial, { recursive: true, force: true });
      return fault('backup_failed', lack);
    }
    let bytes = 0;
    for (const name of names) {
      const environment = store[name];
      if (environment === null) continue;
      makeFolders(join(partial, name));
      await environment.backup(join(partial, name), true);
      const file = join(partial, name, 'data.mdb');
      syncPath(file);
      syncPath(join(partial, name));
      bytes += statSync(file).size;
    }
    const read = readMarker(dataDir);
    if (read.kind !== 'found') throw new Error(`${MARKER_NAME} in ${dataDir} cannot be read`);
    putMarker(partial, {
      ...read.marker,
      backed_up_at: Math.floor(Date.now() / 1000),
      backup_environments: [...names],
    });
    // Copied after the snapshots, so that it contains every revocation that they contain.
    new RevocationFile(dataDir).copyInto(partial);
    syncPath(partial);
    renameSync(partial, target);
    syncPath(dirname(target));
    return { kind: 'ok', folder: target, bytes };
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    return fault('backup_failed', `the backup into ${folder} failed: ${messageOf(error)}`);
  }
}

/** Returns why there is no room for the backup, so that it does not fill the disk that the server writes to; null if there is. */
function lackOfRoom(dataDir: string, target: string, names: readonly string[]): string | null {
  const bytes = names.reduce((sum, name) => sum + statSync(join(dataDir, name, 'data.mdb')).size, 0);
  const free = freeBytes(target);
  if (free === null || free >= bytes + STORE_DISK_FREE_BYTES_MIN) return null;
  return `the disk of the backup has ${free} bytes free, and the backup may need ${bytes + STORE_DISK_FREE_BYTES_MIN}`;
}

/**
 * Makes an automatic backup in `backups/` of the data directory, checks it with all its check sums, and only then removes all but the
 * newest `keep` backups. A backup that fails its integrity check, or cannot be checked, is removed, and the older ones stay.
 */
export async function rotateBackups(store: Store, dataDir: string, keep: number, nowMs: number): Promise<BackupResult> {
  const folder = join(dataDir, BACKUPS_NAME);
  const made = await backup(store, dataDir, join(folder, stampOf(nowMs)), 'automatic');
  if (made.kind === 'fault') return made;
  const checked = await checkIntegrity(made.folder, namesInBackup('automatic'), INTEGRITY_ALL_VALUES_MS);
  const damage = checked.kind === 'fault' ? checked.detail : firstDamage(checked.results.values());
  try {
    if (damage !== null) {
      rmSync(made.folder, { recursive: true, force: true });
      return fault('backup_failed', `the new backup is not usable: ${damage}`);
    }
    // By name, the new backup is not the newest one if the machine's clock was set back.
    const older = listBackups(dataDir).filter((path) => path !== made.folder);
    for (const old of older.slice(Math.max(1, keep) - 1)) rmSync(old, { recursive: true, force: true });
    // Partial backups of killed processes; this process's own has been renamed by now.
    for (const name of namesIn(folder).filter((name) => name.includes(PARTIAL))) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  } catch (error) {
    return fault('backup_failed', `old backups cannot be removed: ${messageOf(error)}`);
  }
  return made;
}

function firstDamage(results: Iterable<IntegrityResult>): string | null {
  for (const result of results) if (result.kind === 'damaged') return result.detail;
  return null;
}

/** Returns when the automatic backups were made, Unix milliseconds, newest first. */
export function listBackupTimes(dataDir: string): number[] {
  return listBackups(dataDir).map((folder) => parseStamp(basename(folder)) ?? 0);
}

/** Lists the folders of the automatic backups, newest first. */
export function listBackups(dataDir: string): string[] {
  return namesIn(join(dataDir, BACKUPS_NAME))
    .filter((name) => parseStamp(name) !== null)
    .sort()
    .reverse()
    .map((name) => join(dataDir, BACKUPS_NAME, name));
}
