import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { decrypt, encrypt } from '../../kernel/encryption.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { Environment } from '../../state/environment.ts';
import { type ChangeTable, openChangeTables } from '../../state/change-tables.ts';
import { committed, durably, fault, type StoreFault, writtenInSteps } from '../../state/durable.ts';
import type { FeedPosition, FeedPositions } from '../../state/feed-position.ts';
import { Slices, type Turns } from '../../state/turns.ts';
import type { Link } from '../link.ts';
import { chunksKey, giverKey, WANTED_KEY } from './feed-keys.ts';
import { ask, listOf } from './feed-store.ts';
import type { Wanted } from './replicas.ts';

/**
 * A node without data, or whose position is no longer in the stream, gets the tables from a live node, in chunks through the store. The
 * node that gives reads them in one snapshot of LMDB together with its position.
 */

/** Choice: rows of one chunk; a row has some 100 bytes, at most some 10 KB. */
const CHUNK_BYTES = 512 * 1024;
/** Choice: unread chunks that may lie in the store: 4 MB. */
const CHUNKS_WAITING_MAX = 8;
/** Choice: a giver or a taker that is silent for so long is dead. */
const SILENT_MS = 5_000;
const POLL_MS = 10;
const ROWS_PER_CLEAR = 10_000;

export interface SnapshotParts {
  readonly link: Link;
  readonly key: Buffer;
  readonly root: Environment;
  readonly positions: FeedPositions;
  readonly turns: Turns;
  /**
   * Version of the tables of this build. Rows of a snapshot are copied as they are, so a node gives one only to nodes of its own
   * version: those of others wait for a node that has theirs.
   */
  readonly tables: number;
}

/**
 * Writes a snapshot for a node that wants one, unless another node does or its tables have another version. Returns whether it was written
 * completely.
 */
export async function giveSnapshot(parts: SnapshotParts, node: string, wanted: Wanted): Promise<boolean> {
  const { id } = wanted;
  const { link, key, root, positions, turns } = parts;
  if (wanted.tables !== parts.tables) return false;
  const mine = ['SET', giverKey(id), node, 'NX', 'PX', String(SILENT_MS * 12)];
  const claimed = await ask(link, { key: giverKey(id), args: mine }, (reply) => reply !== null);
  if (claimed.kind === 'away' || !claimed.value) return false;
  root.resetReadTxn();
  const transaction = root.useReadTransaction();
  try {
    const position = positions.read(transaction);
    if (position === null || position.isLoading) return false;
    const slices = new Slices(turns);
    let index = 0;
    for (const table of openChangeTables(root)) {
      let after: Buffer | null = null;
      for (;;) {
        await slices.begin();
        const { rows, last } = readChunk(table, transaction, after);
        if (rows.length > 0) {
          const sealed = encrypt(key, pack([index, table.name, rows]), contextOf(id, index));
          if (!(await push(link, id, sealed))) return false;
          index++;
        }
        if (last === null) break;
        after = last;
      }
    }
    const { cluster, number, last } = position;
    return await push(link, id, encrypt(key, pack([index, 'end', [cluster, number, last]]), contextOf(id, index)));
  } finally {
    transaction.done();
  }
}

type Transaction = ReturnType<Environment['useReadTransaction']>;

/** `last` is null at the end of the table. */
function readChunk(
  { database, owns }: ChangeTable,
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

/** Waits while the taker has enough to read. Returns false if it takes nothing any more. */
async function push(link: Link, id: string, sealed: Buffer): Promise<boolean> {
  const key = chunksKey(id);
  const deadline = performance.now() + SILENT_MS * 2;
  for (;;) {
    const length = await ask(link, { key, args: ['LLEN', key] }, Number);
    if (length.kind === 'ok' && length.value < CHUNKS_WAITING_MAX) break;
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  const pushed = await ask(link, { key, args: ['RPUSH', key, sealed] }, Number, SILENT_MS);
  if (pushed.kind === 'away') return false;
  return (await ask(link, { key, args: ['PEXPIRE', key, String(SILENT_MS * 12)] }, Number)).kind === 'ok';
}

export type Taken = { readonly kind: 'ok'; readonly position: FeedPosition } | StoreFault;

/**
 * Replaces the tables by a snapshot of another node. If it fails or the process ends meanwhile, the position says that the tables are
 * incomplete, and the next call starts again.
 */
export async function takeSnapshot(parts: SnapshotParts, node: string, cluster: string): Promise<Taken> {
  const { link, key, root, positions } = parts;
  const id = randomUUID();
  const begun = await durably(root, () => positions.put({ cluster, number: 0, last: '', isLoading: true }));
  if (begun.kind === 'fault') return begun;
  const cleared = await clear(root);
  if (cleared !== null) return cleared;
  const tables = new Map(openChangeTables(root).map((table) => [table.name as string, table]));
  let heardMs = performance.now();
  for (let index = 0; ;) {
    if (index === 0) await want(link, node, id, parts.tables);
    const sealed = await pop(link, id);
    if (sealed === null) {
      if (performance.now() - heardMs > (index === 0 ? SILENT_MS : SILENT_MS * 2)) {
        await withdraw(link, node, id);
        return fault('cluster_unavailable', noGiver(parts.tables));
      }
      await sleep(index === 0 ? POLL_MS * 10 : POLL_MS);
      continue;
    }
    heardMs = performance.now();
    const plain = decrypt(key, sealed, contextOf(id, index));
    if (plain === null) return fault('cluster_refused', 'a chunk of a snapshot cannot be decrypted');
    const [, name, rows] = unpack(plain);
    const content: readonly unknown[] = Array.isArray(rows) ? rows : [];
    if (name === 'end') return await finish(parts, node, id, content);
    const table = tables.get(String(name));
    const written = await write(root, table, content);
    if (written !== null) return written;
    index++;
  }
}

async function write(
  root: Environment,
  table: ChangeTable | undefined,
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

async function finish(
  { link, root, positions }: SnapshotParts,
  node: string,
  id: string,
  [cluster, number, last]: readonly unknown[],
): Promise<Taken> {
  const position = { cluster: String(cluster), number: Number(number), last: String(last), isLoading: false };
  const written = await durably(root, () => positions.put(position));
  await withdraw(link, node, id);
  return written.kind === 'fault' ? written : { kind: 'ok', position };
}

function noGiver(tables: number): string {
  return `no live node gave a snapshot of the data; one must run that has it, in the version of this build's tables (${tables})`;
}

async function want(link: Link, node: string, id: string, tables: number): Promise<void> {
  const record = JSON.stringify({ id, atMs: Date.now(), tables });
  await ask(link, { key: WANTED_KEY, args: ['HSET', WANTED_KEY, node, record] }, Number);
}

async function withdraw(link: Link, node: string, id: string): Promise<void> {
  await ask(link, { key: WANTED_KEY, args: ['HDEL', WANTED_KEY, node] }, Number);
  await ask(link, { key: WANTED_KEY, args: ['DEL', chunksKey(id), giverKey(id)] }, Number);
}

async function pop(link: Link, id: string): Promise<Buffer | null> {
  const key = chunksKey(id);
  const popped = await ask(link, { key, args: ['LPOP', key, '1'] }, (reply) => listOf(reply)[0] ?? null, SILENT_MS);
  return popped.kind === 'ok' && Buffer.isBuffer(popped.value) ? popped.value : null;
}

async function clear(root: Environment): Promise<StoreFault | null> {
  for (const { database, owns } of openChangeTables(root)) {
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

function contextOf(id: string, index: number): string {
  return `${chunksKey(id)}/${index}`;
}
