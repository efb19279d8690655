import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { decrypt, encrypt } from '../../kernel/encryption.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { ChangeTable } from '../../state/tables/change-tables.ts';
import { committed, fault, type StoreFault, writtenInSteps } from '../../state/tables/durable.ts';
import type { Environment } from '../../state/tables/environment.ts';
import type { Link } from '../store/link.ts';
import { callStore, readStoreTime, replyList } from './feed-store.ts';
import { recordPlace, signRecord } from './signed-record.ts';

/**
 * Copies of tables from one node to another, in encrypted chunks through the store. The receiver posts a request with its own id;
 * one of the others sends the copy.
 */

/** Names of the keys of one kind of copies, all in one slot. */
export interface SnapshotKeys {
  /** Hash: node id → JSON, its request. */
  readonly wanted: string;
  /** The node that sends; expires. */
  sender(id: string): string;
  /** List of chunks; expires. */
  chunks(id: string): string;
}

/** The way of one kind of copies through the store. */
export interface SnapshotChannel {
  readonly link: Link;
  /** Encrypts the chunks and signs the requests. */
  readonly key: Uint8Array;
  readonly keys: SnapshotKeys;
  /** True when this node stops. */
  readonly isStopping: () => boolean;
}

export type SnapshotTable = Pick<ChangeTable, 'database' | 'owns'> & { readonly name: string };

/** Choice: a request that no node has served within this time has expired. */
export const WANTED_MS = 60_000;
/** Choice: rows of one chunk; a row has some 100 bytes, at most some 10 KB. */
const CHUNK_BYTES = 512 * 1024;
/** Choice: unread chunks that may lie in the store: 4 MB. */
const CHUNKS_WAITING_MAX = 8;
/** Choice: a sender or a receiver that is silent for this long is dead. */
const SILENT_MS = 5_000;
const POLL_MS = 10;
/** Choice: milliseconds between two requests of a node that waits for the first chunk. */
const ASK_MS = 100;
/** Name of the first chunk, which says what the copy contains, and of the last one, which is empty. */
const BEGIN = 'begin';
const END = 'end';
const ROWS_PER_CLEAR = 10_000;

type Transaction = ReturnType<Environment['useReadTransaction']>;

/** Returns whether this node is the one that sends the copy. */
export async function claimTransfer({ link, keys }: SnapshotChannel, node: string, id: string): Promise<boolean> {
  const key = keys.sender(id);
  const mine = ['SET', key, node, 'NX', 'PX', String(SILENT_MS * 12)];
  const claimed = await callStore(link, { key, args: mine }, (reply) => reply !== null);
  return claimed.kind === 'ok' && claimed.value;
}

/**
 * Writes `about`, and then all rows of the tables as the transaction sees them. `beforeChunk` may wait. Returns false if the receiver is
 * gone, or this node stops.
 */
export async function sendTables(
  channel: SnapshotChannel,
  id: string,
  { tables, transaction, about }: SentTables,
  beforeChunk: () => Promise<void> | void = () => {},
): Promise<boolean> {
  if (!(await pushChunk(channel, id, 0, BEGIN, about))) return false;
  let index = 1;
  for (const table of tables) {
    for (let after: Buffer | null = null; ;) {
      await beforeChunk();
      if (channel.isStopping()) return false;
      const { rows, last: read } = readChunk(table, transaction, after);
      if (rows.length > 0 && !(await pushChunk(channel, id, index++, table.name, rows))) return false;
      if (read === null) break;
      after = read;
    }
  }
  return pushChunk(channel, id, index, END, []);
}

/** The copy that a node requests. */
export interface SnapshotRequest {
  /** Version of the tables that it reads. */
  readonly tables: number;
  /** The position that the copy must have reached. */
  readonly atLeast: unknown;
}

export interface SentTables {
  readonly tables: readonly SnapshotTable[];
  readonly transaction: Transaction;
  /** Content of the first chunk: the position that the rows have. */
  readonly about: readonly unknown[];
}

export type ReceivedTables =
  /** All rows are written. `about` is the content of the first chunk. */
  | { readonly kind: 'ok'; readonly about: readonly unknown[] }
  /** No node sent anything. */
  | { readonly kind: 'none' }
  /** The sender ended, or this node stops. */
  | { readonly kind: 'interrupted' }
  | StoreFault;

/**
 * Requests a copy from the other nodes under a new id, and replaces the rows of the tables by it. `onBegin` is called before the first row
 * changes, with what the sender says about the copy; after a fault nothing changes. Chunks are encrypted for this request: whatever else
 * lies in their place, such as those of an earlier copy, is passed over.
 */
