import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makeFolders } from './data-dir.ts';
import { fault, messageOf, type StoreFault } from './durable.ts';
import { namesIn, stampOf, syncPath } from './write-files.ts';
import { MARKER_NAME, putMarker, readMarker } from './marker.ts';
import type { Store } from './open-store.ts';
import { checkIntegrity, INTEGRITY_ALL_VALUES_MS } from './integrity-check.ts';
import { RevocationFile } from './revocations.ts';
import type { EnvironmentName } from './table-names.ts';

export const BACKUPS_NAME = 'backups';
const PARTIAL = '.partial-';
const FORM = /^\d{8}T\d{9}Z$/;

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
  names: readonly Exclude<EnvironmentName, 'extract'>[] = ['deliveries', 'state', 'hot'],
): Promise<BackupResult> {
  const target = resolve(folder);
  const partial = `${target}${PARTIAL}${process.pid}`;
  try {
    if (existsSync(target) && (!statSync(target).isDirectory() || readdirSync(target).length > 0)) {
      return fault('backup_refused', `${folder} exists and is not an empty folder`);
    }
    if (store.hot === null) return fault('backup_refused', 'a store that was opened read-only cannot be backed up');
    rmSync(partial, { recursive: true, force: true });
    let bytes = 0;
    for (const name of names) {
      const environment = name === 'deliveries' ? store.deliveriesRoot : store[name];
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
    putMarker(partial, { ...read.marker, backed_up_at: Math.floor(Date.now() / 1000) });
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

/**
 * Makes an automatic backup in `backups/` of the data directory, checks it with all its check sums, and only then removes all but the
 * newest `keep` backups. A backup that fails its integrity check is removed, and the older ones stay.
 */
export async function rotateBackups(store: Store, dataDir: string, keep: number, nowMs: number): Promise<BackupResult> {
  const folder = join(dataDir, BACKUPS_NAME);
  // The decision log may be gigabytes large, and everything in `hot` can be rebuilt. `state` is last, so that it has the webhooks of all
  // deliveries.
  const made = await backup(store, dataDir, join(folder, stampOf(nowMs)), ['deliveries', 'state']);
  if (made.kind === 'fault') return made;
  const checked = await checkIntegrity(made.folder, ['deliveries', 'state'], INTEGRITY_ALL_VALUES_MS);
  if (checked.kind === 'fault') return checked;
  for (const result of checked.results.values()) {
    if (result.kind !== 'damaged') continue;
    rmSync(made.folder, { recursive: true, force: true });
    return fault('backup_failed', `the new backup is not usable: ${result.detail}`);
  }
  try {
    for (const old of listBackups(dataDir).slice(Math.max(1, keep))) {
      rmSync(old, { recursive: true, force: true });
    }
    // Partial backups of killed processes; this process's own has been renamed by now.
    for (const name of namesIn(folder).filter((name) => name.includes(PARTIAL))) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  } catch (error) {
    return fault('backup_failed', `old backups cannot be removed: ${messageOf(error)}`);
  }
  return made;
}

/** Lists the folders of the automatic backups, newest first. */
export function listBackups(dataDir: string): string[] {
  return namesIn(join(dataDir, BACKUPS_NAME))
    .filter((name) => FORM.test(name))
    .sort()
    .reverse()
    .map((name) => join(dataDir, BACKUPS_NAME, name));
}
