import { level, type Reading, total, totals } from '../../observe/reading.ts';
import type { ExtractionTable } from '../../state/tables/extraction-table.ts';
import type { SharedJobsState } from '../../state/tables/shared-jobs.ts';
import type { Scheduler } from './scheduler.ts';

/** Figures of extraction at one moment. They can be posted between threads. */
export interface ExtractionFigures {
  readonly queued: number;
  readonly running: number;
  readonly ends: readonly { readonly labels: readonly string[]; readonly count: number }[];
  readonly stepsInFlight: number;
  readonly resultsWaiting: number;
  readonly deliveries: number;
  readonly domains: number;
  readonly domainsPaused: number;
  readonly storedBytes: number;
  /** By connector, as the next three. */
  readonly pages: ReadonlyMap<string, number>;
  readonly records: ReadonlyMap<string, number>;
  readonly errors: ReadonlyMap<string, number>;
  readonly bytes: ReadonlyMap<string, number>;
  readonly workersLost: number;
  /** Jobs of other nodes that are continued here. */
  readonly takenOver: number;
  /** Null on a single node. */
  readonly shared: SharedJobsState | null;
}

export const NO_FIGURES: ExtractionFigures = {
  queued: 0,
  running: 0,
  ends: [],
  stepsInFlight: 0,
  resultsWaiting: 0,
  deliveries: 0,
  domains: 0,
  domainsPaused: 0,
  storedBytes: 0,
  pages: new Map(),
  records: new Map(),
  errors: new Map(),
  bytes: new Map(),
  workersLost: 0,
  takenOver: 0,
  shared: null,
};

export function figuresOf(
  { counts, queue, gate, stepsInFlight, resultsWaiting }: Scheduler,
  { endedBytes }: Pick<ExtractionTable, 'endedBytes'>,
  deliveries: number,
  shared: SharedJobsState | null,
): ExtractionFigures {
  return {
    queued: queue.queued,
    running: queue.running,
    ends: [...counts.ends],
    stepsInFlight,
    resultsWaiting,
    deliveries,
    domains: gate.domains,
    domainsPaused: gate.domainsPaused,
    storedBytes: endedBytes,
    pages: counts.pages,
    records: counts.records,
    errors: counts.errors,
    bytes: counts.bytes,
    workersLost: counts.workersLost,
    takenOver: counts.takenOver,
    shared,
  };
}

/** Metrics of the extraction jobs of a cluster. `read` is called at each scrape. */
export function sharedExtractionReadings(read: () => ExtractionFigures): readonly Reading[] {
  return [
    total(
      'gatehouse_cluster_extractions_taken_over_total',
      'Extraction jobs of other nodes that this one has continued.',
      () => read().takenOver,
    ),
    level(
      'gatehouse_cluster_job_log_behind',
      'Entries of the log of extraction jobs that this node has not applied.',
      () => read().shared?.behind ?? 0,
    ),
    total(
      'gatehouse_cluster_job_log_put_back_total',
      'Entries of the log of extraction jobs that the shared store had lost and this node has put back.',
      () => read().shared?.putBack ?? 0,
    ),
    level(
      'gatehouse_cluster_jobs_incomplete',
      '1 if this node lacks extraction jobs that no other node could give it.',
      () => (read().shared?.isIncomplete === true ? 1 : 0),
    ),
  ];
}

/** Metrics of extraction. `read` is called at each scrape. */
export function extractionReadings(read: () => ExtractionFigures): readonly Reading[] {
  const byConnector = (name: string, help: string, of: 'pages' | 'records' | 'errors' | 'bytes'): Reading =>
    totals(name, help, 'connector', () => read()[of]);
  return [
    level('gatehouse_extraction_jobs_queued', 'Jobs waiting to start.', () => read().queued),
    level('gatehouse_extraction_jobs_running', 'Jobs running.', () => read().running),
    {
      name: 'gatehouse_extraction_jobs_total',
      help: 'Jobs that ended, by connector and result: succeeded, or the failure reason.',
      kind: 'labelled',
      labels: ['connector', 'result'],
      read: () => read().ends,
    },
    level('gatehouse_extraction_steps_in_flight', 'Steps assigned to workers.', () => read().stepsInFlight),
    level('gatehouse_extraction_results_waiting', 'Results waiting to be written.', () => read().resultsWaiting),
    level('gatehouse_extraction_deliveries', 'Jobs whose records are still to be delivered.', () => read().deliveries),
    level('gatehouse_extraction_domains', 'Domains in the memory of the rate limiter.', () => read().domains),
    level('gatehouse_extraction_domains_paused', 'Domains that asked for a pause.', () => read().domainsPaused),
    level('gatehouse_extraction_stored_bytes', 'Bytes of the records of ended jobs.', () => read().storedBytes),
    byConnector('gatehouse_extraction_pages_total', 'Pages and API calls that succeeded.', 'pages'),
    byConnector('gatehouse_extraction_records_total', 'Records stored.', 'records'),
    byConnector('gatehouse_extraction_errors_total', 'Failed fetches and dropped records.', 'errors'),
    byConnector('gatehouse_extraction_bytes_total', 'Bytes of response bodies on the wire.', 'bytes'),
    total('gatehouse_extraction_workers_lost_total', 'Extract workers that died.', () => read().workersLost),
  ];
}
