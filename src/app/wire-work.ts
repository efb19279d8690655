import { ClusterDeliveries, type DeliveryLogReads } from '../cluster/reads/cluster-deliveries.ts';
import type { MeasuredLink } from '../cluster/store/link.ts';
import type { Membership } from '../cluster/nodes/membership.ts';
import type { Peers } from '../cluster/nodes/peers.ts';
import { openLink } from '../cluster/store/redis-link.ts';
import { SharedDeliveries } from '../cluster/deliveries/shared-deliveries.ts';
import type { NodeRole } from '../contract/node-roles.ts';
import type { EngineCluster } from '../extract/engine/engine-messages.ts';
import type { Log } from '../observe/log.ts';
import { level, type Reading, total } from '../observe/reading.ts';
import type { LiveNode } from '../state/tables/shared-jobs.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { Dispatcher } from '../webhooks/dispatcher.ts';
import { pendingRows } from '../webhooks/pending-rows.ts';
import { hasRole } from './roles.ts';
import type { ClusterSettings } from './settings.ts';
import type { OpenExtractions } from './wire-extractions.ts';

/** Wires deliveries and extraction jobs of a cluster: who runs them, and who takes them over. */

export interface SharedWorkParts {
  readonly nodes: { readonly membership: Membership; readonly peers: Peers };
  readonly settings: ClusterSettings;
  readonly roles: readonly NodeRole[];
  /** Encrypts what is put into the store. */
  readonly key: Buffer;
  readonly log: Log;
}

/** Choice: a dead node's jobs wait for this beside the time of the membership. */
const NODES_MS = 500;

export class SharedWork {
  /** Shows the pending deliveries of this node to the others. */
  readonly mirror: SharedDeliveries;
  readonly engine: EngineCluster;
  readonly #parts: SharedWorkParts;
  /** Rows may be large, and must never delay the admission of a request. */
  readonly #link: MeasuredLink;
  #timer: NodeJS.Timeout | null = null;
  #shown = '';
  #takenOver = 0;

  constructor(parts: SharedWorkParts) {
    const { nodes, settings, key, roles, log } = parts;
    const { membership } = nodes;
    this.#parts = parts;
    this.#link = openLink(settings);
    const { urls, user, password } = settings;
    this.engine = { urls, user, password, node: membership.id, key };
    this.mirror = new SharedDeliveries({
      link: this.#link,
      key,
      node: membership.id,
      sends: hasRole(roles, 'deliver'),
      isJoined: () => membership.isJoined,
      senders: () => membership.peers().flatMap(({ id, roles: theirs }) => (theirs.includes('deliver') ? id : [])),
      storeNowMs: () => Math.round(membership.storeNowMs),
      nowMs: () => Date.now(),
      onTakenOver: (node, deliveries) => {
        this.#takenOver += deliveries;
        log.warn({ node, deliveries }, 'deliveries of another node are continued here');
      },
      onUnreadable: (node, deliveries) =>
        log.error({ node, deliveries }, 'a newer build wrote the deliveries of a node that is gone; upgrade this node'),
    });
  }

  get readings(): readonly Reading[] {
    return [
      total(
        'gatehouse_cluster_deliveries_taken_over_total',
        'Deliveries of other nodes that this one has continued.',
        () => this.#takenOver,
      ),
      level(
        'gatehouse_cluster_deliveries_held',
        '1 while no attempt begins because the shared store does not answer.',
        () => (this.mirror.isHeldUp ? 1 : 0),
      ),
      level(
        'gatehouse_cluster_unreadable_deliveries',
        'Deliveries of nodes that are gone which this node cannot read, because a newer build wrote them.',
        () => this.mirror.unreadable,
      ),
    ];
  }

  /** Returns the reads of the delivery logs of all nodes. */
  reads(own: DeliveryLogReads): ClusterDeliveries {
    return new ClusterDeliveries(own, this.#parts.nodes.peers);
  }

  /** Begins to take over, once deliveries and jobs of the last run are loaded. */
  start(dispatcher: Dispatcher, extractions: OpenExtractions, { deliveries }: Pick<Store, 'deliveries'>): void {
    this.mirror.start({
      pending: () => pendingRows(deliveries),
      find: ({ customer, id }) => deliveries.find(customer, id),
      adopt: (rows) => dispatcher.adopt(rows),
      handOut(rows) {
        dispatcher.prefetch.offer(rows);
        for (const endpoint of new Set(rows.map(({ endpointId }) => endpointId))) dispatcher.prefetch.look(endpoint);
      },
      drop: (rows) => dispatcher.drop(rows),
      retryOf: (endpointId) => dispatcher.subscribers.find(endpointId)?.webhook.retry ?? 'fast',
      lease: (untilMs) => dispatcher.lease(untilMs),
    });
    this.#timer = setInterval(() => this.#showNodes(extractions), NODES_MS).unref();
    this.#showNodes(extractions);
  }

  /** Call when deliveries have stopped. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.mirror.close();
    await this.#link.close();
  }

  /** Tells the extraction thread which nodes are alive. While this node does not reach the store, it knows nothing about the others. */
  #showNodes(extractions: OpenExtractions): void {
    const { membership } = this.#parts.nodes;
    if (!membership.isJoined) return;
    const own = { id: membership.id, runsJobs: hasRole(this.#parts.roles, 'extract') };
    const others = membership.peers().map(({ id, roles }): LiveNode => ({ id, runsJobs: roles.includes('extract') }));
    const nodes = [own, ...others];
    const shown = JSON.stringify(nodes);
    if (shown === this.#shown) return;
    this.#shown = shown;
    extractions.setNodes(nodes);
  }
}
