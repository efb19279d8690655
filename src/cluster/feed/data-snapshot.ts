import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { decrypt, encrypt } from '../../kernel/encryption.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { Environment } from '../../state/environment.ts';
import { openChangeTables } from '../../state/change-tables.ts';
import { durably, fault, type StoreFault } from '../../state/durable.ts';
import type { FeedPosition, FeedPositions } from '../../state/feed-position.ts';
import { Slices, type Turns } from '../../state/turns.ts';
import type { Link } from '../link.ts';
import { chunksKey, giverKey, WANTED_KEY } from './feed-keys.ts';
import {
  chunkContext,
  claimGiving,
  clearTables,
  POLL_MS,
  popChunk,
  pushChunk,
  readChunk,
  SILENT_MS,
  type SnapshotKeys,
  want,
  withdraw,
  writeChunk,
} from '../snapshot-chunks.ts';
import type { Wanted } from './replicas.ts';

/**
 * A node without data, or whose position is no longer in the stream, gets the tables from a live node, in chunks through the store. The
 * node that gives reads them in one snapshot of LMDB together with its position.
 */

const KEYS: SnapshotKeys = { wanted: WANTED_KEY, giver: giverKey, chunks: chunksKey };

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
  if (!(await claimGiving(link, KEYS, node, id))) return false;
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
          const sealed = encrypt(key, pack([index, table.name, rows]), chunkContext(KEYS, id, index));
          if (!(await pushChunk(link, KEYS, id, sealed))) return false;
          index++;
        }
        if (last === null) break;
        after = last;
      }
    }
    const { cluster, number, last } = position;
    return await pushChunk(
      link,
      KEYS,
      id,
      encrypt(key, pack([index, 'end', [cluster, number, last]]), chunkContext(KEYS, id, index)),
    );
  } finally {
    transaction.done();
  }
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
  const cleared = await clearTables(root, openChangeTables(root));
  if (cleared !== null) return cleared;
  const tables = new Map(openChangeTables(root).map((table) => [table.name as string, table]));
  let heardMs = performance.now();
  for (let index = 0; ;) {
    if (index === 0) await want(link, KEYS, node, { id, tables: parts.tables });
    const sealed = await popChunk(link, KEYS, id);
    if (sealed === null) {
      if (performance.now() - heardMs > (index === 0 ? SILENT_MS : SILENT_MS * 2)) {
        await withdraw(link, KEYS, node, id);
        return fault('cluster_unavailable', noGiver(parts.tables));
      }
      await sleep(index === 0 ? POLL_MS * 10 : POLL_MS);
      continue;
    }
    heardMs = performance.now();
    const plain = decrypt(key, sealed, chunkContext(KEYS, id, index));
    if (plain === null) return fault('cluster_refused', 'a chunk of a snapshot cannot be decrypted');
    const [, name, rows] = unpack(plain);
    const content: readonly unknown[] = Array.isArray(rows) ? rows : [];
    if (name === 'end') return await finish(parts, node, id, content);
    const table = tables.get(String(name));
    const written = await writeChunk(root, table, content);
    if (written !== null) return written;
    index++;
  }
}

async function finish(
  { link, root, positions }: SnapshotParts,
  node: string,
  id: string,
  [cluster, number, last]: readonly unknown[],
): Promise<Taken> {
  const position = { cluster: String(cluster), number: Number(number), last: String(last), isLoading: false };
  const written = await durably(root, () => positions.put(position));
  await withdraw(link, KEYS, node, id);
  return written.kind === 'fault' ? written : { kind: 'ok', position };
}

function noGiver(tables: number): string {
  return `no live node gave a snapshot of the data; one must run that has it, in the version of this build's tables (${tables})`;
}
