import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../state/tables/environment.ts';
import { holdsCustomers } from '../../state/tables/change-tables.ts';
import { durably, fault, type StoreFault } from '../../state/tables/durable.ts';
import type { FeedPosition, FeedPositions } from '../../state/feed/feed-position.ts';
import type { Link } from '../store/link.ts';
import type { StoreResult } from '../store/store-calls.ts';
import { found, type Head, headProof, type StoredStream, readStream } from './feed-store.ts';
import { readReplicas } from './replicas.ts';
import { isProved } from './stream-state.ts';

export interface JoinParts {
  readonly link: Link;
  readonly key: Buffer;
  readonly root: Environment;
  readonly positions: FeedPositions;
  /** Value that shows which master key the cluster has. */
  readonly check: string;
  readonly format: string;
  /** Milliseconds to wait for a store that does not answer, or whose head no node has written. */
  readonly waitMs: number;
  /** Milliseconds in which live nodes report after the store has lost everything. */
  readonly reportMs: number;
  /** Returns whether another node is alive, of this cluster or of any, by what it has signed. */
  readonly isAlive: (cluster: string | null) => Promise<boolean>;
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
/** Choice: the furthest node founds the stream again within three seconds. */
const UNPROVED_MS = 4_000;
const FIRST_TERM = 1;

/**
 * Decides what a node is in the cluster of the store: the first one founds it with its data; a node without data joins; a node that was in
 * it continues. Anything else is a fault, and nothing is changed.
 */
export async function joinCluster(parts: JoinParts): Promise<Joined> {
  const { positions, key } = parts;
  const position = positions.read();
  const startedMs = performance.now();
  const deadline = startedMs + parts.waitMs;
  for (;;) {
    const stored = await readStreamWithin(parts, deadline);
    if (stored.kind === 'away') {
      if (position !== null && !position.isLoading)
        return { kind: 'ok', how: 'alone', cluster: position.cluster, position };
      return fault('cluster_unavailable', `the cluster's store does not answer: ${stored.detail}`);
    }
    const { head, hasHead } = stored.value;
    const proved = head !== null && isProved(key, head) ? head : null;
    if (position !== null) return continueIn(parts, position, proved, stored.value);
    if (!hasHead && !(await hasNodes(parts))) return foundFirst(parts, stored.value);
    if (proved !== null) return joinAs(parts, proved);
    // Live nodes repair a head that another client has overwritten.
    if (performance.now() > Math.min(deadline, startedMs + UNPROVED_MS)) return unproved(parts, head);
    await sleep(RETRY_MS);
  }
}

/** Returns whether the store had a cluster until a moment ago: its nodes found it again. */
async function hasNodes({ reportMs, isAlive }: JoinParts): Promise<boolean> {
  await sleep(reportMs * 1.5);
  return isAlive(null);
}

function joinAs({ format, root }: JoinParts, head: Head): Joined {
  if (head.format !== format) return otherFormat(head.format, format);
  if (holdsCustomers(root)) return hasOtherData();
  return { kind: 'ok', how: 'joined', cluster: head.cluster, position: null };
}

/**
 * A node that was in the cluster. What the store has beside its stream, or in its place, stops no start: the nodes mend it when they know
 * how far each of them is.
 */
async function continueIn(
  parts: JoinParts,
  position: FeedPosition,
  head: Head | null,
  stored: StoredStream,
): Promise<Joined> {
  if (head !== null && Number(head.format) > Number(parts.format)) return otherFormat(head.format, parts.format);
  if (head !== null && head.cluster !== position.cluster && (await parts.isAlive(head.cluster)))
    return otherCluster(position.cluster, head.cluster);
  if (position.term === 0 && head === null && stored.head?.format === '1') {
    const refused = await firstFormat(parts.link, position, stored.head);
    if (refused !== null) return refused;
  }
  const { cluster } = position;
  return { kind: 'ok', how: 'continued', cluster, position: position.isLoading ? null : position };
}

/** The first node that starts after an upgrade from format 1 founds the stream again: it must have all changes, and no other may run. */
async function firstFormat(link: Link, position: FeedPosition, head: Head): Promise<StoreFault | null> {
  const replicas = (await readReplicas(link)) ?? [];
  if (replicas.some((one) => one.isLive && !('term' in one)))
    return fault(
      'cluster_refused',
      'nodes of an older version are running; stop all nodes before the first upgraded one starts',
    );
  if (head.number > position.number)
    return fault(
      'cluster_refused',
      `the store has ${head.number} changes and this directory ${position.number}; start the node with the newest data first`,
    );
  return null;
}

async function foundFirst(parts: JoinParts, { mark }: StoredStream): Promise<Joined> {
  const { link, root, positions, key, check, format } = parts;
  const cluster = randomUUID();
  // The data counts as the first change: other nodes have to get it. Stored first, so that a start that is killed continues.
  const place = { cluster, term: FIRST_TERM, number: 1, last: '' };
  const position = { ...place, isLoading: false };
  const written = await durably(root, () => positions.put(position));
  if (written.kind === 'fault') return written;
  const head = { ...place, check, format };
  const made = await found(link, mark, { ...head, proof: headProof(key, head) });
  // Whether it was founded is unknown after a fault: the reader finds out.
  if (made.kind === 'away' || made.value) return { kind: 'ok', how: 'founded', cluster, position };
  const undone = await durably(root, () => positions.remove());
  return undone.kind === 'fault' ? undone : joinCluster(parts);
}

async function readStreamWithin({ link }: JoinParts, deadline: number): Promise<StoreResult<StoredStream>> {
  for (;;) {
    const stored = await readStream(link, 0);
    if (stored.kind === 'ok' || performance.now() > deadline) return stored;
    await sleep(RETRY_MS);
  }
}

function unproved({ check, format }: JoinParts, head: Head | null): StoreFault {
  if (head !== null && head.check !== check) {
    return fault(
      'cluster_refused',
      'the nodes of the cluster have another GATEHOUSE_MASTER_KEY; all nodes need the same',
    );
  }
  if (head !== null && head.format !== format) return otherFormat(head.format, format);
  return fault(
    'cluster_refused',
    'no node with this GATEHOUSE_MASTER_KEY wrote the key {gh:feed}:head, and no live one mends it; remove it if the store has no cluster',
  );
}

function otherFormat(format: string, own: string): StoreFault {
  return fault('cluster_refused', `the cluster's feed has format ${format}, and this build has format ${own}`);
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
