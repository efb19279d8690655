import type { AttributeCounts } from '../assets/attribute-counts.ts';
import type { OpenConnections } from '../http/connection-room.ts';
import { level, type Reading, total, totals } from '../observe/reading.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import type { StoreNotice } from '../state/repair/ensure-usable.ts';
import { ENVIRONMENT_NAMES, ENVIRONMENTS } from '../state/tables/table-names.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { VelocityMemory } from '../velocity/memory.ts';
import { readVelocityStats } from '../velocity/stats.ts';
import { type MarkCounter, StreamMarks } from '../velocity/stream-marks.ts';

/** Metrics of the connections to the service's port. */
export function connectionReadings(connections: OpenConnections | null): readonly Reading[] {
  if (connections === null) return [];
  return [
    level('gatehouse_connections', 'Open connections of clients.', () => connections.open),
    totals(
      'gatehouse_connections_refused_total',
      'Connections closed at once, by the bound that they exceeded: source, total or rate.',
      'bound',
      () => Object.entries(connections.refused),
    ),
  ];
}

/** `words`: see `ServiceParts.cellWords`. */
export function cellReading(words: readonly Int32Array<SharedArrayBuffer>[]): Reading {
  return totals(
    'gatehouse_cell_decisions_total',
    'Decisions by the cell that made them; the main thread makes the others.',
    'cell',
    () => words.map((word, cell) => [String(cell), Atomics.load(word, 0) >>> 0] as const),
  );
}

/** What requests have and does not count. */
export function attributeReadings(attributes: Pick<AttributeCounts, 'mismatches' | 'ignored'>): readonly Reading[] {
  return [
    totals(
      'gatehouse_attribute_mismatches_total',
      'Attributes of requests that have another type than the policy declares, by their name; the first 64 names.',
      'name',
      () => [...attributes.mismatches],
    ),
    totals(
      'gatehouse_ignored_members_total',
      'Members of decide requests that nothing reads, by their name; the first 64 names.',
      'name',
      () => [...attributes.ignored],
    ),
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
  return totals(
    'gatehouse_store_repairs_total',
    'Repairs of the store by this start, by their code in the log.',
    'code',
    () => codes.map((code) => [code, repairs.filter((repair) => repair.code === code).length]),
  );
}

/** Metrics of the velocity store, read at each scrape. */
export function velocityReadings(memory: VelocityMemory): readonly Reading[] {
  return [
    level('gatehouse_velocity_bytes', 'Bytes of the velocity table.', () => readVelocityStats(memory).bytes),
    level('gatehouse_velocity_records', 'Records in use in the velocity table.', () => readVelocityStats(memory).used),
    level(
      'gatehouse_velocity_capacity_records',
      'Capacity of the velocity table in records.',
      () => readVelocityStats(memory).capacity,
    ),
    total(
      'gatehouse_velocity_evictions_total',
      'Records evicted from the velocity table before they expired.',
      () => readVelocityStats(memory).evicted,
    ),
    total(
      'gatehouse_velocity_lost_total',
      'Updates lost to compare-and-swap contention.',
      () => readVelocityStats(memory).lost,
    ),
    level(
      'gatehouse_velocity_public_records',
      'Records in the velocity table created by requests of public keys.',
      () => readVelocityStats(memory).publicUsed,
    ),
    total(
      'gatehouse_velocity_refused_total',
      'Records not created because a customer, or public keys, had used up their share of a full velocity table.',
      () => readVelocityStats(memory).refused,
    ),
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
    level('gatehouse_decision_log_rows', 'Decisions in the log.', () => decisions.stats().rows),
    level('gatehouse_decision_log_bytes', 'Bytes of the decisions in the log.', () => decisions.stats().bytes),
    level(
      'gatehouse_decision_log_waiting_bytes',
      'Memory of log blocks that are growing or waiting to be written, bytes.',
      () => decisions.stats().pendingBytes,
    ),
    total(
      'gatehouse_decision_log_dropped_total',
      'Decisions that could not be logged.',
      () => decisions.stats().dropped,
    ),
    total(
      'gatehouse_decision_log_damaged_blocks_total',
      'Blocks of the log that could not be read.',
      () => decisions.stats().damagedBlocks,
    ),
    total(
      'gatehouse_shadow_reviews_dropped_total',
      'Decisions that did not fit the shadow review queue.',
      () => shadowReviews.dropped,
    ),
    total(
      'gatehouse_shadow_reviews_evicted_total',
      'Rows evicted from a full shadow review queue before their retention ended.',
      () => shadowReviews.evicted,
    ),
    total(
      'gatehouse_shadow_reviews_refused_total',
      'Decisions on which a challenger differs and that its share of the shadow review queue had no room for.',
      () => shadowReviews.refused,
    ),
    level(
      'gatehouse_sightings_waiting',
      'BLOCKs waiting to be recorded for the registry.',
      () => sightingQueue.waiting,
    ),
    total(
      'gatehouse_sightings_dropped_total',
      'BLOCKs not recorded for the registry because the queue was full.',
      () => sightingQueue.dropped,
    ),
  ];
}