export async function receiveTables(
  channel: SnapshotChannel,
  node: string,
  request: SnapshotRequest,
  { root, tables }: { readonly root: Environment; readonly tables: readonly SnapshotTable[] },
  onBegin: (about: readonly unknown[]) => Promise<StoreFault | null>,
): Promise<ReceivedTables> {
  const id = randomUUID();
  let about: readonly unknown[] = [];
  let lastChunkMs = performance.now();
  try {
    for (let index = 0; !channel.isStopping();) {
      if (index === 0) await postRequest(channel, node, { ...request, id });
      const sealed = await popChunk(channel, id);
      const plain = sealed === null ? null : decrypt(channel.key, sealed, chunkContext(channel.keys, id, index));
      if (plain === null) {
        const silentMs = performance.now() - lastChunkMs;
        if (silentMs > (index === 0 ? SILENT_MS : SILENT_MS * 2)) return { kind: index === 0 ? 'none' : 'interrupted' };
        await sleep(index === 0 ? ASK_MS : POLL_MS);
        continue;
      }
      lastChunkMs = performance.now();
      const [, name, content] = unpack(plain);
      const rows: readonly unknown[] = Array.isArray(content) ? content : [];
      if (index++ === 0) {
        about = rows;
        const failed = (await onBegin(about)) ?? (await clearTables(root, tables));
        if (failed !== null) return failed;
        continue;
      }
      if (name === END) return { kind: 'ok', about };
      const table = tables.find((one) => one.name === name);
      const written = await writeChunk(root, table, rows);
      if (written !== null) return written;
    }
    return { kind: 'interrupted' };
  } finally {
    await withdraw(channel, node, id);
  }
}

/** Names a chunk, so that it cannot be decrypted in the place of another. */
function chunkContext(keys: SnapshotKeys, id: string, index: number): string {
  return `${keys.chunks(id)}/${index}`;
}

/** `last` is null at the end of the table. */
function readChunk(
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

/** Waits while the receiver has enough to read. Returns false if it reads nothing any more, or this node stops. */
async function pushChunk(
  { link, key: secret, keys, isStopping }: SnapshotChannel,
  id: string,
  index: number,
  name: string,
  rows: readonly unknown[],
): Promise<boolean> {
  const sealed = encrypt(secret, pack([index, name, rows]), chunkContext(keys, id, index));
  const key = keys.chunks(id);
  const deadline = performance.now() + SILENT_MS * 2;
  for (;;) {
    const length = await callStore(link, { key, args: ['LLEN', key] }, Number);
    if (length.kind === 'ok' && length.value < CHUNKS_WAITING_MAX) break;
    if (performance.now() > deadline || isStopping()) return false;
    await sleep(POLL_MS);
  }
  const pushed = await callStore(link, { key, args: ['RPUSH', key, sealed] }, Number, SILENT_MS);
  if (pushed.kind === 'away') return false;
  return (await callStore(link, { key, args: ['PEXPIRE', key, String(SILENT_MS * 12)] }, Number)).kind === 'ok';
}

/** Writes the rows of a chunk: key, value, … Returns the fault, if there is one. */
async function writeChunk(
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

async function postRequest(
  { link, key, keys }: SnapshotChannel,
  node: string,
  request: SnapshotRequest & { readonly id: string },
): Promise<void> {
  // Senders compare the time with theirs, and the clock of a node may be minutes off.
  const time = await readStoreTime(link, keys.wanted);
  if (time.kind === 'away') return;
  const text = JSON.stringify({ ...request, atMs: Math.round(time.value) });
  const record = signRecord(key, recordPlace(keys.wanted, node), text);
  await callStore(link, { key: keys.wanted, args: ['HSET', keys.wanted, node, record] }, Number);
}

async function withdraw({ link, keys }: SnapshotChannel, node: string, id: string): Promise<void> {
  await callStore(link, { key: keys.wanted, args: ['HDEL', keys.wanted, node] }, Number);
  await callStore(link, { key: keys.wanted, args: ['DEL', keys.chunks(id), keys.sender(id)] }, Number);
}

async function popChunk({ link, keys }: SnapshotChannel, id: string): Promise<Buffer | null> {
  const key = keys.chunks(id);
  const popped = await callStore(
    link,
    { key, args: ['LPOP', key, '1'] },
    (reply) => replyList(reply)[0] ?? null,
    SILENT_MS,
  );
  return popped.kind === 'ok' && Buffer.isBuffer(popped.value) ? popped.value : null;
}

/** Removes all rows that belong to the tables. */
async function clearTables(root: Environment, tables: readonly SnapshotTable[]): Promise<StoreFault | null> {
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
