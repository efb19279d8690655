import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { listBackups } from './backup.ts';
import { makeFolders } from './data-dir.ts';
import { durably, fault, messageOf, type StoreFault } from './durable.ts';
import { namesIn, stampOf, syncPath } from './files.ts';
import { FORMAT_VERSION, MARKER_NAME, type MarkerRead, putMarker, readMarker, writeMarker } from './marker.ts';
import { openStore } from './open-store.ts';
import { probe, PROBE_ALL_VALUES_MS, PROBE_VALUES_MS, type ProbeResult } from './probe.ts';
import { BACKUP_COPY_NAME, readRevocations, RevocationFile, type Revocations } from './revocations.ts';
import type { CounterName, EnvironmentName } from './tables.ts';

export interface UsableOptions {
  readonly dataDir: string;
  /** Whether this process runs on simulated time; `null` takes the directory as it is, for tools that go by no clock. */
  readonly simulated: boolean | null;
  /**
   * Whether damage may be repaired and a first start made. Only for who holds the server's lock: what is put aside
   * must not be in use. Without it, damage is a fault.
   */
  readonly repair: boolean;
  readonly nowMs: number;
}

/** What was done to make the store usable; each belongs in the log. */
export interface StoreNotice {
  readonly code: 'first_start' | 'backup_restored' | 'state_restored' | 'hot_begun_anew' | 'extract_begun_anew';
  readonly detail: string;
}

export type Usable =
  | {
      readonly kind: 'ok';
      readonly firstStart: boolean;
      readonly notices: readonly StoreNotice[];
      /** Rows whose check sums were not compared for want of time. */
      readonly unchecked: number;
    }
  | StoreFault;

/** Choice: a store that was just made has some 40 KB; a larger damaged one without its marker held data. */
const NEW_STORE_BYTES_MAX = 131_072;
const ENVIRONMENTS: readonly EnvironmentName[] = ['state', 'hot', 'extract'];
/** The counter that `makeStore` writes. */
const NEW_STATE_ROWS = 1;
/**
 * Choice: numbers that the lost hours may have given out are passed over after a restore, so that no new customer or key
 * meets what an old one left in `hot`.
 */
const COUNTER_LEAP = 1_000_000;
const LEAPING: readonly CounterName[] = ['customers', 'keyNumbers', 'keysVersion'];

/**
 * Makes sure, before anything opens it, that the store in `dataDir` can be used. A directory without a marker is a first start if
 * it holds no data; where it does, the marker was lost, which is a fault: a first start would make a demo customer beside real ones.
 * A marker that came out of a backup means that the directory was copied from it: its numbers leap and its revoked keys are revoked.
 * A damaged or missing `state` is set aside as `state.damaged-<time>` and the newest usable automatic backup takes its place; without
 * one it is a fault and nothing is touched, because an empty store would forget keys, lists and registry in silence. A damaged
 * `hot` or `extract` begins anew; the replay journal beside `hot`'s database files stays where it is.
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
  if (firstStart && !options.repair) return fault('store_lost', `${dataDir} has not been started yet`);
  const notices: StoreNotice[] = [];
  let unchecked = 0;
  const isRestored = read.kind === 'found' && read.marker.backed_up_at !== undefined;
  const began =
    listBackups(dataDir).length > 0 || ENVIRONMENTS.some((name) => existsSync(join(dataDir, name, 'data.mdb')));
  if (!firstStart || began) {
    const probed = await probe(dataDir, ENVIRONMENTS, PROBE_VALUES_MS);
    if (probed.kind === 'fault') return probed;
    if (firstStart && holdsData(dataDir, probed.results)) return markerLost(dataDir);
    const state = probed.results.get('state');
    if (state?.kind === 'usable') unchecked += state.unchecked;
    if (state?.kind === 'damaged') {
      if (firstStart) {
        // A start that was cut off while it made the store: nothing was acknowledged yet.
        removeDataFiles(dataDir, 'state');
      } else {
        const restored = await restore(options, state.detail);
        if (restored.kind === 'fault') return restored;
        notices.push(restored.notice);
      }
    }
    for (const name of ['hot', 'extract'] as const) {
      const result = probed.results.get(name);
      if (result?.kind !== 'damaged') continue;
      // No backup has it, and any opening makes it.
      if (isRestored && name === 'extract' && !existsSync(join(dataDir, name, 'data.mdb'))) continue;
      const begun = beginAnew(options, name, firstStart, result.detail);
      if (begun.kind === 'fault') return begun;
      notices.push(...begun.notices);
    }
  }
  if (read.kind === 'found' && read.marker.backed_up_at !== undefined) {
    const { backed_up_at: backedUpAt, ...marker } = read.marker;
    const settled = await settleStore(dataDir, new RevocationFile(dataDir).read());
    if (settled !== null) return settled;
    putMarker(dataDir, marker);
    const detail = `${dataDir} was copied from a backup of ${new Date(backedUpAt * 1000).toISOString()}; later changes are lost`;
    notices.push({ code: 'backup_restored', detail });
  }
  if (firstStart) {
    const made = await makeStore(dataDir);
    if (made !== null) return made;
    writeMarker(dataDir, options.simulated === true, nowMs);
    notices.push({ code: 'first_start', detail: `${dataDir} is a new data directory` });
  }
  return { kind: 'ok', firstStart, notices, unchecked };
}

type Anew = { readonly kind: 'ok'; readonly notices: readonly StoreNotice[] } | StoreFault;

/** What is damaged of what an installation can do without. */
function beginAnew(options: UsableOptions, name: 'hot' | 'extract', firstStart: boolean, why: string): Anew {
  const { dataDir, repair, nowMs } = options;
  if (firstStart) {
    removeDataFiles(dataDir, name);
    return { kind: 'ok', notices: [] };
  }
  // A version without it, or a backup that was put in place, has none; any opening makes it.
  const isMissing = !existsSync(join(dataDir, name, 'data.mdb'));
  if (!repair && name === 'extract' && isMissing) return { kind: 'ok', notices: [] };
  if (!repair) return fault('store_unusable', `${name} is damaged (${why}); a start of the server repairs it`);
  const aside = setAside(dataDir, name, nowMs);
  const detail = `${why}; it begins anew, the old files are in ${aside}`;
  return { kind: 'ok', notices: [{ code: `${name}_begun_anew`, detail }] };
}

