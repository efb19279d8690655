import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describeNewer, ENVIRONMENT_FORMATS } from '../../kernel/formats.ts';
import { listBackups } from './backup.ts';
import { makeFolders } from './data-dir.ts';
import { durably, fault, messageOf, type StoreFault } from '../tables/durable.ts';
import { namesIn, stampOf, syncPath } from '../tables/write-files.ts';
import { FORMAT_VERSION, MARKER_NAME, type MarkerRead, putMarker, readMarker, writeMarker } from './marker.ts';
import { migrateEnvironment } from './migrate.ts';
import { openStore } from '../feed/open-store.ts';
import {
  checkIntegrity,
  INTEGRITY_ALL_VALUES_MS,
  INTEGRITY_VALUES_MS,
  type IntegrityResult,
} from './integrity-check.ts';
import { BACKUP_COPY_NAME, readRevocations, RevocationFile, type Revocations } from '../feed/revocations.ts';
import { type CounterName, ENVIRONMENT_NAMES, ENVIRONMENTS, type EnvironmentName } from '../tables/table-names.ts';

export interface UsableOptions {
  readonly dataDir: string;
  /** Whether this process runs on the virtual clock; `null` accepts the directory as it is, for tools that use no clock. */
  readonly simulated: boolean | null;
  /**
   * Whether damage may be repaired, a first start made, and older formats migrated. Only for the holder of the server's lock: the files
   * must not be in use. Without it, damage and an older format are faults.
   */
  readonly repair: boolean;
  readonly nowMs: number;
}

/** A repair or a migration that made the store usable; each must be logged. */
export interface StoreNotice {
  readonly code:
    | 'first_start'
    | 'migrated'
    | 'backup_restored'
    | `${EnvironmentName}_restored`
    | `${EnvironmentName}_begun_anew`;
  readonly detail: string;
}

export type Usable =
  | {
      readonly kind: 'ok';
      readonly firstStart: boolean;
      readonly notices: readonly StoreNotice[];
      /** Number of rows whose check sums were not verified, for lack of time. */
      readonly unchecked: number;
    }
  | StoreFault;

/** Choice: a new store has some 40 KB; a larger damaged one without a marker held data. */
const NEW_STORE_BYTES_MAX = 131_072;
/** The counter that `makeStore` writes. */
const NEW_STATE_ROWS = 1;
/**
 * Choice: after a restore, numbers that may have been given out since the backup are skipped, so that no new customer or key gets the data
 * that an old one left in `hot`.
 */
const COUNTER_LEAP = 1_000_000;
/** Folder in the data directory for a copy that is not in place yet. */
const SCRATCH = 'restoring';
const LEAPING: readonly CounterName[] = ['customers', 'keyNumbers', 'keysVersion'];

/**
 * Makes sure that the store in `dataDir` can be used, before anything opens it. A directory without a marker is a first start if it holds
 * no data. If it holds data, the marker was lost, which is a fault: a first start would add a demo customer to real ones. A marker from a
 * backup means that the directory was copied from it: its counters are advanced and revoked keys are revoked again. A damaged or missing
 * `state` is quarantined as `state.damaged-<time>` and replaced by the newest usable automatic backup. Without one it is a fault and
 * nothing is touched, because an empty store would silently forget keys, lists and registry. A damaged `hot` or `extract` is recreated
 * empty; the replay journal beside `hot`'s database files stays.
 *
 * What a newer build wrote is a fault before anything is changed. What an older build wrote is migrated: the marker first, so that the
 * older build refuses the directory from then on, then each environment by itself. A start that is killed in between is completed by the
 * next one.
 */
export async function ensureUsable(options: UsableOptions): Promise<Usable> {
  try {
    return await check(options);
  } catch (error) {
    return fault('data_dir_unusable', `the data directory ${options.dataDir} cannot be used: ${messageOf(error)}`);
  }
}

