import { setTimeout as sleep } from 'node:timers/promises';
import { fault, type StoreFault } from '../store/durable.ts';
import { ensureUsable, type Usable } from '../store/ensure-usable.ts';
import { readMarker } from '../store/marker.ts';
import { openStore, type Store } from '../store/open-store.ts';
import { makeFilesPrivate } from '../store/private-files.ts';
import { acquireServerLock } from '../store/server-lock.ts';
import { failureOf, type Outcome } from './outcome.ts';

/** Choice: making a store takes some 10 ms; who still waits after this waits for something else. */
const FIRST_START_MS_MAX = 5_000;
const POLL_MS = 50;

type Work = (store: Store) => Promise<Outcome> | Outcome;

/**
 * Runs `work` on the opened store, beside a running server or without one. Choice: a folder that no server has used is a mistyped
 * one, and is never made: a backup of it would be one of nothing, and would say that all is well.
 */
export async function withStore(dataDir: string, work: Work): Promise<Outcome> {
  if (isAbsent(dataDir)) {
    const message = `${dataDir} is no data directory of Gatehouse`;
    const hint = 'Name the right one by --data-dir or GATEHOUSE_DATA_DIR; the first start of the server makes it.';
    return { kind: 'error', code: 'data_dir_absent', message, hints: [hint] };
  }
  return withNewStore(dataDir, work);
}

/** The same; a first use makes the data directory. */
export async function withNewStore(dataDir: string, work: Work): Promise<Outcome> {
  makeFilesPrivate();
  const usable = await prepare(dataDir);
  if (usable.kind === 'fault') return failureOf(usable);
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') return failureOf(opened);
  const outcome = await work(opened.store);
  // After a write that got stuck, closing would hang; the entry ends the process instead.
  if (!(outcome.kind === 'error' && outcome.code === 'store_stuck')) await opened.store.close();
  return outcome;
}

/** Whether it can be told that no server has used the folder. */
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
    // The lock keeps a server's first start apart from this one; whoever comes second finds the marker.
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

/** Whether a server or a command has started on the folder; else whoever comes first makes the store, or completes a restore. */
function isSettled(dataDir: string): boolean {
  const read = readMarker(dataDir);
  return read.kind === 'damaged' || (read.kind === 'found' && read.marker.backed_up_at === undefined);
}

function unusable(dataDir: string, error: unknown): StoreFault {
  return fault(
    'data_dir_unusable',
    `${dataDir} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
  );
}
