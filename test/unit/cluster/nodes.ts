import { randomBytes } from 'node:crypto';
import { onTestFinished, vi } from 'vitest';
import { ClusterHistory } from '../../../src/cluster/reads/cluster-history.ts';
import { ClusterStats } from '../../../src/cluster/reads/cluster-stats.ts';
import type { Link } from '../../../src/cluster/store/link.ts';
import { Membership } from '../../../src/cluster/nodes/membership.ts';
import { Peers } from '../../../src/cluster/nodes/peers.ts';
import type { DecisionLog } from '../../../src/history/decision-log.ts';
import type { DecisionStats } from '../../../src/history/stats/decision-stats.ts';
import { openDecisionLog, openDecisionStats } from '../../../src/history/open-decision-log.ts';
import type { Store } from '../../../src/state/feed/open-store.ts';
import { Turns } from '../../../src/state/tables/turns.ts';
import { open, tempFolder } from '../state/support.ts';
import type { StoreServer } from '../../support/store-links.ts';

/** The key that all nodes of a test share. */
export const CLUSTER_KEY = Buffer.alloc(32, 5);

/** A node in this process: its own data directory, links and identity. */
export interface TestNode {
  readonly id: string;
  readonly space: number;
  readonly folder: string;
  readonly store: Store;
  readonly log: DecisionLog;
  readonly stats: DecisionStats;
  readonly link: Counted;
  readonly membership: Membership;
  readonly peers: Peers;
  readonly history: ClusterHistory;
  readonly allStats: ClusterStats;
  /** What nodes of other versions made impossible. */
  readonly otherVersions: unknown[];
  /** Stops to read, to answer and to beat, as a killed process does. */
  kill(): Promise<void>;
  /** As a shutdown does. */
  stop(): Promise<void>;
}

export interface NodeOptions {
  /** Nodes in one space see each other; a new one by default. */
  readonly space?: number;
  /** Data directories; temporary ones by default. */
  readonly folders?: readonly string[];
  readonly beatMs?: number;
  readonly goneMs?: number;
}

/** Opens nodes that see each other. They leave at the end of the test. */
export async function openNodes(server: StoreServer, count: number, options: NodeOptions = {}): Promise<TestNode[]> {
  const space = options.space ?? server.newSpace();
  const folders = Array.from({ length: count }, (_, n) => options.folders?.[n]);
  const nodes = await Promise.all(folders.map((folder) => openNode(server, { ...options, space }, folder)));
  await seeEachOther(nodes);
  return nodes;
}

export async function seeEachOther(nodes: readonly TestNode[]): Promise<void> {
  await vi.waitFor(
    async () => {
      await Promise.all(nodes.map(({ membership }) => membership.beat()));
      for (const { membership, id } of nodes) {
        const seen = membership.peers().map((peer) => peer.id);
        const lacks = nodes.filter((other) => other.id !== id && !seen.includes(other.id));
        if (lacks.length > 0) throw new Error(`${id} does not see ${lacks.length} nodes`);
      }
    },
    { timeout: 10_000 },
  );
}

export async function openNode(
  server: StoreServer,
  options: NodeOptions & { readonly space: number },
  folder = tempFolder(),
): Promise<TestNode> {
  const { space, beatMs = 100, goneMs = 60_000 } = options;
  const id = `node-${randomBytes(4).toString('hex')}`;
  const store = open(folder);
  const log = openDecisionLog(store);
  const stats = openDecisionStats(store);
  const link = counted(await server.link(space));
  const facts = { version: '1.0.0', roles: [], url: '', startedAtMs: 0, feedPosition: '' };
  const home = randomBytes(16).toString('hex');
  const membership = new Membership({ link, id, home, key: CLUSTER_KEY, facts: () => facts, beatMs, goneMs });
  const joined = await membership.join();
  if (joined.kind === 'fault') throw new Error(joined.detail);
  const otherVersions: unknown[] = [];
  const onOtherVersion = (other: unknown): void => void otherVersions.push(other);
  const waiting = await server.link(space, true);
  const peers = new Peers({ membership, link, waiting, key: CLUSTER_KEY, onOtherVersion });
  const turns = new Turns();
  const history = new ClusterHistory(log, peers, turns, id);
  const allStats = new ClusterStats(stats, peers, turns);
  peers.start();
  let isKilled = false;
  const kill = async (): Promise<void> => {
    if (isKilled) return;
    isKilled = true;
    link.isCut = true;
    await peers.close();
    await membership.close();
  };
  let stopping: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    if (!isKilled) await peers.close();
    link.isCut = false;
    await membership.close(true);
    await log.close();
    await stats.close();
    await store.close();
  };
  const stopOnce = (): Promise<void> => (stopping ??= stop());
  onTestFinished(stopOnce);
  return {
    id,
    space,
    folder,
    store,
    log,
    stats,
    link,
    membership,
    peers,
    history,
    allStats,
    otherVersions,
    kill,
    stop: stopOnce,
  };
}

/** A link that counts its round trips and can be interrupted. */
export interface Counted extends Link {
  isCut: boolean;
  sends: number;
}

function counted(link: Link): Counted {
  const own: Counted = {
    isCut: false,
    sends: 0,
    isUp: true,
    send(commands, deadlineMs) {
      own.sends++;
      if (!own.isCut) return link.send(commands, deadlineMs);
      return Promise.resolve(commands.map(() => ({ kind: 'fault', what: 'unknown', detail: 'cut' }) as const));
    },
    close: () => link.close(),
  };
  return own;
}