async function check(options: UsableOptions): Promise<Usable> {
  const { dataDir, nowMs } = options;
  const read = readMarker(dataDir);
  const refused = refusal(read, options);
  if (refused !== null) return refused;
  const firstStart = read.kind === 'absent';
  if (firstStart && !options.repair) return fault('store_lost', `no server has been started in ${dataDir} yet`);
  const notices: StoreNotice[] = [];
  let unchecked = 0;
  let found: Checked = new Map();
  const isRestored = read.kind === 'found' && read.marker.backed_up_at !== undefined;
  const began =
    listBackups(dataDir).length > 0 || ENVIRONMENT_NAMES.some((name) => existsSync(join(dataDir, name, 'data.mdb')));
  if (!firstStart || began) {
    const checked = await checkIntegrity(dataDir, ENVIRONMENT_NAMES, INTEGRITY_VALUES_MS);
    if (checked.kind === 'fault') return checked;
    const unread = versionFault(options, checked.results);
    if (unread !== null) return unread;
    found = checked.results;
    if (firstStart && holdsData(dataDir, checked.results)) return markerLost(dataDir);
    for (const name of ENVIRONMENT_NAMES) {
      const result = checked.results.get(name);
      const isDurable = ENVIRONMENTS[name].backups === 'all';
      if (isDurable && result?.kind === 'usable') unchecked += result.unchecked;
      if (result?.kind !== 'damaged') continue;
      // The backup did not contain it; the next opening creates it.
      if (isRestored && !isDurable && !existsSync(join(dataDir, name, 'data.mdb'))) continue;
      // Damage during a first start: it was interrupted while it created the store, and nothing was acknowledged yet.
      const mended =
        isDurable && !firstStart
          ? await restore(options, name, result.detail)
          : beginAnew(options, name, firstStart, result.detail);
      if (mended.kind === 'fault') return mended;
      notices.push(...mended.notices);
    }
  }
  if (firstStart) {
    const made = await makeStore(dataDir);
    if (made !== null) return made;
  }
  if (options.repair) {
    const migrated = await migrate(dataDir, found);
    if (migrated.kind === 'fault') return migrated;
    // At a first start it only records the versions of what the start created.
    if (!firstStart) notices.push(...migrated.notices);
  }
  if (read.kind === 'found' && read.marker.backed_up_at !== undefined) {
    const { backed_up_at: backedUpAt, backup_environments: _, ...marker } = read.marker;
    const settled = await settleStore(dataDir, new RevocationFile(dataDir).read(), nowMs);
    if (settled !== null) return settled;
    putMarker(dataDir, { ...marker, format_version: FORMAT_VERSION });
    const detail = `${dataDir} was copied from a backup of ${new Date(backedUpAt * 1000).toISOString()}; later changes are lost`;
    notices.push({ code: 'backup_restored', detail });
  }
  if (firstStart) {
    writeMarker(dataDir, options.simulated === true, nowMs);
    notices.push({ code: 'first_start', detail: `${dataDir} is a new data directory` });
  }
  return { kind: 'ok', firstStart, notices, unchecked };
}

type Checked = ReadonlyMap<EnvironmentName, IntegrityResult>;

/** Returns the fault of an environment that cannot be used in its format. Changes nothing. */
function versionFault({ dataDir, repair }: UsableOptions, checked: Checked): StoreFault | null {
  for (const [name, result] of checked) {
    const readsVersion = ENVIRONMENT_FORMATS[name].version;
    if (result.kind === 'newer') return newerFault(join(dataDir, name), result.version, readsVersion);
    // An environment that a command created beside the server is empty and has no version yet.
    if (!repair && result.kind === 'usable' && result.version < readsVersion && result.rows > 0) {
      return olderFault(join(dataDir, name), result.version, readsVersion);
    }
  }
  return null;
}

function newerFault(path: string, version: number, readsVersion: number): StoreFault {
  return fault('data_dir_newer', describeNewer({ path, version, readsVersion }));
}

function olderFault(path: string, version: number, readsVersion: number): StoreFault {
  return fault(
    'store_unusable',
    `${path} has format version ${version}, and this build uses version ${readsVersion}: stop the server of the older build; ` +
      'a start of the server migrates the data directory',
  );
}

type Noticed = { readonly kind: 'ok'; readonly notices: readonly StoreNotice[] } | StoreFault;

/** Brings everything to the formats of this build. */
async function migrate(dataDir: string, checked: Checked): Promise<Noticed> {
  const changes: string[] = [];
  const raisedFrom = raiseMarker(dataDir);
  if (raisedFrom !== null) changes.push(describeChange('the data directory', raisedFrom, FORMAT_VERSION));
  new RevocationFile(dataDir).migrate();
  for (const name of ENVIRONMENT_NAMES) {
    const { version } = ENVIRONMENT_FORMATS[name];
    const before = checked.get(name);
    if (before?.kind === 'usable' && before.version === version) continue;
    const migrated = await migrateEnvironment(dataDir, name);
    if (migrated.kind === 'fault') return migrated;
    if (before?.kind === 'usable') changes.push(describeChange(name, before.version, version));
  }
  return { kind: 'ok', notices: changes.length === 0 ? [] : [{ code: 'migrated', detail: changes.join('; ') }] };
}

/** Returns the version that an older marker had; null if the marker is up to date or, at a first start, not yet written. */
function raiseMarker(dataDir: string): number | null {
  const read = readMarker(dataDir);
  if (read.kind !== 'found' || read.marker.format_version === FORMAT_VERSION) return null;
  putMarker(dataDir, { ...read.marker, format_version: FORMAT_VERSION });
  return read.marker.format_version;
}

