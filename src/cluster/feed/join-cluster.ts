import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../state/environment.ts';
import { holdsCustomers } from '../../state/change-tables.ts';
import { durably, fault, type StoreFault } from '../../state/durable.ts';
import type { FeedPosition, FeedPositions } from '../../state/feed-position.ts';
import type { Link } from '../link.ts';
import { type Asked, found, type Head, readHead } from './feed-store.ts';

export interface JoinParts {
  readonly link: Link;
  readonly root: Environment;
  readonly positions: FeedPositions;
  /** Value that shows which master key the cluster has. */
  readonly check: string;
  readonly format: string;
  /** How long to wait for a store that does not answer. */
  readonly waitMs: number;
}

export type Joined =
  | {
      readonly kind: 'ok';
      /** `alone`: the store does not answer, and the node has data. */
      readonly how: 'founded' | 'joined' | 'continued' | 'alone';
      readonly cluster: string;
      /** Null if the node needs the data of another one. */
      readonly position: FeedPosition | null;
    }
  | StoreFault;

const RETRY_MS = 100;

/**
 * Decides what a node is in the cluster of the store: the first one founds it with its data; a node without data joins; a node that was in
 * it continues. Anything else is a fault, and nothing is changed.
 */
export async function joinCluster(parts: JoinParts): Promise<Joined> {
  const { positions, root } = parts;
  const position = positions.read();
  const head = await headWithin(parts);
  if (head.kind === 'away') {
    if (position !== null && !position.isLoading)
      return { kind: 'ok', how: 'alone', cluster: position.cluster, position };
    return fault('cluster_unavailable', `the cluster's store does not answer: ${head.detail}`);
  }
  if (head.value === null) {
    if (position === null) return foundFirst(parts);
    // The store has lost the cluster: the reader founds it again, when it knows how far the others are.
    return { kind: 'ok', how: 'continued', cluster: position.cluster, position: position.isLoading ? null : position };
  }
  const misfit = misfitOf(parts, head.value);
  if (misfit !== null) return misfit;
  const { cluster } = head.value;
  if (position !== null) {
    if (position.cluster !== cluster) return otherCluster(position.cluster, cluster);
    return { kind: 'ok', how: 'continued', cluster, position: position.isLoading ? null : position };
  }
  if (holdsCustomers(root)) return hasOtherData();
  return { kind: 'ok', how: 'joined', cluster, position: null };
}

async function foundFirst(parts: JoinParts): Promise<Joined> {
  const { link, root, positions, check, format } = parts;
  const cluster = randomUUID();
  // The data counts as the first change: other nodes have to get it. Stored first, so that a start that is killed continues.
  const position = { cluster, number: 1, last: '', isLoading: false };
  const written = await durably(root, () => positions.put(position));
  if (written.kind === 'fault') return written;
  const head = await found(link, { cluster, check, format, number: 1, last: '' });
  // Whether it was founded is unknown: the reader finds out.
  if (head.kind === 'away' || head.value === null || head.value.cluster === cluster) {
    return { kind: 'ok', how: 'founded', cluster, position };
  }
  const undone = await durably(root, () => positions.remove());
  return undone.kind === 'fault' ? undone : joinCluster(parts);
}

async function headWithin({ link, waitMs }: JoinParts): Promise<Asked<Head | null>> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const head = await readHead(link);
    if (head.kind === 'ok' || performance.now() > deadline) return head;
    await sleep(RETRY_MS);
  }
}

function misfitOf({ check, format }: JoinParts, head: Head): StoreFault | null {
  if (head.format !== format) {
    return fault(
      'cluster_refused',
      `the cluster's feed has format ${head.format}, and this build has format ${format}`,
    );
  }
  if (head.check === check) return null;
  return fault(
    'cluster_refused',
    'the nodes of the cluster have another GATEHOUSE_MASTER_KEY; all nodes need the same',
  );
}

function otherCluster(own: string, other: string): StoreFault {
  return fault(
    'cluster_refused',
    `the data directory belongs to another cluster (${own}) than the store (${other}). To replace its data by the cluster's, run ` +
      '`gatehouse cluster join --replace`; to use it alone, run `gatehouse cluster leave`',
  );
}

function hasOtherData(): StoreFault {
  return fault(
    'cluster_refused',
    "the data directory has customers that the cluster does not know. To replace its data by the cluster's, run " +
      '`gatehouse cluster join --replace`; the old data is moved aside',
  );
}
