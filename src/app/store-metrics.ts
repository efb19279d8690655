import type { ConnectionRoom } from '../http/connection-room.ts';
import type { Reading } from '../observe/metrics.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import type { StoreNotice } from '../state/repair/ensure-usable.ts';
import { ENVIRONMENT_NAMES, ENVIRONMENTS } from '../state/tables/table-names.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { VelocityMemory } from '../velocity/memory.ts';
import { readVelocityStats } from '../velocity/stats.ts';
import { type MarkCounter, StreamMarks } from '../velocity/stream-marks.ts';

/** Metrics of the connections to the service's port. */
export function connectionReadings(connections: ConnectionRoom | null): readonly Reading[] {
  if (connections === null) return [];
  return [
    {
      name: 'gatehouse_connections',
      help: 'Open connections of clients.',
      kind: 'level',
      read: () => connections.open,
    },
    {
      name: 'gatehouse_connections_refused_total',
      help: 'Connections closed at once, by the bound that they exceeded: source, total or rate.',
      kind: 'totals',
      label: 'bound',
      read: () => Object.entries(connections.refused),
    },
  ];
}

/** Whether the start repaired or restored the store, so that an alert does not depend on somebody reading the log. */
export function repairReading(repairs: readonly StoreNotice[]): Reading {
  const codes: readonly StoreNotice['code'][] = [
    'backup_restored',
    ...ENVIRONMENT_NAMES.map((name): StoreNotice['code'] =>
      ENVIRONMENTS[name].backups === 'all' ? `${name}_restored` : `${name}_begun_anew`,
    ),
  ];
  return {
    name: 'gatehouse_store_repairs_total',
    help: 'Repairs of the store by this start, by their code in the log.',
    kind: 'totals',
    label: 'code',
    read: () => codes.map((code) => [code, repairs.filter((repair) => repair.code === code).length]),
  };
}

/** Metrics of the velocity store, read at each scrape. */
export function velocityReadings(memory: VelocityMemory): readonly Reading[] {
  return [
    {
      name: 'gatehouse_velocity_bytes',
      help: 'Bytes of the velocity table.',
      kind: 'level',
      read: () => readVelocityStats(memory).bytes,
    },
    {
      name: 'gatehouse_velocity_records',
      help: 'Records in use in the velocity table.',
      kind: 'level',
      read: () => readVelocityStats(memory).used,
    },
    {
      name: 'gatehouse_velocity_capacity_records',
      help: 'Capacity of the velocity table in records.',
      kind: 'level',
      read: () => readVelocityStats(memory).capacity,
    },
    {
      name: 'gatehouse_velocity_evictions_total',
      help: 'Records evicted from the velocity table before they expired.',
      kind: 'total',
      read: () => readVelocityStats(memory).evicted,
    },
    {
      name: 'gatehouse_velocity_lost_total',
      help: 'Updates lost to compare-and-swap contention.',
      kind: 'total',
      read: () => readVelocityStats(memory).lost,
    },
    {
      name: 'gatehouse_velocity_public_records',
      help: 'Records in the velocity table created by requests of public keys.',
      kind: 'level',
      read: () => readVelocityStats(memory).publicUsed,
    },
    {
      name: 'gatehouse_velocity_refused_total',
      help: 'Records not created because a customer, or public keys, had used up their share of a full velocity table.',
      kind: 'total',
      read: () => readVelocityStats(memory).refused,
    },
  ];
}

/** Metrics of the events that nodes of a cluster exchange. */
export function exchangeReadings({ marks }: VelocityMemory): readonly Reading[] {
  const counters = new StreamMarks(marks);
  const reading = (kind: 'level' | 'total', name: string, counter: MarkCounter, help: string): Reading => ({
    name: `gatehouse_velocity_exchange_${name}`,
    help,
    kind,
    read: () => counters.count(counter),
  });
  return [
    reading('total', 'alone_total', 'alone', 'Events that were counted without all events of the other nodes.'),
    reading('total', 'applied_total', 'applied', 'Events and outcomes of other nodes that this node has counted.'),
    reading(
      'total',
      'entries_sent_total',
      'entriesSent',
      'Entries sent to the streams, one for each batch and customer.',
    ),
    reading('total', 'bytes_sent_total', 'bytesSent', 'Encrypted bytes sent to the streams.'),
    reading('total', 'unreadable_total', 'unreadable', 'Entries of another version or another master key, left out.'),
    reading('total', 'gaps_total', 'gaps', 'Streams whose entries were removed before this node had read them.'),
    reading('total', 'too_old_total', 'tooOld', 'Entries that came 15 minutes after they were written, left out.'),
    reading('total', 'dropped_total', 'dropped', 'Events and outcomes that other nodes will not get.'),
    reading('level', 'waiting', 'waiting', 'Events and outcomes that wait for the store.'),
    reading('level', 'unread_streams', 'unread', 'Streams of which the background reader has not reached the end.'),
  ];
}

/** Metrics of the decision log and the registry's queue, read at each scrape. */
export function decisionReadings(
  decisions: DecisionLog,
  { shadowReviews, sightingQueue }: Pick<Store, 'shadowReviews' | 'sightingQueue'>,
): readonly Reading[] {
  return [
    {
      name: 'gatehouse_decision_log_rows',
      help: 'Decisions in the log.',
      kind: 'level',
      read: () => decisions.stats().rows,
    },
    {
      name: 'gatehouse_decision_log_bytes',
      help: 'Bytes of the decisions in the log.',
      kind: 'level',
      read: () => decisions.stats().bytes,
    },
    {
      name: 'gatehouse_decision_log_waiting_bytes',
      help: 'Memory of log blocks that are growing or waiting to be written, bytes.',
      kind: 'level',
      read: () => decisions.stats().pendingBytes,
    },
    {
      name: 'gatehouse_decision_log_dropped_total',
      help: 'Decisions that could not be logged.',
      kind: 'total',
      read: () => decisions.stats().dropped,
    },
    {
      name: 'gatehouse_decision_log_damaged_blocks_total',
      help: 'Blocks of the log that could not be read.',
      kind: 'total',
      read: () => decisions.stats().damagedBlocks,
    },
    {
      name: 'gatehouse_shadow_reviews_dropped_total',
      help: 'Decisions that did not fit the shadow review queue.',
      kind: 'total',
      read: () => shadowReviews.dropped,
    },
    {
      name: 'gatehouse_shadow_reviews_evicted_total',
      help: 'Rows evicted from a full shadow review queue before their retention ended.',
      kind: 'total',
      read: () => shadowReviews.evicted,
    },
    {
      name: 'gatehouse_sightings_waiting',
      help: 'BLOCKs waiting to be recorded for the registry.',
      kind: 'level',
      read: () => sightingQueue.waiting,
    },
    {
      name: 'gatehouse_sightings_dropped_total',
      help: 'BLOCKs not recorded for the registry because the queue was full.',
      kind: 'total',
      read: () => sightingQueue.dropped,
    },
  ];
}
