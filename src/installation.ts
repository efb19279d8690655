import type { Log } from './observe/log.ts';
import { openLayers, type Layers } from './pools/layers.ts';
import { EXIT_SETTINGS, type Settings } from './settings.ts';
import { StartFault } from './start-fault.ts';
import { ensureUsable } from './store/ensure-usable.ts';
import { deriveKey, openMasterKey, proveMasterKey, type MasterKey } from './store/master-key.ts';
import { openStore, type Store } from './store/open-store.ts';
import { makePrivateBelow } from './store/private-files.ts';
import { acquireServerLock, type ServerLock } from './store/server-lock.ts';

/** What lies in folders: the data directory, held by this server alone, and the files of the optional layers. */
export interface Installation {
  readonly isFirstStart: boolean;
  readonly lock: ServerLock;
  readonly layers: Layers;
  readonly store: Store;
  /** A key for one purpose, derived from the master key. */
  readonly keyFor: (purpose: string) => Buffer;
}

/** Choice: a command line's first use holds the lock for some 100 ms while it makes the store. */
const LOCK_WAIT_MS = 2_000;

/** Locks the data directory, repairs or makes the store, and reads the GeoIP files and the model. Throws a StartFault. */
export async function openInstallation(settings: Settings, log: Log): Promise<Installation> {
  const { dataDir } = settings;
  const locked = await acquireServerLock(dataDir, LOCK_WAIT_MS);
  if (locked.kind === 'fault') throw new StartFault(locked.detail);
  makePrivateBelow(dataDir);
  // Both take a while and neither needs the other.
  const [usable, layers] = await Promise.all([
    ensureUsable({ dataDir, simulated: settings.simulatedTime, repair: true, nowMs: Date.now() }),
    openLayers({
      geoipDir: settings.geoipDir,
      modelsDir: settings.modelsDir,
      pollMs: 1_000,
      log,
      ...(settings.geoipPackages ? {} : { packages: [] }),
    }),
  ]);
  if (usable.kind === 'fault') {
    throw new StartFault(usable.detail, usable.code === 'simulated_time_mismatch' ? EXIT_SETTINGS : 1);
  }
  for (const notice of usable.notices) {
    if (notice.code === 'first_start') log.info(notice, 'store');
    else log.warn(notice, 'store');
  }
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') throw new StartFault(opened.detail);
  const { store } = opened;
  const master = masterKeyOf(settings, store);
  return {
    isFirstStart: usable.firstStart,
    lock: locked.lock,
    layers,
    store,
    keyFor: (purpose) => deriveKey(master, purpose),
  };
}

/** The master key, once it is sure that it is this store's. */
function masterKeyOf({ dataDir, masterKey }: Settings, store: Store): MasterKey {
  const exitCode = masterKey === null ? 1 : EXIT_SETTINGS;
  const master = openMasterKey(dataDir, masterKey ?? undefined);
  if (master.kind === 'fault') throw new StartFault(master.detail, exitCode);
  const webhookKey = deriveKey(master.key, 'webhook-secrets');
  const unproven = proveMasterKey(dataDir, master.key, () => store.webhooks.opensWith(webhookKey));
  if (unproven !== null) throw new StartFault(unproven.detail, exitCode);
  return master.key;
}
