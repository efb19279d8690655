import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RootDatabase } from 'lmdb';
import { runningTimer } from '../../kernel/running-time.ts';
import { STORE_WRITE_MS_MAX } from '../../kernel/limits.ts';
import { lackOfRoom } from './disk-room.ts';

/**
 * A fault of the store. `detail` is public text.
 *
 * `store_stuck`: the write was neither committed nor refused within `STORE_WRITE_MS_MAX`. The caller must end the process with
 * `endProcess`: after a failed write of its meta page (disk full, input/output error) LMDB's environment stays
 * locked; every later write and even `process.exit()` hang forever. Only a new process recovers, with every acknowledged write. Whether the
 * stuck write itself is stored after the restart is unknown, as after a crash.
 * `store_write_failed`: LMDB refused the write and nothing of it is stored; the store remains usable.
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
  /** The server or the cluster's store did not confirm the change in time; whether it was made is unknown. */
  | 'change_unconfirmed'
  | 'simulated_time_mismatch'
  | 'data_dir_unusable'
  /** A newer build has written it. */
  | 'data_dir_newer'
  | 'data_dir_in_use'
  | 'master_key_unusable'
  | 'backup_refused'
  | 'backup_failed'
  /** Nothing was written: the backup or the data directory cannot be used for a restore. */
  | 'restore_refused'
  | 'restore_failed'
  /** A restore into the data directory was killed; it must be repeated. */
  | 'restore_incomplete'
  /** The data directory belongs to a cluster, whose changes only its server makes. */
  | 'cluster_member'
  /** The store of the cluster does not answer, or this node does not apply changes at the moment. Nothing was changed. */
  | 'cluster_unavailable'
  /** The data directory and the cluster do not belong together. */
  | 'cluster_refused';

export type StoreWrite<T> = { readonly kind: 'ok'; readonly value: T } | StoreFault;

export function fault(code: StoreFaultCode, detail: string): StoreFault {
  return { kind: 'fault', code, detail };
}

/** Choice: maximum wait for the reason of an error, ms; it follows the error within one turn of the event loop. */
const REASON_MS_MAX = 100;

/**
 * Writes everything that `put` puts, or nothing, and resolves when it is on the disk. For writes that need no read in the same transaction:
 * the library's own thread executes them, while `durably` runs its change on this thread.
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
 * Runs `change` inside one write transaction and resolves when it is on the disk (fsync), so that an acknowledged write survives power
 * loss. `change` sees its own writes. It must read and check before its first put, because what it wrote before an exception stays.
 */
export function durably<T>(root: RootDatabase<Buffer, Buffer>, change: () => T): Promise<StoreWrite<T>> {
  return flushedWhen(root, () => root.transaction(change));
}

async function flushedWhen<T>(root: RootDatabase<Buffer, Buffer>, commit: () => Promise<T>): Promise<StoreWrite<T>> {
  const lack = lackOfRoom(root);
  if (lack !== null) return fault('store_full', lack);
  // `flushed` must be read in the same turn of the event loop: later it would belong to a later transaction.
  let committing: Promise<T>;
  let flushed: Promise<unknown>;
  try {
    committing = commit();
    flushed = root.flushed.then(() => true);
  } catch (error) {
    return await refused(root, error);
  }
  // After a failed commit, a failed flush reports the same fault a second time.
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
 * Like `durably`, but resolves when the write is committed: every reader sees it and a process crash does not undo it; a machine crash may
 * undo the last writes, in order. For data that is written with every event and is contained in another record as well. `freeMin`: bytes
 * of the disk that must be free.
 */
export async function committed<T>(
  root: RootDatabase<Buffer, Buffer>,
  change: () => T,
  freeMin?: number,
): Promise<StoreWrite<T>> {
  const lack = lackOfRoom(root, freeMin);
  if (lack !== null) return fault('store_full', lack);
  let committing: Promise<T>;
  try {
    committing = root.transaction(change);
  } catch (error) {
    return await refused(root, error);
  }
  return inTime(root, committing);
}

/** Two moments of one write. */
export interface Written<T> {
  /** Every reader sees it and a crash of the process does not undo it. */
  readonly visible: Promise<StoreWrite<T>>;
  /** It is on the disk. */
  readonly durable: Promise<StoreWrite<T>>;
}

/** Like `committed` and `durably` at once. `start` begins one transaction or batch of `root`. */
export function writtenInSteps<T>(root: RootDatabase<Buffer, Buffer>, start: () => Promise<T>): Written<T> {
  const lack = lackOfRoom(root);
  if (lack !== null) return refusedAtOnce(fault('store_full', lack));
  let committing: Promise<T>;
  let flushed: Promise<unknown>;
  try {
    committing = start();
    // Read in the same turn of the event loop: later it would belong to a later transaction.
    flushed = root.flushed.then(() => true);
  } catch (error) {
    return refusedAtOnce(refused(root, error));
  }
  flushed.catch(() => {});
  const visible = inTime(root, committing);
  const durable = visible.then((write) =>
    write.kind === 'fault'
      ? write
      : inTime(
          root,
          flushed.then(() => write.value),
        ),
  );
  return { visible, durable };
}

function refusedAtOnce(why: StoreFault | Promise<StoreFault>): Written<never> {
  const refusal = Promise.resolve(why);
  return { visible: refusal, durable: refusal };
}

/** Returns the result of a write; `store_stuck` if there is none within `STORE_WRITE_MS_MAX` of this process's running time. */
async function inTime<T>(root: RootDatabase<Buffer, Buffer>, writing: Promise<T>): Promise<StoreWrite<T>> {
  const late = runningTimer(STORE_WRITE_MS_MAX);
  try {
    const outcome = await Promise.race([writing.then((value) => ({ value })), late.passed]);
    if (outcome !== undefined) return { kind: 'ok', value: outcome.value };
    writing.catch(() => {});
    return fault('store_stuck', `the store did not complete a write within ${STORE_WRITE_MS_MAX} ms`);
  } catch (error) {
    return await refused(root, error);
  } finally {
    late.cancel();
  }
}

/** Source: lmdb.h, `MDB_MAP_FULL`; and `ENOSPC` and `EDQUOT` of Linux and macOS as LMDB passes them on. */
const FULL_CODES: ReadonlySet<unknown> = new Set([-30_792, 28, 122, 69]);
const FULL_TEXT = /MDB_MAP_FULL|ENOSPC|EDQUOT|No space left|quota exceeded/i;

/** Choice: with less free space than this, a failed write is attributed to lack of space, whatever its error. */
const FULL_FREE_BYTES = 1_048_576;

async function refused(root: RootDatabase<Buffer, Buffer>, error: unknown): Promise<StoreFault> {
  const reason = await reasonOf(error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const isFull = FULL_CODES.has(code) || FULL_TEXT.test(reason) || (await isDiskFull(root));
  return fault(isFull ? 'store_full' : 'store_write_failed', reason);
}

/** LMDB reports an input/output error if the disk accepts only some of several pages, which is how a full disk behaves. */
async function isDiskFull(root: RootDatabase<Buffer, Buffer>): Promise<boolean> {
  // The library's types omit `path`.
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

/** The library rejects with a general error that holds a promise of the reason. Left unhandled, that promise would end the process. */
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
