import type { AssetStatus } from '../assets/asset-messages.ts';
import { ClusterAdmission, type LocalVerdicts } from '../cluster/admission/cluster-admission.ts';
import { clusterPurpose } from '../cluster/store/encrypted-values.ts';
import type { MeasuredLink } from '../cluster/store/link.ts';
import { readNodeId } from '../cluster/nodes/node-id.ts';
import type { NodeFacts } from '../cluster/nodes/node-payload.ts';
import { openLink } from '../cluster/store/redis-link.ts';
import type { Log } from '../observe/log.ts';
import type { Reading } from '../observe/reading.ts';
import { ClusterNodes } from './cluster-nodes.ts';
import { admissionReadings, linkReadings, RefusedLog, refusedReading, type RefusedValues } from './cluster-readings.ts';
import type { Installation } from './installation.ts';
import type { ClusterSettings, Settings } from './settings.ts';

/** Choice: a store on the same network answers within milliseconds; a start does not wait longer for one that is down. */
const FIRST_ANSWER_MS = 1_000;
const POLL_MS = 10;
/** How often the state is compared with the logged one. */
const WATCH_MS = 500;
/** How long a request that was decided alone shows in the state. */
const ALONE_SHOWN_MS = 5_000;

/** What the parts of the cluster on the main thread share. */
interface ClusterParts {
  readonly settings: ClusterSettings;
  readonly id: string;
  readonly nodeId: string;
  readonly nodes: ClusterNodes;
  readonly link: MeasuredLink;
  readonly keyFor: Installation['keyFor'];
}

/** What a node says about itself, besides its roles. */
export type SelfFacts = Pick<NodeFacts, 'version' | 'url' | 'startedAtMs'>;

/**
 * Opens the link to the shared store and joins the other nodes; null on a node that works alone. Waits a moment for the store. Without it
 * the node starts degraded, or refuses decisions in strict mode, until the store answers. Throws a StartFault if the cluster refuses the
 * node.
 */
export async function openCluster(
  { cluster: settings, dataDir, roles }: Settings,
  { keyFor, store, feed }: Pick<Installation, 'keyFor' | 'store' | 'feed'>,
  self: SelfFacts,
  log: Log,
): Promise<Cluster | null> {
  if (settings === null) return null;
  const link = openLink(settings);
  const untilMs = performance.now() + FIRST_ANSWER_MS;
  while (!link.isUp && performance.now() < untilMs) await new Promise((done) => setTimeout(done, POLL_MS));
  const { id, home } = readNodeId(dataDir, settings.nodeId);
  const feedPosition = (): number => feed?.position ?? 0;
  const facts = (): NodeFacts => ({ ...self, roles, feedPosition: String(feedPosition()) });
  const clusterId = feed?.cluster ?? '';
  const own = { settings, id, home, cluster: clusterId };
  const nodes = new ClusterNodes({ ...own, keyFor, turns: store.turns, feedPosition, facts, log });
  await nodes.join();
  return new Cluster({ settings, id: clusterId, nodeId: id, nodes, link, keyFor }, log);
}

/** The adapters of ports over the shared store, one method for each. The caller falls back to the local adapter without a cluster. */
export class Cluster {
  readonly #parts: ClusterParts;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  readonly #readings: Reading[];
  #admission: ClusterAdmission | null = null;
  readonly #refusedLog = new RefusedLog();
  #refused: RefusedValues;
  /** As logged last. */
  #state: AssetStatus['state'] = 'ok';

  constructor(parts: ClusterParts, log: Log) {
    this.#parts = parts;
    this.#log = log;
    this.#readings = [...linkReadings(parts.link), ...parts.nodes.readings];
    const { membership, peers } = parts.nodes;
    this.#refused = { heartbeat: () => membership.refused, message: () => peers.counts.dropped };
    this.#watch();
    this.#timer = setInterval(() => this.#watch(), WATCH_MS).unref();
  }

  /** Key of the values that nodes put into the store. */
  get valuesKey(): Buffer {
    return this.#parts.keyFor(clusterPurpose(this.#parts.id));
  }

  /** Who else is in the cluster, and what this node asks them. */
  get nodes(): ClusterNodes {
    return this.#parts.nodes;
  }

  get readings(): readonly Reading[] {
    return this.#readings;
  }

  /** The main thread's link. */
  get link(): MeasuredLink {
    return this.#parts.link;
  }

  /** Whether this node accepts no decision: strict, and without the store. */
  get isClosed(): boolean {
    return this.#parts.settings.isStrict && !this.#parts.link.isUp;
  }

  admission(local: LocalVerdicts): ClusterAdmission {
    const { settings, nodeId, link, keyFor } = this.#parts;
    const { isStrict } = settings;
    this.#admission = new ClusterAdmission({ link, local, hashKey: keyFor('replay-hash'), nodeId, isStrict });
    this.#readings.push(...admissionReadings(this.#admission));
    void this.#admission.prepare();
    return this.#admission;
  }

  /** Counts and logs what other parts refuse of the store, besides heartbeats and messages. Call once. */
  countRefused(others: RefusedValues): void {
    this.#refused = { ...this.#refused, ...others };
    this.#readings.push(refusedReading(this.#refused));
  }

  /** The layer `cluster` of `/readyz`; its detail is public. */
  status(): AssetStatus {
    const { stores, storesUp } = this.#parts.link.status();
    const isAlone = performance.now() - (this.#admission?.counts.lastFaultAtMs ?? -Infinity) < ALONE_SHOWN_MS;
    if (storesUp > 0 && storesUp === stores && !isAlone) return { state: 'ok', version: 'redis', detail: '' };
    const without = this.#parts.settings.isStrict ? 'refused' : 'decided by this node alone';
    const detail =
      storesUp < stores || stores === 0
        ? `${storesUp} of ${Math.max(1, stores)} primaries of the shared store answer; other requests are ${without}`
        : `the shared store did not count some requests of the last seconds, which were ${without}`;
    return { state: 'broken', version: null, detail };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#admission?.close();
    await this.#parts.nodes.close();
    await this.#parts.link.close();
  }

  /** Logs each change of the state, with the addresses that the public text omits. */
  #watch(): void {
    this.#refusedLog.look(this.#refused, this.#log);
    const { state, detail } = this.status();
    if (state === this.#state) return;
    this.#state = state;
    const { details, refusal } = this.#parts.link.status();
    if (state === 'ok') this.#log.info('the shared store answers');
    else this.#log.warn({ detail, stores: details, refusal }, 'the shared store fails');
  }
}
