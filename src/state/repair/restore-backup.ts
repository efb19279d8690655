import { chmodSync, copyFileSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describeNewer, ENVIRONMENT_FORMATS } from '../../kernel/formats.ts';
import { STORE_DISK_FREE_BYTES_MIN } from '../../kernel/limits.ts';
import { PARTIAL } from './backup.ts';
import { makeFolders } from './data-dir.ts';
import { freeBytes } from '../tables/disk-room.ts';
import { fault, messageOf, type StoreFault } from '../tables/durable.ts';
import { checkIntegrity, INTEGRITY_ALL_VALUES_MS, type IntegrityResult } from './integrity-check.ts';
import { FORMAT_VERSION, type Marker, MARKER_NAME, markRestoring, putMarker, readMarker } from './marker.ts';
import { MASTER_KEY_NAME, proveKeyOfBackup } from './master-key.ts';
import { ERASURES_NAME } from '../feed/erasure-file.ts';
import { BACKUP_COPY_NAME, isWholeRevocations, RevocationFile, REVOCATIONS_NAME } from '../feed/revocations.ts';
import { acquireServerLock, SERVER_LOCK_NAMES } from './server-lock.ts';
import { type BackupName, ENVIRONMENT_NAMES, namesInBackup } from '../tables/table-names.ts';
import { isCode, namesIn, syncPath } from '../tables/write-files.ts';

export interface RestoreOptions {
  /** The backup. */
  readonly folder: string;
  readonly dataDir: string;
  /** The value of GATEHOUSE_MASTER_KEY. */
  readonly masterKey: string | undefined;
}

/** Rows of one sub-database, counted in the backup before the copy and in the data directory after it. */
export interface TableCount {
  readonly environment: BackupName;
  readonly table: string;
  readonly inBackup: number;
  readonly restored: number;
}

export interface Restored {
  readonly kind: 'ok';
  readonly folder: string;
  readonly dataDir: string;
  /** Unix seconds. */
  readonly backedUpAt: number;
  readonly bytes: number;
  readonly tables: readonly TableCount[];
  /** Rows whose check sums were not verified, for lack of time. */
  readonly unchecked: number;
  /** Known revocations: a key among them stays revoked although the backup may hold it as valid. */
  readonly revokedKeys: number;
  /** Whether the key was proved; false if the backup has nothing to prove it with. */
  readonly isKeyProved: boolean;
  /** The environments that the backup does not contain. The next start creates them empty. */
  readonly absent: readonly string[];
}

/** Files that an operator may supply before the restore: everything else in the data directory is in the way. */
const SUPPLIED: ReadonlySet<string> = new Set([
  MASTER_KEY_NAME,
  REVOCATIONS_NAME,
  ERASURES_NAME,
  'geoip',
  ...SERVER_LOCK_NAMES,
]);
/** What a killed restore may have left. */
const LEFT: ReadonlySet<string> = new Set([...ENVIRONMENT_NAMES, MARKER_NAME, BACKUP_COPY_NAME]);
/** Choice: names of files in the way that a message shows. */
const NAMES_SHOWN_MAX = 5;

/**
 * Restores a backup into an empty data directory. The backup, the master key and the room on the disk are checked before anything is
 * written. While it writes, the marker says that a restore is under way, which every start and every command refuses; the real marker
 * replaces it last. A restore that fails removes what it wrote; one that was killed is repeated by running it again.
 *
 * The copied environments are byte for byte those of the backup. The next start completes the restore as for any directory that was copied
 * from a backup (`ensureUsable`): it migrates, advances counters and revokes keys again.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored | StoreFault> {
  const dataDir = resolve(options.dataDir);
  try {
    // A folder that no server has locked gets no file before all checks have passed.
    if (!existsSync(join(dataDir, SERVER_LOCK_NAMES[0]))) {
      const refused = refuseTarget(dataDir) ?? (await examine(options));
      if (refused.kind === 'fault') return refused;
      return await lockAndRestore(dataDir, () => Promise.resolve(refused));
    }
    return await lockAndRestore(dataDir, () => examine(options));
  } catch (error) {
    return fault('restore_refused', `${options.folder} cannot be restored into ${dataDir}: ${messageOf(error)}`);
  }
}

async function lockAndRestore(
  dataDir: string,
  examined: () => Promise<Examined | StoreFault>,
): Promise<Restored | StoreFault> {
  const locked = await acquireServerLock(dataDir, 0);
  if (locked.kind === 'fault') return locked;
  try {
    const source = refuseTarget(dataDir) ?? (await examined());
    return source.kind === 'fault' ? source : await copyAndProve(source, dataDir);
  } finally {
    await locked.lock.release();
  }
}

/** Returns why nothing may be restored into the folder. */
function refuseTarget(dataDir: string): StoreFault | null {
  if (existsSync(dataDir) && !statSync(dataDir).isDirectory()) {
    return fault('restore_refused', `${dataDir} is not a folder`);
  }
  const isLeft = readMarker(dataDir).kind === 'restoring';
  const inTheWay = namesIn(dataDir).filter((name) => !SUPPLIED.has(name) && !(isLeft && LEFT.has(name)));
  if (inTheWay.length === 0) return null;
  const shown = inTheWay.sort().slice(0, NAMES_SHOWN_MAX).join(', ');
  return fault(
    'restore_refused',
    `${dataDir} is not empty (${shown}${inTheWay.length > NAMES_SHOWN_MAX ? ', …' : ''}). Restore into an empty folder; it may only contain ` +
      `${MASTER_KEY_NAME}, ${REVOCATIONS_NAME}, ${ERASURES_NAME} and geoip`,
  );
}

