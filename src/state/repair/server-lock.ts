import { rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { open, type RootDatabase } from 'lmdb';
import { makeFolders } from './data-dir.ts';
import { fault, messageOf, type StoreFault } from '../tables/durable.ts';

export interface ServerLock {
  release(): Promise<void>;
}

export type LockResult = { readonly kind: 'ok'; readonly lock: ServerLock } | StoreFault;

/** The lock's environment is empty: its file contains only LMDB's two meta pages, and a truncated one can simply be recreated. */
const META_PAGES_BYTES_MIN = 8_192;
const RETRY_MS = 50;

/** Files that the lock leaves behind. */
export const SERVER_LOCK_NAMES = ['server.lock', 'server.lock-lock'] as const;

const heldHere = new Set<string>();

/**
 * Acquires the lock of the single server of a data directory; the command line works alongside it without the lock. Waits up to `waitMs`,
 * because the first use of the command line holds it while it creates the store.
 *
 * The lock is an entry in the reader table of an empty LMDB environment, `server.lock`. It is backed by a kernel record lock on the process
 * id, so it ends with the process, however that ends. LMDB's write lock makes check and acquisition atomic.
 * Choice: a file with a process id would be stale after a SIGKILL; Node has no file locks.
 * Not covered: two containers on one folder whose servers have the same process id (often 1) do not detect each other, because that looks
 * like a restart. An orchestrator must not run two of them on one volume.
 */
export async function acquireServerLock(dataDir: string, waitMs: number): Promise<LockResult> {
  const path = resolve(dataDir);
  const deadline = performance.now() + waitMs;
  for (;;) {
    const result = await tryLock(path);
    if (result.kind === 'ok' || result.code !== 'data_dir_in_use' || performance.now() >= deadline) return result;
    await sleep(RETRY_MS);
  }
}

async function tryLock(dataDir: string): Promise<LockResult> {
  if (heldHere.has(dataDir)) return fault('data_dir_in_use', `${dataDir} is already served by this process`);
  heldHere.add(dataDir);
  let root: RootDatabase<Buffer, Buffer> | null = null;
  try {
    root = openLock(dataDir);
    const place = takePlace(root);
    if (place.kind === 'held') {
      await closeQuietly(root);
      heldHere.delete(dataDir);
      return fault('data_dir_in_use', `${dataDir} is served by ${place.by}`);
    }
    const held = root;
    return {
      kind: 'ok',
      lock: {
        async release() {
          place.transaction.done();
          await held.close();
          heldHere.delete(dataDir);
        },
      },
    };
  } catch (error) {
    if (root !== null) await closeQuietly(root);
    heldHere.delete(dataDir);
    return fault('data_dir_unusable', `${dataDir} cannot be locked: ${messageOf(error)}`);
  }
}

function openLock(dataDir: string): RootDatabase<Buffer, Buffer> {
  makeFolders(dataDir);
  const path = join(dataDir, SERVER_LOCK_NAMES[0]);
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes < META_PAGES_BYTES_MIN) rmSync(path, { force: true });
  const options = { path, noSubdir: true, maxDbs: 1, encoding: 'binary', keyEncoding: 'binary' } as const;
  try {
    return open<Buffer, Buffer>(options);
  } catch {
    rmSync(path, { force: true });
    return open<Buffer, Buffer>(options);
  }
}

type Place =
  | { readonly kind: 'taken'; readonly transaction: ReturnType<RootDatabase['useReadTransaction']> }
  | { readonly kind: 'held'; readonly by: string };

/** Acquires an entry in the reader table unless another process has one. */
function takePlace(root: RootDatabase<Buffer, Buffer>): Place {
  return root.transactionSync((): Place => {
    // Removes the entries of dead processes: those whose record lock the kernel no longer holds.
    root.readerCheck();
    const other = readers(root).find((pid) => pid !== process.pid);
    if (other !== undefined) return { kind: 'held', by: `process ${other}` };
    try {
      return { kind: 'taken', transaction: root.useReadTransaction() };
    } catch {
      return { kind: 'held', by: 'another process' };
    }
  });
}

function readers(root: RootDatabase<Buffer, Buffer>): number[] {
  // The list is a heading and one line per reader, which begins with the process id.
  const pids: number[] = [];
  for (const line of root.readerList().split('\n')) {
    const pid = /^\s*(\d+)\s/.exec(line)?.[1];
    if (pid !== undefined) pids.push(Number(pid));
  }
  return pids;
}

async function closeQuietly(root: RootDatabase<Buffer, Buffer>): Promise<void> {
  try {
    await root.close();
  } catch {
    // The library fails to close after a read that could not begin. The caller reports the original fault instead.
  }
}
