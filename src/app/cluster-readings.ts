import type { ClusterAdmission } from '../cluster/admission/cluster-admission.ts';
import type { MeasuredLink } from '../cluster/store/link.ts';
import type { Membership } from '../cluster/nodes/membership.ts';
import type { Peers } from '../cluster/nodes/peers.ts';
import type { Log } from '../observe/log.ts';
import { histogram, level, type Reading, total, totals } from '../observe/reading.ts';

/** Metrics of the main thread's link to the shared store. */
export function linkReadings(link: MeasuredLink): readonly Reading[] {
  return [
    level('gatehouse_cluster_stores', 'Known primaries of the shared store.', () => link.status().stores),
    level('gatehouse_cluster_stores_up', 'Primaries of the shared store that answer.', () => link.status().storesUp),
    total(
      'gatehouse_cluster_outages_total',
      'Times that a primary of the shared store stopped answering.',
      () => link.counts.opened,
    ),
    total('gatehouse_cluster_commands_total', 'Commands sent to the shared store.', () => link.counts.commands),
    totals(
      'gatehouse_cluster_faults_total',
      'Commands that failed: refused by the store, without a reply in time (unknown), or not sent (down).',
      'fault',
      () => Object.entries(link.counts.faults),
    ),
    histogram(
      'gatehouse_cluster_round_trip_seconds',
      'Round trips to the shared store, seconds.',
      () => link.counts.roundTripSeconds,
    ),
  ];
}

/** Metrics of admission over several nodes. */
export function admissionReadings(admission: Pick<ClusterAdmission, 'counts'>): readonly Reading[] {
  return [
    total(
      'gatehouse_cluster_alone_total',
      'Requests admitted or refused by this node alone, because the shared store failed.',
      () => admission.counts.alone,
    ),
    total(
      'gatehouse_cluster_refused_total',
      'Requests that strict mode refused, because the shared store failed.',
      () => admission.counts.refused,
    ),
    level(
      'gatehouse_cluster_ids_waiting',
      'Request ids that wait to be written to the shared store.',
      () => admission.counts.waiting,
    ),
    total(
      'gatehouse_cluster_ids_dropped_total',
      'Request ids that were not written to the shared store, because too many waited.',
      () => admission.counts.dropped,
    ),
  ];
}

/** Metrics of the other nodes, and of the questions between nodes. */
export function peerReadings(membership: Membership, peers: Pick<Peers, 'counts'>): readonly Reading[] {
  return [
    level(
      'gatehouse_cluster_nodes',
      'Nodes of the cluster that are alive, with this one; 0 while this node has not joined.',
      () => (membership.isJoined ? membership.peers().length + 1 : 0),
    ),
    level(
      'gatehouse_cluster_nodes_missing',
      'Nodes that hold decisions of the last day and cannot be asked.',
      () => membership.missing().length,
    ),
    totals(
      'gatehouse_cluster_questions_total',
      'Questions between the nodes by what became of them; unsupported and other_version: a node has another version.',
      'result',
      () => {
        const { otherVersion, ...others } = peers.counts;
        return Object.entries({ ...others, other_version: otherVersion });
      },
    ),
  ];
}

/** Kind of value → those of the store that were not believed. */
export type RefusedValues = Readonly<Record<string, () => number>>;

export function refusedReading(refused: RefusedValues): Reading {
  return totals(
    'gatehouse_cluster_refused_values_total',
    'Values of the shared store that no node has written for their place, or that were written again, by kind.',
    'kind',
    () => Object.entries(refused).map(([kind, read]) => [kind, read()] as const),
  );
}

/** Choice: one line for what may come a thousand times a second. */
const LOGGED_MS = 60_000;

/** Logs refused values, each kind at most once a minute. */
export class RefusedLog {
  readonly #logged = new Map<string, { readonly count: number; readonly atMs: number }>();

  look(refused: RefusedValues, log: Pick<Log, 'warn'>): void {
    for (const [kind, read] of Object.entries(refused)) {
      const { count, atMs } = this.#logged.get(kind) ?? { count: 0, atMs: Number.NEGATIVE_INFINITY };
      const now = read();
      if (now === count || performance.now() - atMs < LOGGED_MS) continue;
      this.#logged.set(kind, { count: now, atMs: performance.now() });
      log.warn(
        { kind, values: now - count },
        'values of the shared store were refused: no node wrote them for their place, or they were written again',
      );
    }
  }
}