function refusal(read: MarkerRead, { dataDir, simulated, repair }: UsableOptions): StoreFault | null {
  if (read.kind === 'absent') return null;
  if (read.kind === 'damaged') {
    return fault('data_dir_unusable', `gatehouse.json in ${dataDir} is damaged; take it from a backup`);
  }
  const { marker } = read;
  if (marker.backed_up_at !== undefined && !repair) {
    return fault('store_unusable', `${dataDir} was copied from a backup; a start of the server completes the restore`);
  }
  if (marker.format_version !== FORMAT_VERSION) {
    return fault(
      'data_dir_unusable',
      `${dataDir} has format ${marker.format_version}; this version reads ${FORMAT_VERSION}`,
    );
  }
  if (simulated === null || marker.simulated === simulated) return null;
  return fault(
    'simulated_time_mismatch',
    marker.simulated
      ? `${dataDir} was made with GATEHOUSE_SIMULATED_TIME=1 and serves only with it`
      : `${dataDir} was made without GATEHOUSE_SIMULATED_TIME and does not serve simulated time`,
  );
}

/** Whether a directory without a marker was in use: more than a first start leaves that was cut off before it wrote the marker. */
function holdsData(dataDir: string, probed: ReadonlyMap<EnvironmentName, ProbeResult>): boolean {
  // A server makes its journal only after the marker.
  if (listBackups(dataDir).length > 0 || namesIn(join(dataDir, 'hot', 'replay')).length > 0) return true;
  for (const [name, result] of probed) {
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

type Restored = { readonly kind: 'ok'; readonly notice: StoreNotice } | StoreFault;

async function restore({ dataDir, repair, nowMs }: UsableOptions, why: string): Promise<Restored> {
  if (!repair)
    return fault('store_unusable', `state is damaged (${why}); a start of the server restores the newest backup`);
  for (const folder of listBackups(dataDir)) {
    const probed = await probe(folder, ['state'], PROBE_ALL_VALUES_MS);
    if (probed.kind === 'fault') return probed;
    if (probed.results.get('state')?.kind !== 'usable') continue;
    const coming = join(dataDir, 'state.restoring');
    rmSync(coming, { recursive: true, force: true });
    mkdirSync(coming, { recursive: true });
    copyFileSync(join(folder, 'state', 'data.mdb'), join(coming, 'data.mdb'));
    syncPath(join(coming, 'data.mdb'));
    syncPath(coming);
    const settled = await settleCopy(dataDir, coming, revokedKeys(dataDir, folder));
    if (settled !== null) return settled;
    const hadFiles = existsSync(join(dataDir, 'state'));
    const aside = setAside(dataDir, 'state', nowMs);
    renameSync(coming, join(dataDir, 'state'));
    syncPath(dataDir);
    return {
      kind: 'ok',
      notice: {
        code: 'state_restored',
        detail: `${why}; restored the backup ${basename(folder)}${hadFiles ? `, the damaged files are in ${aside}` : ''}; later changes are lost`,
      },
    };
  }
  return fault(
    'store_lost',
    `state in ${dataDir} is damaged or missing (${why}) and backups/ holds no usable backup. Put a backup's state folder in its place, ` +
      `or move the whole data directory away to begin with an empty one.`,
  );
}

/** What is known to be revoked: by the data directory's own file, and by that of the backup which is restored. */
function revokedKeys(dataDir: string, backup: string): Revocations {
  const own = new RevocationFile(dataDir).read();
  return new Map([...readRevocations(join(backup, BACKUP_COPY_NAME)), ...own]);
}

/** Settles the restored copy before it takes its place, so that a start that is cut off here begins again. */
async function settleCopy(dataDir: string, coming: string, revoked: Revocations): Promise<StoreFault | null> {
  const scratch = join(dataDir, 'restoring');
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  renameSync(coming, join(scratch, 'state'));
  const settled = await settleStore(scratch, revoked);
  if (settled !== null) return settled;
  renameSync(join(scratch, 'state'), coming);
  rmSync(scratch, { recursive: true, force: true });
  return null;
}

/** Brings a restored store up to what must not be undone: counters leap, and keys that were revoked since are revoked. */
async function settleStore(folder: string, revoked: Revocations): Promise<StoreFault | null> {
  const opened = openStore({ dataDir: folder, readOnly: false });
  if (opened.kind === 'fault') return opened;
  const { store } = opened;
  const leapt = await durably(store.state, () => {
    for (const name of LEAPING) store.counters.rise(name, COUNTER_LEAP);
  });
  const written = leapt.kind === 'fault' ? leapt : await store.apiKeys.revokeAll(revoked);
  await store.close();
  return written.kind === 'fault' ? written : null;
}

/** Moves `state`, or of the others only the database files, to `<name>.damaged-<time>` and answers that name. */
function setAside(dataDir: string, name: EnvironmentName, nowMs: number): string {
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

function removeDataFiles(dataDir: string, name: EnvironmentName): void {
  const folder = join(dataDir, name);
  for (const file of namesIn(folder).filter(isDataFile)) rmSync(join(folder, file));
}

function isDataFile(name: string): boolean {
  return name === 'data.mdb' || name === 'lock.mdb';
}