function describeChange(name: string, from: number, to: number): string {
  return `${name} from format version ${from} to ${to}`;
}

/** Recreates an environment that an installation can do without. */
function beginAnew(options: UsableOptions, name: EnvironmentName, firstStart: boolean, why: string): Noticed {
  const { dataDir, repair, nowMs } = options;
  if (firstStart) {
    removeDataFiles(dataDir, name);
    return { kind: 'ok', notices: [] };
  }
  // Earlier versions and backups do not contain it; the next opening creates it.
  const isMissing = !existsSync(join(dataDir, name, 'data.mdb'));
  if (!repair && name === 'extract' && isMissing) return { kind: 'ok', notices: [] };
  if (!repair) return fault('store_unusable', `${name} is damaged (${why}); a start of the server repairs it`);
  const aside = setAside(dataDir, name, nowMs);
  const detail = `${why}; recreated empty, the old files are in ${aside}`;
  return { kind: 'ok', notices: [{ code: `${name}_begun_anew`, detail }] };
}

function refusal(read: MarkerRead, { dataDir, simulated, repair }: UsableOptions): StoreFault | null {
  const revocations = new RevocationFile(dataDir).newerFile();
  if (revocations !== null) return fault('data_dir_newer', describeNewer(revocations));
  if (read.kind === 'absent') return null;
  if (read.kind === 'restoring') {
    return fault('restore_incomplete', `a restore into ${dataDir} did not end; run \`gatehouse restore\` again`);
  }
  if (read.kind === 'newer') return newerFault(join(dataDir, MARKER_NAME), read.version, FORMAT_VERSION);
  if (read.kind === 'damaged') {
    return fault('data_dir_unusable', `gatehouse.json in ${dataDir} is damaged; restore it from a backup`);
  }
  const { marker } = read;
  if (marker.backed_up_at !== undefined && !repair) {
    return fault('store_unusable', `${dataDir} was copied from a backup; a start of the server completes the restore`);
  }
  if (marker.format_version < FORMAT_VERSION && !repair) {
    return olderFault(join(dataDir, MARKER_NAME), marker.format_version, FORMAT_VERSION);
  }
  if (simulated === null || marker.simulated === simulated) return null;
  return fault(
    'simulated_time_mismatch',
    marker.simulated
      ? `${dataDir} was made with GATEHOUSE_SIMULATED_TIME=1 and serves only with it`
      : `${dataDir} was made without GATEHOUSE_SIMULATED_TIME and does not serve simulated time`,
  );
}

/**
 * Returns whether a directory without a marker was in use: it holds more than a first start that was interrupted before it wrote the
 * marker.
 */
