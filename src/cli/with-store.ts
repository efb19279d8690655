import { setTimeout as sleep } from 'node:timers/promises';
import { fault, type StoreFault } from '../state/tables/durable.ts';
import { ensureUsable, type Usable } from '../state/repair/ensure-usable.ts';
import { readMarker } from '../state/repair/marker.ts';
import { openStore, type Store } from '../state/feed/open-store.ts';
import { makeFilesPrivate } from '../state/repair/private-files.ts';
import { acquireServerLock } from '../state/repair/server-lock.ts';
import { ChangeDoor } from './change-door.ts';
import { failureOf, type CommandOutcome } from './command-outcome.ts';

/** Choice: creating a store takes some 10 ms; a longer wait has another cause. */
const FIRST_START_MS_MAX = 5_000;
const POLL_MS = 50;

/** `door` is the way to change the store. */
type Work = (store: Store, door: ChangeDoor) => Promise<CommandOutcome> | CommandOutcome;

/**
 * Runs `work` on the opened store, alongside a running server or without one. Choice: a folder that no server has used is treated as a typo
 * and never created: its backup would be empty and still report success.
 */
export async function withStore(dataDir: string, work: Work): Promise<CommandOutcome> {
  if (isAbsent(dataDir)) {
    const message = `${dataDir} is not a data directory of Gatehouse`;
    const hint = 'Set the right one by --data-dir or GATEHOUSE_DATA_DIR; the first start of the server creates it.';
    return { kind: 'error', code: 'data_dir_absent', message, hints: [hint] };
  }
  return withNewStore(dataDir, work);
}

/** Like `withStore`, but the first use creates the data directory. */
export async function withNewStore(dataDir: string, work: Work): Promise<CommandOutcome> {
  makeFilesPrivate();
  const usable = await prepare(dataDir);
  if (usable.kind === 'fault') return failureOf(usable);
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') return failureOf(opened);
  const outcome = await work(opened.store, new ChangeDoor(opened.store));
  // After a stuck write, closing would hang; the entry point ends the process instead.
  if (!(outcome.kind === 'error' && outcome.code === 'store_stuck')) await opened.store.close();
  return outcome;
}

/** Returns whether it is certain that no server has used the folder. */
function isAbsent(dataDir: string): boolean {
  try {
    return readMarker(dataDir).kind === 'absent';
  } catch {
    return false;
  }
}

async function prepare(dataDir: string): Promise<Usable> {
  const deadline = performance.now() + FIRST_START_MS_MAX;
  for (;;) {
    const nowMs = Date.now();
    try {
      if (isSettled(dataDir)) {
        return await ensureUsable({ dataDir, simulated: null, repair: false, nowMs });
      }
    } catch (error) {
      return unusable(dataDir, error);
    }
    // The lock prevents that a server and this command make the first start at once; the one that comes second finds the marker.
    const locked = await acquireServerLock(dataDir, 0);
    if (locked.kind === 'ok') {
      // A restored directory keeps its kind of clock.
      const simulated = isAbsent(dataDir) ? process.env['GATEHOUSE_SIMULATED_TIME'] === '1' : null;
      const usable = !isSettled(dataDir) ? await ensureUsable({ dataDir, simulated, repair: true, nowMs }) : null;
      await locked.lock.release();
      if (usable !== null) return usable;
      continue;
    }
    if (locked.code !== 'data_dir_in_use' || performance.now() > deadline) return locked;
    await sleep(POLL_MS);
  }
}

/** Returns whether a server or a command has started on the folder; otherwise the first one creates the store, or completes a restore. */
function isSettled(dataDir: string): boolean {
  const read = readMarker(dataDir);
  return (
    read.kind === 'damaged' ||
    read.kind === 'newer' ||
    read.kind === 'restoring' ||
    (read.kind === 'found' && read.marker.backed_up_at === undefined)
  );
}

function unusable(dataDir: string, error: unknown): StoreFault {
  return fault(
    'data_dir_unusable',
    `${dataDir} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
  );
}
