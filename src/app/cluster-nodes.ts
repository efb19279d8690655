import { ClusterHistory } from '../cluster/reads/cluster-history.ts';
import { ClusterKeyUse } from '../cluster/reads/cluster-key-use.ts';
import { ClusterOutcomes } from '../cluster/reads/cluster-outcomes.ts';
import { ClusterStats } from '../cluster/reads/cluster-stats.ts';
import { clusterPurpose } from '../cluster/store/encrypted-values.ts';
import type { MeasuredLink } from '../cluster/store/link.ts';
import { Membership } from '../cluster/nodes/membership.ts';
import type { NodeFacts } from '../cluster/nodes/node-payload.ts';
import { Peers } from '../cluster/nodes/peers.ts';
import { openLink, openWaitingLink } from '../cluster/store/redis-link.ts';
import { SpreadChanges } from '../cluster/reads/spread-changes.ts';
import { SharedSignIns, type SignInOptions } from '../cluster/reads/shared-sign-ins.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import type { DecisionStats } from '../history/stats/decision-stats.ts';
import type { Log } from '../observe/log.ts';
import type { Reading } from '../observe/reading.ts';
import type { KeyUseReader } from '../ports/key-use.ts';
import type { ReportedOutcomes } from '../ports/outcome-reports.ts';
import type { SignInShare } from '../ports/sign-ins.ts';
import type { Slices, Turns } from '../state/tables/turns.ts';
import { peerReadings } from './cluster-readings.ts';
import type { Installation } from './installation.ts';
import { EXIT_SETTINGS, type ClusterSettings } from './settings.ts';
import { StartFault } from './start-fault.ts';

export interface NodesOptions {
  readonly settings: ClusterSettings;
  readonly id: string;
  readonly home: string;
  /** Id of the cluster. */
  readonly cluster: string;
  readonly keyFor: Installation['keyFor'];
  readonly turns: Turns;
  /** Number of the last change of the cluster that this node has applied. */
  readonly feedPosition: () => number;
  readonly facts: () => NodeFacts;
  readonly log: Log;
}

/**
 * What this node knows of the others, and what it asks them. It has links of its own: answers may be large, and must never delay the
 * admission of a request.
 */
export class ClusterNodes {
  readonly membership: Membership;
  readonly peers: Peers;
  readonly spread: SpreadChanges;
  readonly readings: readonly Reading[];
  readonly #options: NodesOptions;
  readonly #link: MeasuredLink;
  #signIns: SharedSignIns | null = null;

  constructor(options: NodesOptions) {
    const { settings, id, home, keyFor, facts, log } = options;
    this.#options = options;
    const key = keyFor(clusterPurpose(options.cluster));
    this.#link = openLink(settings);
    this.membership = new Membership({
      link: this.#link,
      id,
      home,
      key,
      facts,
      onReplaced: (detail) => end(detail, log),
    });
    const { membership } = this;
    this.peers = new Peers({
      membership,
      link: this.#link,
      waiting: openWaitingLink(settings),
      key,
      onOtherVersion: ({ node, name }) =>
        log.warn(
          { node, question: name },
          'a node of another version cannot be asked; results are partial until all have one version',
        ),
    });
    this.spread = new SpreadChanges({ peers: this.peers, position: options.feedPosition });
    this.readings = peerReadings(membership, this.peers);
    membership.onChange((event) => {
      const { id: node, epoch, url, version } = event.node;
      if (event.kind === 'appeared') log.info({ node, epoch, url, version }, 'a node of the cluster appeared');
      else if (event.isOrderly) log.info({ node, epoch }, 'a node of the cluster stopped');
      else log.warn({ node, epoch }, 'a node of the cluster is gone');
    });
  }

  /** Joins the cluster. Throws a StartFault if the cluster refuses this node; without the store the node joins later. */
  async join(): Promise<void> {
    const untilMs = performance.now() + FIRST_ANSWER_MS;
    while (!this.#link.isUp && performance.now() < untilMs) await new Promise((done) => setTimeout(done, POLL_MS));
    const joined = await this.membership.join();
    if (joined.kind === 'ok') this.#options.log.info({ node: this.membership.id }, 'joined the cluster');
    else if (joined.code === 'unreachable')
      this.#options.log.warn({ detail: joined.detail }, 'joins the cluster later');
    else {
      await this.close();
      throw new StartFault(joined.detail, EXIT_SETTINGS);
    }
  }

  history(log: DecisionLog): ClusterHistory {
    return new ClusterHistory(log, this.peers, this.#options.turns, this.membership.id);
  }

  stats(stats: DecisionStats): ClusterStats {
    return new ClusterStats(stats, this.peers, this.#options.turns);
  }

  outcomes(own: ReportedOutcomes<Slices>): ReportedOutcomes<Slices> {
    return new ClusterOutcomes(own, this.peers, this.#options.turns);
  }

  keyUse(own: KeyUseReader): KeyUseReader {
    return new ClusterKeyUse(own, this.peers);
  }

  /** Makes these sessions and codes those of all nodes. */
  signIns(own: Pick<SignInOptions, 'sessions' | 'codes'>): SignInShare {
    this.#signIns = new SharedSignIns({ ...own, peers: this.peers });
    return this.#signIns;
  }

  /** Begins to answer the questions of other nodes; call when everything that answers is open. */
  start(): void {
    this.peers.start();
    void this.#signIns?.sync();
  }

  async close(): Promise<void> {
    this.#signIns?.close();
    await this.peers.close();
    await this.membership.close();
    await this.#link.close();
  }
}

const FIRST_ANSWER_MS = 1_000;
const POLL_MS = 10;

/** Another node has this id while the cluster had given this one up: two nodes of one id would mix up their answers. */
function end(detail: string, log: Log): void {
  log.fatal({ detail }, 'the cluster refuses this node; stopping');
  process.kill(process.pid, 'SIGTERM');
}
