import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { durably, fault, type StoreFault } from '../../state/tables/durable.ts';
import { holdsCustomers } from '../../state/tables/change-tables.ts';
import { MASTER_KEY_NAME } from '../../state/repair/master-key.ts';
import { readMarker } from '../../state/repair/marker.ts';
import { openStore, type Store } from '../../state/feed/open-store.ts';
import { acquireServerLock, SERVER_LOCK_NAMES } from '../../state/repair/server-lock.ts';
import { namesIn, stampOf, syncPath } from '../../state/tables/write-files.ts';
import type { Link } from '../store/link.ts';
import { LEAVE_SCRIPT } from '../nodes/membership-beat.ts';
import type { NodeIdentity } from '../nodes/node-id.ts';
import { NODES_KEY } from '../store/store-keys.ts';
import { REPLICAS_KEY } from './feed-keys.ts';
import { callStore, scriptCommand, type StoreResult } from '../store/store-calls.ts';
import { readStream } from './feed-store.ts';
import { readReplicas, type ShownReplica } from './replicas.ts';

/** Commands about the cluster of a data directory. The server of the directory must not run, except for `status`. */

export interface NodeStatus extends ShownReplica {
  /** Changes that it has not applied. */
  readonly behind: number;
}

/** The cluster as the store has it, not proved. */
export interface ShownCluster {
  readonly cluster: string;
  /** Number of the newest change. */
  readonly number: number;
}

export type Status =
  | { readonly kind: 'ok'; readonly head: ShownCluster | null; readonly nodes: readonly NodeStatus[] }
  | StoreFault;

export async function clusterStatus(link: Link): Promise<Status> {
  const [head, replicas] = [await readCluster(link), await readReplicas(link)];
  if (head.kind === 'away') return away(head.detail);
  if (replicas === null) return away('the nodes cannot be read');
  const newest = head.value?.number ?? 0;
  const nodes = replicas.map((replica) => ({ ...replica, behind: Math.max(0, newest - replica.number) }));
  return { kind: 'ok', head: head.value, nodes };
}

export type Prospect =
  | {
      readonly kind: 'ok';
      /** Action of the next start. */
      readonly will: 'found' | 'found_empty' | 'join' | 'continue' | 'replace';
      /** Folder with the old data, if it was moved aside. */
      readonly aside: string | null;
    }
  | StoreFault;

/**
 * Returns what the next start with this store does. `isReplacing`: makes it take the cluster's data: the present data is moved aside,
 * unless it is of this cluster; then only the tables that all nodes share are replaced, and decisions and deliveries stay.
 */
export async function prepareJoin(link: Link, dataDir: string, isReplacing: boolean, nowMs: number): Promise<Prospect> {
  const head = await readCluster(link);
  if (head.kind === 'away') return away(head.detail);
  const cluster = head.value?.cluster ?? null;
  if (readMarker(dataDir).kind === 'absent') {
    return { kind: 'ok', will: cluster === null ? 'found_empty' : 'join', aside: null };
  }
  return whileStopped(dataDir, async () => {
    const own = await inspect(dataDir, async (store) => {
      const position = store.positions?.read() ?? null;
      if (isReplacing && position !== null && position.cluster === cluster) {
        const written = await durably(store.state, () => store.positions?.put({ ...position, isLoading: true }));
        if (written.kind === 'fault') return written;
      }
      return { kind: 'ok' as const, position, hasData: holdsCustomers(store.state) };
    });
    if (own.kind === 'fault') return own;
    const { position, hasData } = own;
    if (cluster === null) {
      if (isReplacing) return fault('cluster_refused', 'the store has no cluster whose data could replace this one');
      return { kind: 'ok', will: position !== null ? 'continue' : hasData ? 'found' : 'found_empty', aside: null };
    }
    if (position?.cluster === cluster) {
      return { kind: 'ok', will: isReplacing ? 'replace' : 'continue', aside: null };
    }
    if (isReplacing) return { kind: 'ok', will: 'join', aside: moveAside(dataDir, nowMs) };
    if (position === null && !hasData) return { kind: 'ok', will: 'join', aside: null };
    const what = position === null ? 'customers that the cluster does not know' : 'the data of another cluster';
    return fault('cluster_refused', `${dataDir} has ${what}; with --replace it is moved aside and replaced`);
  });
}

async function readCluster(link: Link): Promise<StoreResult<ShownCluster | null>> {
  const stored = await readStream(link, 0);
  if (stored.kind === 'away' || stored.value.head === null)
    return stored.kind === 'away' ? stored : { kind: 'ok', value: null };
  const { head, top } = stored.value;
  return { kind: 'ok', value: { cluster: head.cluster, number: top?.number ?? head.number } };
}

/**
 * Makes a data directory work alone, with everything that it has. Returns whether it was in a cluster. `isForced`: whatever state it is in,
 * also with the tables as a snapshot that was interrupted has left them.
 */
export async function leaveCluster(
  dataDir: string,
  isForced = false,
): Promise<{ readonly kind: 'ok'; readonly was: boolean } | StoreFault> {
  return whileStopped(dataDir, () =>
    inspect(dataDir, async (store) => {
      const position = isForced ? FORCED : (store.positions?.read() ?? null);
      if (position === null) return { kind: 'ok', was: false };
      if (position.isLoading) return fault('cluster_refused', INCOMPLETE);
      const written = await durably(store.state, () => store.positions?.remove());
      return written.kind === 'fault' ? written : { kind: 'ok', was: true };
    }),
  );
}

const FORCED = { isLoading: false };
const INCOMPLETE =
  'the data is incomplete: a start in the cluster has to load it first. If there is no cluster any more, `gatehouse cluster leave --force` ' +
  'keeps what there is; restore a backup afterwards';

/** Makes the other nodes take over the work of a node that is gone for good, and removes its reports. */
export async function forgetNode(link: Link, { id, home }: NodeIdentity): Promise<void> {
  await callStore(link, scriptCommand(LEAVE_SCRIPT, [NODES_KEY], [id, home]), Number);
  await callStore(link, { key: REPLICAS_KEY, args: ['HDEL', REPLICAS_KEY, id] }, Number);
}

async function whileStopped<T>(dataDir: string, work: () => Promise<T>): Promise<T | StoreFault> {
  const locked = await acquireServerLock(dataDir, 0);
  if (locked.kind === 'fault') return locked;
  try {
    return await work();
  } finally {
    await locked.lock.release();
  }
}

async function inspect<T>(dataDir: string, work: (store: Store) => Promise<T>): Promise<T | StoreFault> {
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') return opened;
  try {
    return await work(opened.store);
  } finally {
    await opened.store.close();
  }
}

/** Belongs to the machine, not to the data. */
const STAYS: ReadonlySet<string> = new Set([MASTER_KEY_NAME, 'geoip', 'node-id', ...SERVER_LOCK_NAMES]);
const ASIDE = 'replaced-';

function moveAside(dataDir: string, nowMs: number): string {
  let name = `${ASIDE}${stampOf(nowMs)}`;
  while (existsSync(join(dataDir, name))) name += '-2';
  mkdirSync(join(dataDir, name));
  // The marker goes last, so that a directory without one holds no data.
  const names = namesIn(dataDir).filter((one) => !STAYS.has(one) && !one.startsWith(ASIDE));
  for (const one of names.sort((a, b) => Number(a === 'gatehouse.json') - Number(b === 'gatehouse.json')))
    renameSync(join(dataDir, one), join(dataDir, name, one));
  syncPath(dataDir);
  return name;
}

function away(detail: string): StoreFault {
  return fault('cluster_unavailable', `the cluster's store does not answer: ${detail}`);
}
