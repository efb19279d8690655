import { histogram, level, type Reading, total, totals } from '../observe/reading.ts';
import type { Deliveries } from '../state/tables/delivery-table.ts';
import type { Dispatcher } from './dispatcher.ts';

/** Metrics of deliveries, read at each scrape. */
export function deliveryReadings(
  dispatcher: Dispatcher,
  deliveries: Pick<Deliveries, 'pendingCount' | 'oldestPendingMs' | 'evicted'>,
  nowMs: () => number,
): readonly Reading[] {
  const { counts, health, windows, rows, subscribers } = dispatcher;
  return [
    totals(
      'gatehouse_webhook_attempts_total',
      'Delivery attempts by result: succeeded, or the error code.',
      'result',
      () => counts.attempts,
    ),
    totals('gatehouse_webhook_deliveries_total', 'Finished deliveries by status.', 'status', () => counts.ends),
    histogram(
      'gatehouse_webhook_delivery_seconds',
      'Time from a decision until its delivery succeeded, seconds.',
      () => counts.seconds,
    ),
    level('gatehouse_webhooks', 'Number of webhooks.', () => subscribers.size),
    level('gatehouse_webhooks_unhealthy', 'Unhealthy webhooks.', () => health.unhealthy),
    level('gatehouse_webhook_queue_deliveries', 'Pending deliveries.', () => deliveries.pendingCount()),
    level('gatehouse_webhook_held_deliveries', 'Pending deliveries held by the worker.', () => windows.held),
    level('gatehouse_webhook_oldest_pending_seconds', 'Age of the oldest pending delivery, seconds.', () => {
      const oldestMs = deliveries.oldestPendingMs();
      return oldestMs === null ? 0 : Math.max(0, nowMs() - oldestMs) / 1_000;
    }),
    level('gatehouse_webhook_attempts_in_flight', 'Attempts in flight.', () => dispatcher.workerStats.attemptsInFlight),
    total('gatehouse_webhook_warnings_total', 'Warnings about failing webhooks.', () => health.warnings),
    total(
      'gatehouse_webhook_lost_total',
      'Deliveries lost because neither the journal nor memory had room.',
      () => dispatcher.lost,
    ),
    total(
      'gatehouse_webhook_evicted_total',
      'Deliveries evicted from a full log before their retention ended.',
      () => deliveries.evicted,
    ),
    total(
      'gatehouse_webhook_deferred_total',
      'Deliveries deferred to the journal because memory was full.',
      () => rows.deferred,
    ),
    total(
      'gatehouse_webhook_overflow_total',
      'Decisions skipped because too many deliveries are pending for their webhook or customer.',
      () => dispatcher.fanOut.overflowed,
    ),
    filteredReading(dispatcher),
    total(
      'gatehouse_webhook_skipped_unrecorded_total',
      'Skipped deliveries without a row in the log.',
      () => dispatcher.fanOut.skippedUnrecorded,
    ),
    total('gatehouse_webhook_blocked_addresses_total', 'Addresses blocked for deliveries.', () =>
      dispatcher.total('blockedAddresses'),
    ),
    total('gatehouse_webhook_connections_opened_total', 'Connections opened for deliveries.', () =>
      dispatcher.total('connectionsOpened'),
    ),
    total('gatehouse_webhook_connections_reused_total', 'Delivery attempts on a reused connection.', () =>
      dispatcher.total('connectionsReused'),
    ),
  ];
}

function filteredReading(dispatcher: Pick<Dispatcher, 'fanOut'>): Reading {
  const help = 'Decisions excluded by the filter of a webhook: no_match, or unknown because a fact is absent.';
  return totals('gatehouse_webhook_filtered_total', help, 'result', () => Object.entries(dispatcher.fanOut.filtered));
}
