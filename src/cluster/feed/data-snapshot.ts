import { openChangeTables } from '../../state/tables/change-tables.ts';
import { durably, fault, type StoreFault } from '../../state/tables/durable.ts';
import type { Environment } from '../../state/tables/environment.ts';
import type { FeedPosition, FeedPositions } from '../../state/feed/feed-position.ts';
import { Slices, type Turns } from '../../state/tables/turns.ts';
import type { Link } from '../store/link.ts';
import {
  claimTransfer,
  sendTables,
  type SnapshotChannel,
  type SnapshotKeys,
  receiveTables,
} from './snapshot-chunks.ts';
import { type ChainPosition, isLater } from './change-chain.ts';
import { chunksKey, snapshotSenderKey, WANTED_KEY } from './feed-keys.ts';
import type { WantedSnapshot } from './replicas.ts';

/**
 * A node without data, or whose position is no longer in the stream, gets the tables from a live node, in chunks through the store. The
 * sender reads them in one snapshot of LMDB together with its position.
 */

const KEYS: SnapshotKeys = { wanted: WANTED_KEY, sender: snapshotSenderKey, chunks: chunksKey };

export interface SnapshotParts {
  readonly link: Link;
  readonly key: Buffer;
  readonly root: Environment;
  readonly positions: FeedPositions;
  readonly turns: Turns;
  /**
   * Version of the tables of this build. Rows of a snapshot are copied as they are, so a node sends one only to nodes of the
   * same version: the others wait for a node of theirs.
   */
  readonly tables: number;
}

/**
 * Writes a snapshot for a node that wants one, unless another node does or its tables have another version. Returns whether it was written
 * completely.
 */
export async function sendSnapshot(parts: SnapshotParts, node: string, wanted: WantedSnapshot): Promise<boolean> {
  const { id } = wanted;
  const { root, positions, turns } = parts;
  const channel = channelOf(parts);
  if (wanted.tables !== parts.tables) return false;
  if (!(await claimTransfer(channel, node, id))) return false;
  root.resetReadTxn();
  const transaction = root.useReadTransaction();
  try {
    const position = positions.read(transaction);
    if (position === null || position.isLoading || isLater(wanted.atLeast, position)) return false;
    const { cluster, number, last, term } = position;
    const slices = new Slices(turns);
    const sent = { tables: openChangeTables(root), transaction, about: [cluster, number, last, term] };
    return await sendTables(channel, id, sent, () => slices.begin());
  } finally {
    transaction.done();
  }
}

export type LoadedSnapshot = { readonly kind: 'ok'; readonly position: FeedPosition } | StoreFault;

/**
 * Replaces the tables by a snapshot of another node that is not earlier than `atLeast`. As long as none has arrived the tables stay as they
 * are. If it fails or the process ends within it, the position says that the tables are incomplete, and the next call starts again.
 */
export async function receiveSnapshot(
  parts: SnapshotParts,
  node: string,
  cluster: string,
  atLeast: Pick<ChainPosition, 'term' | 'number'>,
): Promise<LoadedSnapshot> {
  const { root, positions } = parts;
  const tables = openChangeTables(root);
  const request = { tables: parts.tables, atLeast: { term: atLeast.term, number: atLeast.number } };
  const received = await receiveTables(channelOf(parts), node, request, { root, tables }, async (about) => {
    const { cluster: from, term, number } = positionOf(about);
    if (from !== cluster || isLater(atLeast, { term, number })) return EARLIER;
    const begun = await durably(root, () => positions.put({ cluster, term: 0, number: 0, last: '', isLoading: true }));
    return begun.kind === 'fault' ? begun : null;
  });
  if (received.kind === 'fault') return received;
  if (received.kind !== 'ok') return fault('cluster_unavailable', noSender(parts.tables));
  const position = positionOf(received.about);
  const written = await durably(root, () => positions.put(position));
  return written.kind === 'fault' ? written : { kind: 'ok', position };
}

const EARLIER = fault('cluster_unavailable', 'a node gave a snapshot that is earlier than the data of this one');

function positionOf([cluster, number, last, term]: readonly unknown[]): FeedPosition {
  return {
    cluster: String(cluster),
    number: Number(number),
    last: String(last),
    term: Number(term),
    isLoading: false,
  };
}

function channelOf({ link, key }: SnapshotParts): SnapshotChannel {
  // A node that stops while it loads loads again at its next start.
  return { link, key, keys: KEYS, isStopping: () => false };
}

function noSender(tables: number): string {
  return `no live node gave a snapshot of the data; one must run that has it, in the version of this build's tables (${tables})`;
}
