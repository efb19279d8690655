import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RootDatabase } from 'lmdb';
import { runningTimer } from '../base/running-time.ts';
import { STORE_WRITE_MS_MAX } from '../limits.ts';
import { lackOfRoom } from './disk-room.ts';

/**
 * A fault of the store. `detail` is public text.
 *
 * `store_stuck`: the write was neither committed nor refused in `STORE_WRITE_MS_MAX`. The caller must end the process with
 * `process.kill(process.pid, 'SIGKILL')`: after a failed write of its meta page (disk full, input/output error) LMDB's
 * environment stays locked, every later write and even `process.exit()` hang for ever, and only a new process recovers, with
 * every acknowledged write. Whether the stuck write itself is there after the restart is unknown, as it is after a crash.
 * `store_write_failed`: LMDB refused the write and nothing of it is stored; the store may be used on.
 * `store_full`: nothing was written because there is no room, on the disk or in the map.
 */
export interface StoreFault {
  readonly kind: 'fault';
  readonly code: StoreFaultCode;
  readonly detail: string;
}

export type StoreFaultCode =
  | 'store_stuck'
  | 'store_write_failed'
  | 'store_full'
  | 'store_unusable'
  | 'store_lost'
  | 'simulated_time_mismatch'
  | 'data_dir_unusable'
  | 'data_dir_in_use'
  | 'master_key_unusable'
  | 'backup_refused'
  | 'backup_failed';

export type StoreWrite<T> = { readonly kind: 'ok'; readonly value: T } | StoreFault;

export function fault(code: StoreFaultCode, detail: string): StoreFault {
  return { kind: 'fault', code, detail };
}

/** Choice: the reason follows its error within a turn of the event loop. */
const REASON_MS_MAX = 100;

/**
 * Writes all or none of what `put` puts, and answers when it is on the disk. For writes that need not read what is there in the same
 * transaction: they are made by the library's own thread, where `durably` runs its change on this one.
 */
export function durablyTogether<T>(root: RootDatabase<Buffer, Buffer>, put: () => T): Promise<StoreWrite<T>> {
  let value: T | undefined;
  const batch = (): Promise<T> =>
    root
      .batch(() => {
        value = put();
      })
      .then(() => value as T);
  return flushedWhen(root, batch);
}

/**
 * Runs `change` inside one write transaction and answers when it is on the disk (fsync), so that an acknowledged write survives
 * power loss. `change` sees what it wrote; it must read and check before its first put, because what it wrote before an
 * exception stays.
 */
export function durably<T>(root: RootDatabase<Buffer, Buffer>, change: () => T): Promise<StoreWrite<T>> {
  return flushedWhen(root, () => root.transaction(change));
}

async function flushedWhen<T>(root: RootDatabase<Buffer, Buffer>, commit: () => Promise<T>): Promise<StoreWrite<T>> {
  const lack = lackOfRoom(root);
  if (lack !== null) return fault('store_full', lack);
  // The flush must be asked for in the same turn: later it would be that of a later transaction.
  let committing: Promise<T>;
  let flushed: Promise<unknown>;
  try {
    committing = commit();
    flushed = root.flushed.then(() => true);
  } catch (error) {
    return await refused(root, error);
  }
  // A flush that fails after its commit failed is the same fault told twice.
  flushed.catch(() => {});
  return inTime(
    root,
    committing.then(async (value) => {
      await flushed;
      return value;
    }),
  );
}

/**
 * As `durably`, but answers when the write is committed: every reader sees it and the end of the process does not undo it; the
 * end of the machine may undo the last ones, in their order. For what is written with every event and is told again by another
 * record.
 */
export async function committed<T>(root: RootDatabase<Buffer, Buffer>, change: () => T): Promise<StoreWrite<T>> {
  const lack = lackOfRoom(root);
  if (lack !== null) return fault('store_full', lack);
  let committing: Promise<T>;
  try {
    committing = root.transaction(change);
  } catch (error) {
    return await refused(root, error);
  }
  return inTime(root, committing);
}

/** What came of a write; `store_stuck` when that is not known within `STORE_WRITE_MS_MAX` in which this process ran. */
async function inTime<T>(root: RootDatabase<Buffer, Buffer>, writing: Promise<T>): Promise<StoreWrite<T>> {
  const late = runningTimer(STORE_WRITE_MS_MAX);
  try {
    const outcome = await Promise.race([writing.then((value) => ({ value })), late.passed]);
    if (outcome !== undefined) return { kind: 'ok', value: outcome.value };
    writing.catch(() => {});
    return fault('store_stuck', `the store did not take a write within ${STORE_WRITE_MS_MAX} ms`);
  } catch (error) {
    return await refused(root, error);
  } finally {
    late.cancel();
  }
}

/** Source: lmdb.h, `MDB_MAP_FULL`; and `ENOSPC` and `EDQUOT` of Linux and macOS as LMDB passes them on. */
const FULL_CODES: ReadonlySet<unknown> = new Set([-30_792, 28, 122, 69]);
const FULL_TEXT = /MDB_MAP_FULL|ENOSPC|EDQUOT|No space left|quota exceeded/i;

/** Choice: with less room than this a write that failed for whatever reason failed for want of it. */
const FULL_FREE_BYTES = 1_048_576;

async function refused(root: RootDatabase<Buffer, Buffer>, error: unknown): Promise<StoreFault> {
  const reason = await reasonOf(error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const isFull = FULL_CODES.has(code) || FULL_TEXT.test(reason) || (await isDiskFull(root));
  return fault(isFull ? 'store_full' : 'store_write_failed', reason);
}

/** LMDB calls it an input/output error when the disk takes a part of several pages, which is what a full one does. */
async function isDiskFull(root: RootDatabase<Buffer, Buffer>): Promise<boolean> {
  // The library's types leave it out.
  if (!('path' in root) || typeof root.path !== 'string') return false;
  try {
    const { bavail, bsize } = await statfs(root.path);
    return bavail * bsize < FULL_FREE_BYTES;
  } catch {
    return false;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The library rejects with a general error that holds a promise of the reason; unheard, that promise would end the process. */
export async function reasonOf(thrown: unknown): Promise<string> {
  const message = messageOf(thrown);
  if (!(thrown instanceof Error && 'commitError' in thrown && thrown.commitError instanceof Promise)) return message;
  try {
    await Promise.race([thrown.commitError, sleep(REASON_MS_MAX, null, { ref: false })]);
    return message;
  } catch (reason) {
    return messageOf(reason);
  }
}
