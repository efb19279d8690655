import type { ClusterAdmission } from '../cluster/admission/cluster-admission.ts';
import { type MeasuredLink, ROUND_TRIP_BOUNDS } from '../cluster/store/link.ts';
import type { Membership } from '../cluster/nodes/membership.ts';
import type { Peers } from '../cluster/nodes/peers.ts';
import type { Log } from '../observe/log.ts';
import type { Reading } from '../observe/metrics.ts';

/** Metrics of the main thread's link to the shared store. */
export function linkReadings(link: MeasuredLink): readonly Reading[] {
  return [
    {
      name: 'gatehouse_cluster_stores',
      help: 'Known primaries of the shared store.',
      kind: 'level',
      read: () => link.status().stores,
    },
    {
      name: 'gatehouse_cluster_stores_up',
      help: 'Primaries of the shared store that answer.',
      kind: 'level',
      read: () => link.status().storesUp,
    },
    {
      name: 'gatehouse_cluster_outages_total',
      help: 'Times that a primary of the shared store stopped answering.',
      kind: 'total',
      read: () => link.counts.opened,
    },
    {
      name: 'gatehouse_cluster_commands_total',
      help: 'Commands sent to the shared store.',
      kind: 'total',
      read: () => link.counts.commands,
    },
    {
      name: 'gatehouse_cluster_faults_total',
      help: 'Commands that failed: refused by the store, without a reply in time (unknown), or not sent (down).',
      kind: 'totals',
      label: 'fault',
      read: () => Object.entries(link.counts.faults),
    },
    {
      name: 'gatehouse_cluster_round_trip_seconds',
      help: 'Round trips to the shared store, seconds.',
      kind: 'histogram',
      read: () => {
        const { roundTrips, roundTripSeconds } = link.counts;
        return { bounds: ROUND_TRIP_BOUNDS, counts: roundTrips, sum: roundTripSeconds };
      },
    },
  ];
}

/** Metrics of admission over several nodes. */
export function admissionReadings(admission: Pick<ClusterAdmission, 'counts'>): readonly Reading[] {
  return [
    {
      name: 'gatehouse_cluster_alone_total',
      help: 'Requests admitted or refused by this node alone, because the shared store failed.',
      kind: 'total',
      read: () => admission.counts.alone,
    },
    {
      name: 'gatehouse_cluster_refused_total',
      help: 'Requests that strict mode refused, because the shared store failed.',
      kind: 'total',
      read: () => admission.counts.refused,
    },
    {
      name: 'gatehouse_cluster_ids_waiting',
      help: 'Request ids that wait to be written to the shared store.',
      kind: 'level',
      read: () => admission.counts.waiting,
    },
    {
      name: 'gatehouse_cluster_ids_dropped_total',
      help: 'Request ids that were not written to the shared store, because too many waited.',
      kind: 'total',
      read: () => admission.counts.dropped,
    },
  ];
}

/** Metrics of the other nodes, and of the questions between nodes. */
export function peerReadings(membership: Membership, peers: Pick<Peers, 'counts'>): readonly Reading[] {
  return [
    {
      name: 'gatehouse_cluster_nodes',
      help: 'Nodes of the cluster that are alive, with this one; 0 while this node has not joined.',
      kind: 'level',
      read: () => (membership.isJoined ? membership.peers().length + 1 : 0),
    },
    {
      name: 'gatehouse_cluster_nodes_missing',
      help: 'Nodes that hold decisions of the last day and cannot be asked.',
      kind: 'level',
      read: () => membership.missing().length,
    },
    {
      name: 'gatehouse_cluster_questions_total',
      help: 'Questions between the nodes by what became of them; unsupported and other_version: a node has another version.',
      kind: 'totals',
      label: 'result',
      read: () => {
        const { otherVersion, ...others } = peers.counts;
        return Object.entries({ ...others, other_version: otherVersion });
      },
    },
  ];
}

/** Kind of value → those of the store that were not believed. */
export type RefusedValues = Readonly<Record<string, () => number>>;

export function refusedReading(refused: RefusedValues): Reading {
  return {
    name: 'gatehouse_cluster_refused_values_total',
    help: 'Values of the shared store that no node has written for their place, or that were written again, by kind.',
    kind: 'totals',
    label: 'kind',
    read: () => Object.entries(refused).map(([kind, read]) => [kind, read()] as const),
  };
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
