import type { Reading } from '../observe/metrics.ts';
import type { Extractions } from '../state/extraction-table.ts';
import type { Scheduler } from './scheduler.ts';

/** Metrics of extraction, read at each scrape. */
export function extractionReadings(
  scheduler: Scheduler,
  extractions: Pick<Extractions, 'endedBytes'>,
  deliveries: () => number,
): readonly Reading[] {
  const { counts, queue, gate } = scheduler;
  return [
    level('gatehouse_extraction_jobs_queued', 'Jobs waiting to start.', () => queue.queued),
    level('gatehouse_extraction_jobs_running', 'Jobs running.', () => queue.running),
    {
      name: 'gatehouse_extraction_jobs_total',
      help: 'Jobs that ended, by connector and result: succeeded, or the failure reason.',
      kind: 'labelled',
      labels: ['connector', 'result'],
      read: () => counts.ends,
    },
    level('gatehouse_extraction_steps_in_flight', 'Steps assigned to workers.', () => scheduler.stepsInFlight),
    level('gatehouse_extraction_results_waiting', 'Results waiting to be written.', () => scheduler.resultsWaiting),
    level('gatehouse_extraction_deliveries', 'Jobs whose records are still to be delivered.', deliveries),
    level('gatehouse_extraction_domains', 'Domains in the memory of the rate limiter.', () => gate.domains),
    level('gatehouse_extraction_domains_paused', 'Domains that asked for a pause.', () => gate.domainsPaused),
    level('gatehouse_extraction_stored_bytes', 'Bytes of the records of ended jobs.', () => extractions.endedBytes),
    byConnector('gatehouse_extraction_pages_total', 'Pages and API calls that succeeded.', () => counts.pages),
    byConnector('gatehouse_extraction_records_total', 'Records stored.', () => counts.records),
    byConnector('gatehouse_extraction_errors_total', 'Failed fetches and dropped records.', () => counts.errors),
    byConnector('gatehouse_extraction_bytes_total', 'Bytes of response bodies on the wire.', () => counts.bytes),
    {
      name: 'gatehouse_extraction_workers_lost_total',
      help: 'Extract workers that died.',
      kind: 'total',
      read: () => counts.workersLost,
    },
  ];
}

function level(name: string, help: string, read: () => number): Reading {
  return { name, help, kind: 'level', read };
}

function byConnector(name: string, help: string, read: () => Map<string, number>): Reading {
  return { name, help, kind: 'totals', label: 'connector', read };
}