/** A backup that can be restored. */
interface Examined {
  readonly kind: 'ok';
  readonly folder: string;
  readonly marker: Marker & { readonly backed_up_at: number };
  readonly names: readonly BackupName[];
  readonly bytes: number;
  readonly tables: ReadonlyMap<BackupName, Readonly<Record<string, number>>>;
  readonly unchecked: number;
  readonly isKeyProved: boolean;
}

/** Checks the backup, the master key and the room on the disk. Reads only. */
async function examine({ folder: given, dataDir, masterKey }: RestoreOptions): Promise<Examined | StoreFault> {
  const folder = resolve(given);
  const identified = identify(folder);
  if (identified.kind === 'fault') return identified;
  const { marker, names } = identified;
  const proved = proveKeyOfBackup(marker, dataDir, masterKey);
  if (proved.kind === 'fault') return proved;
  const checked = await checkIntegrity(folder, names, INTEGRITY_ALL_VALUES_MS);
  if (checked.kind === 'fault') return checked;
  const tables = new Map<BackupName, Readonly<Record<string, number>>>();
  let unchecked = 0;
  for (const name of names) {
    const result = checked.results.get(name);
    const unusable = refuseEnvironment(join(folder, name), result, ENVIRONMENT_FORMATS[name].version);
    if (unusable !== null) return unusable;
    if (result?.kind !== 'usable') continue;
    tables.set(name, result.tables);
    unchecked += result.unchecked;
  }
  const bytes = names.reduce((sum, name) => sum + statSync(join(folder, name, 'data.mdb')).size, 0);
  const free = freeBytes(nearestFolder(resolve(dataDir)));
  if (free !== null && free < bytes + STORE_DISK_FREE_BYTES_MIN) {
    return fault(
      'store_full',
      `${dataDir} has ${free} bytes free; the restore needs ${bytes + STORE_DISK_FREE_BYTES_MIN}`,
    );
  }
  return { kind: 'ok', folder, marker, names, bytes, tables, unchecked, isKeyProved: proved.isProved };
}

type Identified = Pick<Examined, 'kind' | 'marker' | 'names'> | StoreFault;

/** Tells a whole backup from other folders by its marker and its files. */
function identify(folder: string): Identified {
  const refused = (why: string): StoreFault => fault('restore_refused', `${folder} ${why}; nothing was written`);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return refused('is not a folder');
  if (basename(folder).includes(PARTIAL)) return refused('is a backup that was not completed');
  const read = readMarker(folder);
  if (read.kind === 'newer') {
    const path = join(folder, MARKER_NAME);
    return fault('data_dir_newer', describeNewer({ path, version: read.version, readsVersion: FORMAT_VERSION }));
  }
  if (read.kind !== 'found') return refused(`is not a backup of Gatehouse: ${MARKER_NAME} is ${read.kind}`);
  const { marker } = read;
  const { backed_up_at: backedUpAt } = marker;
  if (backedUpAt === undefined) {
    return refused('is a data directory, not a backup of one; make a backup with `gatehouse backup <folder>`');
  }
  const newer = new RevocationFile(folder).newerFile();
  if (newer !== null) return fault('data_dir_newer', describeNewer(newer));
  // A skipped line would accept a revoked key again.
  if (!isWholeRevocations(join(folder, BACKUP_COPY_NAME)))
    return refused(`is damaged: ${BACKUP_COPY_NAME} is missing or corrupt`);
  const possible = namesInBackup('manual');
  const expected = marker.backup_environments ?? [
    'state',
    ...possible.filter((name) => existsSync(join(folder, name))),
  ];
  const names = possible.filter((name) => expected.includes(name));
  const unknown = expected.find((name) => !possible.some((one) => one === name));
  if (unknown !== undefined) return refused(`contains ${unknown}, which this build does not restore`);
  // A marker is a text that anybody who can write to the backup can change: what it leaves out would be lost without a word.
  if (!names.includes('state'))
    return refused(`is damaged: ${MARKER_NAME} does not name state, which every backup contains`);
  const unnamed = ENVIRONMENT_NAMES.find((name) => !expected.includes(name) && existsSync(join(folder, name)));
  if (unnamed !== undefined) return refused(`is damaged: it contains ${unnamed}, which ${MARKER_NAME} does not name`);
  return { kind: 'ok', marker: { ...marker, backed_up_at: backedUpAt }, names };
}

