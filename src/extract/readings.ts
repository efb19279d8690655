import type { Reading } from '../observe/metrics.ts';
import type { Extractions } from '../store/extractions.ts';
import type { Scheduler } from './scheduler.ts';

/** What extraction tells of itself, read when somebody scrapes. */
export function extractionReadings(
  scheduler: Scheduler,
  extractions: Pick<Extractions, 'endedBytes'>,
  deliveries: () => number,
): readonly Reading[] {
  const { counts, queue, gate } = scheduler;
  return [
    level('gatehouse_extraction_jobs_queued', 'Jobs that wait for their turn.', () => queue.queued),
    level('gatehouse_extraction_jobs_running', 'Jobs that run.', () => queue.running),
    {
      name: 'gatehouse_extraction_jobs_total',
      help: 'Jobs that ended, by connector and by how: succeeded, or the reason of the failure.',
      kind: 'labelled',
      labels: ['connector', 'result'],
      read: () => counts.ends,
    },
    level('gatehouse_extraction_steps_in_flight', 'Steps that are with workers.', () => scheduler.stepsInFlight),
    level('gatehouse_extraction_results_waiting', 'Results that wait for their write.', () => scheduler.resultsWaiting),
    level('gatehouse_extraction_deliveries', 'Jobs whose records are still to be delivered.', deliveries),
    level('gatehouse_extraction_domains', 'Domains that are remembered for politeness.', () => gate.domains),
    level('gatehouse_extraction_domains_paused', 'Domains that asked to be left alone.', () => gate.domainsPaused),
    level('gatehouse_extraction_stored_bytes', 'Bytes of records of jobs that ended.', () => extractions.endedBytes),
    byConnector('gatehouse_extraction_pages_total', 'Pages and API calls that succeeded.', () => counts.pages),
    byConnector('gatehouse_extraction_records_total', 'Records that were stored.', () => counts.records),
    byConnector('gatehouse_extraction_errors_total', 'Fetches that failed, and records dropped.', () => counts.errors),
    byConnector('gatehouse_extraction_bytes_total', 'Bytes of bodies, over the wire.', () => counts.bytes),
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
