import type { Database, RootDatabase } from 'lmdb';
import { Counters } from './counters.ts';
import { ExtractionDeliveries } from './extraction-deliveries.ts';
import { ExtractionRecords } from './extraction-records.ts';
import { ExtractionSteps } from './extraction-steps.ts';
import { type ExtractionBounds, Extractions } from './extractions.ts';
import { Failures } from './failures.ts';
import { Idempotency } from './idempotency.ts';
import { Sessions } from './sessions.ts';
import type { TableName } from './tables.ts';
import { Tallies } from './tallies.ts';

/** What is in `extract/`. */
export interface ExtractStore {
  readonly root: RootDatabase<Buffer, Buffer>;
  readonly extractions: Extractions;
  readonly steps: ExtractionSteps;
  readonly records: ExtractionRecords;
  readonly sessions: Sessions;
  readonly failures: Failures;
  readonly idempotency: Idempotency;
}

export function createExtractStore(
  root: RootDatabase<Buffer, Buffer>,
  table: (name: TableName) => Database<Buffer, Buffer>,
  bounds: Partial<ExtractionBounds> = {},
): ExtractStore {
  const steps = new ExtractionSteps(table('steps'), table('step-keys'));
  const records = new ExtractionRecords(table('record-chunks'), table('record-keys'));
  const deliveries = new ExtractionDeliveries(table('jobs-deliveries'));
  const sessions = new Sessions(root, table('sessions'));
  const failures = new Failures(table('failures'));
  const idempotency = new Idempotency(root, table('idempotency'), new Tallies(table('extract-tallies')));
  const extractions = new Extractions(
    root,
    {
      jobs: table('jobs'),
      states: table('job-states'),
      open: table('jobs-open'),
      ended: table('jobs-ended'),
      cleanup: table('jobs-cleanup'),
    },
    { counters: new Counters(table('extract-meta')), steps, records, deliveries, failures, idempotency, sessions },
    bounds,
  );
  return { root, extractions, steps, records, sessions, failures, idempotency };
}
