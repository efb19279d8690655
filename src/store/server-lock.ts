import { rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { open, type RootDatabase } from 'lmdb';
import { makeFolders } from './data-dir.ts';
import { fault, messageOf, type StoreFault } from './durable.ts';

export interface ServerLock {
  release(): Promise<void>;
}

export type LockResult = { readonly kind: 'ok'; readonly lock: ServerLock } | StoreFault;

/** The lock's environment holds nothing: its file is LMDB's two meta pages, and one cut short may simply be made anew. */
const META_PAGES_BYTES_MIN = 8_192;
const RETRY_MS = 50;

const heldHere = new Set<string>();

/**
 * Takes the place of the one server of a data directory; the command line works beside it without. Waits up to `waitMs` for it,
 * because a command line's first use holds it while it makes the store.
 *
 * The lock is a place in the reader table of an empty LMDB environment, `server.lock`. The kernel vouches for it (a record lock
 * on the process's number), so it ends with the process however that ends. LMDB's write lock makes looking and taking one step.
 * Choice: a file with a process number would be stale after a SIGKILL; Node has no file locks of its own.
 * Not covered: two containers on one folder whose servers have the same process number there (often 1) do not see each other,
 * because that looks like a restart. An orchestrator must not run two of them on one volume.
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
  if (heldHere.has(dataDir)) return fault('data_dir_in_use', `${dataDir} is served by this very process`);
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
  const path = join(dataDir, 'server.lock');
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

/** Takes a place in the reader table unless another process has one. */
function takePlace(root: RootDatabase<Buffer, Buffer>): Place {
  return root.transactionSync((): Place => {
    // Drops the places of dead processes: those whose record lock the kernel no longer knows.
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
  // The list is a heading and a line for each reader, which begins with the process's number.
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
    // After a read that could not begin, the library fails to close; the fault that led here is the one to tell.
  }
}
