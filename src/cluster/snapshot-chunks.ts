import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../state/environment.ts';
import type { ChangeTable } from '../state/change-tables.ts';
import { committed, fault, type StoreFault, writtenInSteps } from '../state/durable.ts';
import type { Link } from './link.ts';
import { ask, listOf } from './feed/feed-store.ts';

/**
 * Copies of tables from one node to another, in encrypted chunks through the store. Who wants a copy asks for it under an id of this
 * request; one of the others gives it.
 */

/** Names of the keys of one kind of copies, all in one slot. */
export interface SnapshotKeys {
  /** Hash: node id → JSON, its request. */
  readonly wanted: string;
  /** The node that gives; expires. */
  giver(id: string): string;
  /** List of chunks; expires. */
  chunks(id: string): string;
}

export type SnapshotTable = Pick<ChangeTable, 'database' | 'owns'> & { readonly name: string };

/** Choice: rows of one chunk; a row has some 100 bytes, at most some 10 KB. */
const CHUNK_BYTES = 512 * 1024;
/** Choice: unread chunks that may lie in the store: 4 MB. */
const CHUNKS_WAITING_MAX = 8;
/** Choice: a giver or a taker that is silent for so long is dead. */
export const SILENT_MS = 5_000;
export const POLL_MS = 10;
const ROWS_PER_CLEAR = 10_000;

export type Transaction = ReturnType<Environment['useReadTransaction']>;

/** Names a chunk, so that it cannot be decrypted in the place of another. */
export function chunkContext(keys: SnapshotKeys, id: string, index: number): string {
  return `${keys.chunks(id)}/${index}`;
}

/** Returns whether this node gives the snapshot. */
export async function claimGiving(link: Link, keys: SnapshotKeys, node: string, id: string): Promise<boolean> {
  const key = keys.giver(id);
  const mine = ['SET', key, node, 'NX', 'PX', String(SILENT_MS * 12)];
  const claimed = await ask(link, { key, args: mine }, (reply) => reply !== null);
  return claimed.kind === 'ok' && claimed.value;
}

/** `last` is null at the end of the table. */
export function readChunk(
  { database, owns }: SnapshotTable,
  transaction: Transaction,
  after: Buffer | null,
): { readonly rows: readonly Buffer[]; readonly last: Buffer | null } {
  const rows: Buffer[] = [];
  let bytes = 0;
  const from = after === null ? {} : { start: after, exclusiveStart: true };
  for (const { key, value } of database.getRange({ ...from, transaction })) {
    const copied = Buffer.from(key);
    if (owns(copied)) rows.push(copied, Buffer.from(value));
    bytes += key.length + value.length;
    if (bytes >= CHUNK_BYTES) return { rows, last: copied };
  }
  return { rows, last: null };
}

/** Waits while the taker has enough to read. Returns false if it takes nothing any more, or this node stops. */
export async function pushChunk(
  link: Link,
  keys: SnapshotKeys,
  id: string,
  sealed: Buffer,
  isStopping: () => boolean = () => false,
): Promise<boolean> {
  const key = keys.chunks(id);
  const deadline = performance.now() + SILENT_MS * 2;
  for (;;) {
    const length = await ask(link, { key, args: ['LLEN', key] }, Number);
    if (length.kind === 'ok' && length.value < CHUNKS_WAITING_MAX) break;
    if (performance.now() > deadline || isStopping()) return false;
    await sleep(POLL_MS);
  }
  const pushed = await ask(link, { key, args: ['RPUSH', key, sealed] }, Number, SILENT_MS);
  if (pushed.kind === 'away') return false;
  return (await ask(link, { key, args: ['PEXPIRE', key, String(SILENT_MS * 12)] }, Number)).kind === 'ok';
}

/** Writes the rows of a chunk: key, value, … Returns the fault, if there is one. */
export async function writeChunk(
  root: Environment,
  table: SnapshotTable | undefined,
  rows: readonly unknown[],
): Promise<StoreFault | null> {
  if (table === undefined) return fault('cluster_refused', 'a snapshot has a table that this build does not know');
  const put = async (): Promise<void> => {
    await root.batch(() => {
      for (let at = 0; at + 1 < rows.length; at += 2) {
        // If the write fails, every put rejects with the same error as the batch.
        table.database.put(rows[at] as Buffer, rows[at + 1] as Buffer).catch(() => {});
      }
    });
  };
  const written = await writtenInSteps(root, put).visible;
  return written.kind === 'fault' ? written : null;
}

export async function want(
  link: Link,
  keys: SnapshotKeys,
  node: string,
  request: { readonly id: string; readonly tables: number },
): Promise<void> {
  const record = JSON.stringify({ ...request, atMs: Date.now() });
  await ask(link, { key: keys.wanted, args: ['HSET', keys.wanted, node, record] }, Number);
}

export async function withdraw(link: Link, keys: SnapshotKeys, node: string, id: string): Promise<void> {
  await ask(link, { key: keys.wanted, args: ['HDEL', keys.wanted, node] }, Number);
  await ask(link, { key: keys.wanted, args: ['DEL', keys.chunks(id), keys.giver(id)] }, Number);
}

export async function popChunk(link: Link, keys: SnapshotKeys, id: string): Promise<Buffer | null> {
  const key = keys.chunks(id);
  const popped = await ask(link, { key, args: ['LPOP', key, '1'] }, (reply) => listOf(reply)[0] ?? null, SILENT_MS);
  return popped.kind === 'ok' && Buffer.isBuffer(popped.value) ? popped.value : null;
}

/** Removes all rows that belong to the tables. */
export async function clearTables(root: Environment, tables: readonly SnapshotTable[]): Promise<StoreFault | null> {
  for (const { database, owns } of tables) {
    let after: Buffer | null = null;
    do {
      const from: { start?: Buffer; exclusiveStart?: boolean } =
        after === null ? {} : { start: after, exclusiveStart: true };
      const keys = [...database.getKeys({ ...from, limit: ROWS_PER_CLEAR })].map((key) => Buffer.from(key));
      const removed = await committed(root, () => {
        for (const key of keys) if (owns(key)) void database.remove(key);
      });
      if (removed.kind === 'fault') return removed;
      after = keys.length < ROWS_PER_CLEAR ? null : (keys.at(-1) ?? null);
    } while (after !== null);
  }
  return null;
}