function refuseEnvironment(path: string, result: IntegrityResult | undefined, readsVersion: number): StoreFault | null {
  if (result?.kind === 'newer') {
    return fault('data_dir_newer', describeNewer({ path, version: result.version, readsVersion }));
  }
  if (result?.kind === 'usable') return null;
  return fault('restore_refused', `${path} is damaged (${result?.detail ?? 'not checked'}); nothing was written`);
}

function nearestFolder(path: string): string {
  let at = path;
  while (!existsSync(at)) at = resolve(at, '..');
  return at;
}

async function copyAndProve(source: Examined, dataDir: string): Promise<Restored | StoreFault> {
  const { folder, marker, names, bytes, unchecked, isKeyProved } = source;
  try {
    markRestoring(dataDir);
    removeWritten(dataDir);
    for (const name of names) copyDurably(join(folder, name), join(dataDir, name), 'data.mdb');
    copyDurably(folder, dataDir, BACKUP_COPY_NAME);
    const checked = await checkIntegrity(dataDir, names, INTEGRITY_ALL_VALUES_MS);
    if (checked.kind === 'fault') throw new Error(checked.detail);
    const tables = names.flatMap((name) => compare(name, source.tables.get(name), checked.results.get(name)));
    const wrong = tables.find(({ inBackup, restored }) => inBackup !== restored);
    if (wrong !== undefined) {
      throw new Error(`${wrong.table} has ${wrong.restored} rows in the copy and ${wrong.inBackup} in the backup`);
    }
    const revokedKeys = new RevocationFile(dataDir).read().size;
    // From here on the directory is whole.
    putMarker(dataDir, marker);
    const absent = ENVIRONMENT_NAMES.filter((name) => !names.some((one) => one === name));
    const backedUpAt = marker.backed_up_at;
    return { kind: 'ok', folder, dataDir, backedUpAt, bytes, tables, unchecked, revokedKeys, isKeyProved, absent };
  } catch (error) {
    return fault(
      'restore_failed',
      `${folder} was not restored into ${dataDir}: ${messageOf(error)}${leaveEmpty(dataDir)}`,
    );
  }
}

function copyDurably(from: string, to: string, name: string): void {
  makeFolders(to);
  const path = join(to, name);
  copyFileSync(join(from, name), path);
  chmodSync(path, 0o600);
  syncPath(path);
  syncPath(to);
}

function compare(
  environment: BackupName,
  before: Readonly<Record<string, number>> = {},
  after: IntegrityResult | undefined,
): TableCount[] {
  if (after?.kind !== 'usable') throw new Error(`the copy of ${environment} is not usable`);
  const tables = new Set([...Object.keys(before), ...Object.keys(after.tables)]);
  return [...tables].map((table) => ({
    environment,
    table,
    inBackup: before[table] ?? 0,
    restored: after.tables[table] ?? 0,
  }));
}

/** Removes what this restore, or a killed one before it, has copied. The marker stays. */
function removeWritten(dataDir: string): void {
  for (const name of LEFT) {
    if (name !== MARKER_NAME) rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}

/** Makes the directory empty again; returns what a message says if that failed. The marker goes last, so that nobody uses the rest. */
function leaveEmpty(dataDir: string): string {
  try {
    if (!readdirSync(dataDir).includes(MARKER_NAME)) return '';
    removeWritten(dataDir);
    rmSync(join(dataDir, MARKER_NAME), { force: true });
    syncPath(dataDir);
    return '';
  } catch (error) {
    if (isCode(error, 'ENOENT')) return '';
    return `; what was written could not be removed: ${messageOf(error)}`;
  }
}