function holdsData(dataDir: string, checked: Checked): boolean {
  // A server creates its journal only after the marker.
  if (listBackups(dataDir).length > 0 || namesIn(join(dataDir, 'hot', 'replay')).length > 0) return true;
  for (const [name, result] of checked) {
    const rowsMax = name === 'state' ? NEW_STATE_ROWS : 0;
    const bytes = statSync(join(dataDir, name, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0;
    if (result.kind === 'usable' ? result.rows > rowsMax : bytes > NEW_STORE_BYTES_MAX) return true;
  }
  return false;
}

function markerLost(dataDir: string): StoreFault {
  const newest = listBackups(dataDir)[0];
  const copy = newest === undefined ? 'a backup' : join(newest, MARKER_NAME);
  const empty = JSON.stringify({ format_version: FORMAT_VERSION, created_at: 0, simulated: false });
  return fault(
    'data_dir_unusable',
    `${MARKER_NAME} is missing in ${dataDir}, which holds the data of earlier runs. Copy it back from ${copy}; without a backup ` +
      `make one that contains ${empty}. To begin with an empty data directory, move the whole directory away.`,
  );
}

async function makeStore(dataDir: string): Promise<StoreFault | null> {
  makeFolders(dataDir);
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') return opened;
  const { store } = opened;
  const written = await durably(store.state, () => store.counters.rise('keysVersion'));
  await store.close();
  return written.kind === 'fault' ? written : null;
}

/** Replaces a damaged environment by its copy in the newest backup whose copy is usable. */
async function restore(
  { dataDir, repair, nowMs }: UsableOptions,
  name: EnvironmentName,
  why: string,
): Promise<Noticed> {
  if (!repair)
    return fault('store_unusable', `${name} is damaged (${why}); a start of the server restores the newest backup`);
  for (const folder of listBackups(dataDir)) {
    const checked = await checkIntegrity(folder, [name], INTEGRITY_ALL_VALUES_MS);
    if (checked.kind === 'fault') return checked;
    const copy = checked.results.get(name);
    // An older backup would silently forget what the newer one has.
    if (copy?.kind === 'newer') return newerFault(join(folder, name), copy.version, ENVIRONMENT_FORMATS[name].version);
    if (copy?.kind !== 'usable') continue;
    const settled = await settleCopy(dataDir, name, folder, nowMs);
    if (settled !== null) return settled;
    // The copy is migrated: from now on an older build must refuse the directory.
    raiseMarker(dataDir);
    const hadFiles = existsSync(join(dataDir, name));
    const aside = setAside(dataDir, name, nowMs);
    renameSync(join(dataDir, SCRATCH, name), join(dataDir, name));
    syncPath(dataDir);
    rmSync(join(dataDir, SCRATCH), { recursive: true, force: true });
    const quarantined = hadFiles ? `, the damaged files are in ${aside}` : '';
    const detail = `${why}; restored the backup ${basename(folder)}${quarantined}; later changes are lost`;
    return { kind: 'ok', notices: [{ code: `${name}_restored`, detail }] };
  }
  return fault(
    'store_lost',
    `${name} in ${dataDir} is damaged or missing (${why}) and backups/ holds no usable backup. Put a backup's ${name} folder in its ` +
      'place, or move the whole data directory away to begin with an empty one.',
  );
}

/** Returns all known revocations: those of the data directory's own file, and those of the backup to be restored. */
function revokedKeys(dataDir: string, backup: string): Revocations {
  const own = new RevocationFile(dataDir).read();
  return new Map([...readRevocations(join(backup, BACKUP_COPY_NAME)), ...own]);
}

/**
 * Copies an environment from a backup into the scratch folder and settles it there. It is moved into place only afterwards, so that an
 * interrupted start repeats the restore.
 */
async function settleCopy(
  dataDir: string,
  name: EnvironmentName,
  folder: string,
  nowMs: number,
): Promise<StoreFault | null> {
  const scratch = join(dataDir, SCRATCH);
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(join(scratch, name), { recursive: true });
  copyFileSync(join(folder, name, 'data.mdb'), join(scratch, name, 'data.mdb'));
  const migrated = await migrateEnvironment(scratch, name);
  if (migrated.kind === 'fault') return migrated;
  // Counters and keys are in `state`.
  const settled = name === 'state' ? await settleStore(scratch, revokedKeys(dataDir, folder), nowMs) : null;
  if (settled !== null) return settled;
  syncPath(join(scratch, name, 'data.mdb'));
  syncPath(join(scratch, name));
  return null;
}

/**
 * Re-applies to a restored store what must not be undone: counters advance, and keys revoked since are revoked. A node of a cluster gets
 * both from the changes after its position, and must not make changes that the other nodes do not make.
 */
async function settleStore(folder: string, revoked: Revocations, nowMs: number): Promise<StoreFault | null> {
  const opened = openStore({ dataDir: folder, readOnly: false });
  if (opened.kind === 'fault') return opened;
  const { store } = opened;
  if ((store.positions?.read() ?? null) !== null) {
    await store.close();
    return null;
  }
  const leapt = await durably(store.state, () => {
    for (const name of LEAPING) store.counters.rise(name, COUNTER_LEAP);
  });
  const again = { kind: 'keys.revoked_again', revocations: [...revoked] } as const;
  const written = leapt.kind === 'fault' ? leapt : await store.changes.commit(again, { by: 'service', nowMs });
  await store.close();
  return written.kind === 'fault' ? written : null;
}

/** Moves a durable environment, or only the database files of another one, to `<name>.damaged-<time>` and returns that name. */
function setAside(dataDir: string, name: EnvironmentName, nowMs: number): string {
  let aside = `${name}.damaged-${stampOf(nowMs)}`;
  while (existsSync(join(dataDir, aside))) aside += '-2';
  const from = join(dataDir, name);
  if (ENVIRONMENTS[name].backups === 'all') {
    if (existsSync(from)) renameSync(from, join(dataDir, aside));
  } else {
    mkdirSync(join(dataDir, aside));
    for (const file of namesIn(from).filter(isDataFile)) renameSync(join(from, file), join(dataDir, aside, file));
  }
  syncPath(dataDir);
  return aside;
}

function removeDataFiles(dataDir: string, name: EnvironmentName): void {
  const folder = join(dataDir, name);
  for (const file of namesIn(folder).filter(isDataFile)) rmSync(join(folder, file));
}

function isDataFile(name: string): boolean {
  return name === 'data.mdb' || name === 'lock.mdb';
}
