import type { Reading } from '../observe/metrics.ts';
import type { Deliveries } from '../store/deliveries.ts';
import type { Dispatcher } from './dispatcher.ts';

/** What deliveries tell of themselves, read when somebody scrapes. */
export function deliveryReadings(
  dispatcher: Dispatcher,
  deliveries: Pick<Deliveries, 'pendingCount' | 'oldestPendingMs' | 'evicted'>,
  nowMs: () => number,
): readonly Reading[] {
  const { counts, health, windows, rows, subscribers } = dispatcher;
  return [
    {
      name: 'gatehouse_webhook_attempts_total',
      help: 'Attempts of deliveries by result: succeeded, or the error code.',
      kind: 'totals',
      label: 'result',
      read: () => counts.attempts,
    },
    {
      name: 'gatehouse_webhook_deliveries_total',
      help: 'Deliveries that ended, by how.',
      kind: 'totals',
      label: 'status',
      read: () => counts.ends,
    },
    {
      name: 'gatehouse_webhook_delivery_seconds',
      help: 'Time from a decision to the receiver’s success, seconds.',
      kind: 'histogram',
      read: () => counts.histogram(),
    },
    level('gatehouse_webhooks', 'Webhooks.', () => subscribers.size),
    level('gatehouse_webhooks_unhealthy', 'Webhooks that are unhealthy.', () => health.unhealthy),
    level('gatehouse_webhook_queue_deliveries', 'Deliveries that are pending.', () => deliveries.pendingCount()),
    level('gatehouse_webhook_held_deliveries', 'Pending deliveries that are with the worker.', () => windows.held),
    level('gatehouse_webhook_oldest_pending_seconds', 'Age of the oldest pending delivery, seconds.', () => {
      const oldestMs = deliveries.oldestPendingMs();
      return oldestMs === null ? 0 : Math.max(0, nowMs() - oldestMs) / 1_000;
    }),
    level('gatehouse_webhook_attempts_in_flight', 'Attempts in flight.', () => dispatcher.workerStats.attemptsInFlight),
    total('gatehouse_webhook_warnings_total', 'Warnings of webhooks that fail.', () => health.warnings),
    total(
      'gatehouse_webhook_lost_total',
      'Deliveries that neither the journal nor memory could take.',
      () => dispatcher.lost,
    ),
    total(
      'gatehouse_webhook_evicted_total',
      'Deliveries that left a full log before their time.',
      () => deliveries.evicted,
    ),
    total(
      'gatehouse_webhook_deferred_total',
      'Deliveries that were in the journal alone at first, for want of room.',
      () => rows.deferred,
    ),
    total(
      'gatehouse_webhook_overflow_total',
      'Decisions that were skipped because too many are pending for their webhook or customer.',
      () => dispatcher.intake.overflowed,
    ),
    total(
      'gatehouse_webhook_skipped_unrecorded_total',
      'Skipped deliveries that have no row in the log.',
      () => dispatcher.intake.skippedUnrecorded,
    ),
    total('gatehouse_webhook_blocked_addresses_total', 'Addresses that deliveries were kept from.', () =>
      dispatcher.total('blockedAddresses'),
    ),
    total('gatehouse_webhook_connections_opened_total', 'Connections opened for deliveries.', () =>
      dispatcher.total('connectionsOpened'),
    ),
    total('gatehouse_webhook_connections_reused_total', 'Attempts on a connection that was open.', () =>
      dispatcher.total('connectionsReused'),
    ),
  ];
}

function level(name: string, help: string, read: () => number): Reading {
  return { name, help, kind: 'level', read };
}

function total(name: string, help: string, read: () => number): Reading {
  return { name, help, kind: 'total', read };
}
