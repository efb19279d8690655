import type { Reading } from './observe/metrics.ts';
import type { DecisionLog } from './store/decision-log.ts';
import type { Store } from './store/open-store.ts';
import type { VelocityMemory } from './velocity/memory.ts';
import { readVelocityStats } from './velocity/stats.ts';

/** What memory, the log of decisions and the registry's queue tell of themselves, read when somebody scrapes. */
export function readings(
  memory: VelocityMemory,
  decisions: DecisionLog,
  { shadowReviews, sightingQueue }: Pick<Store, 'shadowReviews' | 'sightingQueue'>,
): readonly Reading[] {
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
      help: 'Records that the velocity table has room for.',
      kind: 'level',
      read: () => readVelocityStats(memory).capacity,
    },
    {
      name: 'gatehouse_velocity_evictions_total',
      help: 'Records thrown out of the velocity table although they still counted.',
      kind: 'total',
      read: () => readVelocityStats(memory).evicted,
    },
    {
      name: 'gatehouse_velocity_lost_total',
      help: 'Counts that were not taken in because workers stood in each other’s way.',
      kind: 'total',
      read: () => readVelocityStats(memory).lost,
    },
    {
      name: 'gatehouse_velocity_public_records',
      help: 'Records in use in the velocity table that requests of public keys made.',
      kind: 'level',
      read: () => readVelocityStats(memory).publicUsed,
    },
    {
      name: 'gatehouse_velocity_refused_total',
      help: 'Records not made because a customer, or public keys, had their share of a full velocity table.',
      kind: 'total',
      read: () => readVelocityStats(memory).refused,
    },
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
      help: 'Memory of the part of the log that grows or waits for its write, bytes.',
      kind: 'level',
      read: () => decisions.stats().pendingBytes,
    },
    {
      name: 'gatehouse_decision_log_dropped_total',
      help: 'Decisions that the log could not keep.',
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
      help: 'Decisions that the shadow review queue could not take.',
      kind: 'total',
      read: () => shadowReviews.dropped,
    },
    {
      name: 'gatehouse_shadow_reviews_evicted_total',
      help: 'Rows that left a full shadow review queue before their time.',
      kind: 'total',
      read: () => shadowReviews.evicted,
    },
    {
      name: 'gatehouse_sightings_waiting',
      help: 'BLOCKs that wait to be noted for the registry.',
      kind: 'level',
      read: () => sightingQueue.waiting,
    },
    {
      name: 'gatehouse_sightings_dropped_total',
      help: 'BLOCKs that were not noted for the registry, for want of room.',
      kind: 'total',
      read: () => sightingQueue.dropped,
    },
  ];
}
