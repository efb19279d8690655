import type { Log } from '../observe/log.ts';
import { openAssets, type Assets } from '../assets/assets.ts';
import { forRoles } from './roles.ts';
import { EXIT_SETTINGS, type Settings } from './settings.ts';
import { StartFault } from './start-fault.ts';
import { WiredFeed } from './wire-feed.ts';
import type { StoreFaultCode } from '../state/tables/durable.ts';
import { ensureUsable, type StoreNotice } from '../state/repair/ensure-usable.ts';
import { deriveKey, openMasterKey, proveMasterKey, type MasterKey } from '../state/repair/master-key.ts';
import { openStore, type Store } from '../state/feed/open-store.ts';
import { closeDataDir, makePrivateBelow } from '../state/repair/private-files.ts';
import { acquireServerLock, type ServerLock } from '../state/repair/server-lock.ts';

/** The contents of the folders: the data directory, locked by this server, and the files of the optional assets. */
export interface Installation {
  /** Whether there is no data yet, here and in the cluster. */
  readonly isFirstStart: boolean;
  /** What this start repaired or restored in the store. */
  readonly repairs: readonly StoreNotice[];
  readonly lock: ServerLock;
  /** Files that only deciding uses; null on a node that does not. */
  readonly layers: Assets | null;
  readonly store: Store;
  /** The change feed of a node of a cluster; null on a node that works alone. */
  readonly feed: WiredFeed | null;
  /** Returns a key for one purpose, derived from the master key. */
  readonly keyFor: (purpose: string) => Buffer;
}

/** Purposes of the keys for records of decisions, for `keyFor`. */
export const LINKS_PURPOSE = 'decision-links';
export const REQUESTS_PURPOSE = 'request-ids';
/** Purpose of the key of collector grants, for `keyFor`. */
export const GRANTS_PURPOSE = 'collector-grants';

/** Purpose of the key of the gate's cookies, for `keyFor`. */
export const GATE_PURPOSE = 'gate-cookie';

/** Only another setting or another build helps, so a supervisor must not restart the server. */
const FAULTS_OF_OPERATOR: ReadonlySet<StoreFaultCode> = new Set(['simulated_time_mismatch', 'data_dir_newer']);
/** Choice: the first use of the command line holds the lock for some 100 ms while it creates the store. */
const LOCK_WAIT_MS = 2_000;

/** Locks the data directory, repairs or creates the store, and loads the files that deciding uses. Throws a StartFault. */
export async function openInstallation(settings: Settings, log: Log): Promise<Installation> {
  const { dataDir } = settings;
  const locked = await acquireServerLock(dataDir, LOCK_WAIT_MS);
  if (locked.kind === 'fault') throw new StartFault(locked.detail);
  const openness = closeDataDir(dataDir);
  if (openness !== null) log.warn(openness);
  makePrivateBelow(dataDir);
  // Both take a while and are independent.
  const [usable, layers] = await Promise.all([
    ensureUsable({ dataDir, simulated: settings.simulatedTime, repair: true, nowMs: Date.now() }),
    forRoles(settings.roles, ['decide'], () =>
      openAssets({
        geoipDir: settings.geoipDir,
        modelsDir: settings.modelsDir,
        pollMs: 1_000,
        log,
        ...(settings.geoipPackages ? {} : { packages: [] }),
      }),
    ),
  ]);
  if (usable.kind === 'fault') {
    throw new StartFault(usable.detail, FAULTS_OF_OPERATOR.has(usable.code) ? EXIT_SETTINGS : 1);
  }
  for (const notice of usable.notices) {
    if (notice.code === 'first_start' || notice.code === 'migrated') log.info(notice, 'store');
    // The operator's own doing; all others are lost data.
    else if (notice.code === 'backup_restored') log.warn(notice, 'store');
    else log.error(notice, 'store');
  }
  const feed = settings.cluster === null ? null : new WiredFeed(settings.cluster, log);
  const opened = openStore({ dataDir, readOnly: false, ...(feed !== null && { feed: feed.make }) });
  if (opened.kind === 'fault') throw new StartFault(opened.detail);
  const { store } = opened;
  if (feed === null) refuseMember(store);
  const master = masterKeyOf(settings, store);
  const keyFor = (purpose: string): Buffer => deriveKey(master, purpose);
  const isFounder = (await feed?.open(settings, keyFor)) ?? true;
  return {
    isFirstStart: usable.firstStart && isFounder,
    repairs: usable.notices.filter(({ code }) => code !== 'first_start' && code !== 'migrated'),
    lock: locked.lock,
    layers,
    store,
    feed,
    keyFor,
  };
}

/** A node of a cluster that made changes by itself would have other data than the others. */
function refuseMember({ positions }: Store): void {
  if ((positions?.read() ?? null) === null) return;
  const detail =
    'the data directory belongs to a cluster: set GATEHOUSE_CLUSTER_URL, or make it work alone with `gatehouse cluster leave`';
  throw new StartFault(detail, EXIT_SETTINGS);
}

/** Returns the master key after verifying that it belongs to this store. */
function masterKeyOf({ dataDir, masterKey }: Settings, store: Store): MasterKey {
  const exitCode = masterKey === null ? 1 : EXIT_SETTINGS;
  const master = openMasterKey(dataDir, masterKey ?? undefined);
  if (master.kind === 'fault') throw new StartFault(master.detail, exitCode);
  const webhookKey = deriveKey(master.key, 'webhook-secrets');
  const unproven = proveMasterKey(dataDir, master.key, () => store.webhooks.opensWith(webhookKey));
  if (unproven !== null) throw new StartFault(unproven.detail, exitCode);
  return master.key;
}
