import type { Reading } from '../observe/metrics.ts';
import { histogramOf } from '../observe/delivery-counts.ts';
import type { Dispatcher } from './dispatcher.ts';

/** Metrics of deliveries, read at each scrape. */
export function deliveryReadings(
  dispatcher: Pick<Dispatcher, 'metrics' | 'health' | 'subscribers'>,
  nowMs: () => number,
): readonly Reading[] {
  const { health, subscribers } = dispatcher;
  const metrics = (): ReturnType<Dispatcher['metrics']> => dispatcher.metrics();
  return [
    {
      name: 'gatehouse_webhook_attempts_total',
      help: 'Delivery attempts by result: succeeded, or the error code.',
      kind: 'totals',
      label: 'result',
      read: () => metrics().counts.attempts,
    },
    {
      name: 'gatehouse_webhook_deliveries_total',
      help: 'Finished deliveries by status.',
      kind: 'totals',
      label: 'status',
      read: () => metrics().counts.ends,
    },
    {
      name: 'gatehouse_webhook_delivery_seconds',
      help: 'Time from a decision until its delivery succeeded, seconds.',
      kind: 'histogram',
      read: () => histogramOf(metrics().counts),
    },
    level('gatehouse_webhooks', 'Number of webhooks.', () => subscribers.size),
    level('gatehouse_webhooks_unhealthy', 'Unhealthy webhooks.', () => health.unhealthy),
    level('gatehouse_webhook_queue_deliveries', 'Pending deliveries.', () => metrics().pending),
    level('gatehouse_webhook_held_deliveries', 'Pending deliveries held by the worker.', () => metrics().held),
    level('gatehouse_webhook_oldest_pending_seconds', 'Age of the oldest pending delivery, seconds.', () => {
      const oldestMs = metrics().oldestPendingMs;
      return oldestMs === null ? 0 : Math.max(0, nowMs() - oldestMs) / 1_000;
    }),
    level('gatehouse_webhook_attempts_in_flight', 'Attempts in flight.', () => metrics().attemptsInFlight),
    total('gatehouse_webhook_warnings_total', 'Warnings about failing webhooks.', () => metrics().totals.warnings),
    total(
      'gatehouse_webhook_lost_total',
      'Deliveries lost because the journal had no room for them.',
      () => metrics().lost,
    ),
    total(
      'gatehouse_webhook_evicted_total',
      'Deliveries evicted from a full log before their retention ended.',
      () => metrics().totals.evicted,
    ),
    level(
      'gatehouse_webhook_outbox_entries',
      'Outbox entries in the journal that are not stored yet.',
      () => metrics().outboxEntries,
    ),
    total(
      'gatehouse_webhook_overflow_total',
      'Decisions skipped because too many deliveries are pending for their webhook or customer.',
      () => metrics().totals.overflowed,
    ),
    total(
      'gatehouse_webhook_skipped_unrecorded_total',
      'Skipped deliveries without a row in the log.',
      () => metrics().totals.skippedUnrecorded,
    ),
    total(
      'gatehouse_webhook_blocked_addresses_total',
      'Addresses blocked for deliveries.',
      () => metrics().totals.blockedAddresses,
    ),
    total(
      'gatehouse_webhook_connections_opened_total',
      'Connections opened for deliveries.',
      () => metrics().totals.connectionsOpened,
    ),
    total(
      'gatehouse_webhook_connections_reused_total',
      'Delivery attempts on a reused connection.',
      () => metrics().totals.connectionsReused,
    ),
  ];
}

function level(name: string, help: string, read: () => number): Reading {
  return { name, help, kind: 'level', read };
}

function total(name: string, help: string, read: () => number): Reading {
  return { name, help, kind: 'total', read };
}
