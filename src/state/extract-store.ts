import type { Database, RootDatabase } from 'lmdb';
import { Counters } from './counters.ts';
import { ExtractionDeliveries } from './extractions/upload-table.ts';
import { ExtractionRecords } from './extractions/record-table.ts';
import { ExtractionSteps } from './extractions/step-table.ts';
import { type ExtractionBounds, Extractions } from './extraction-table.ts';
import { Failures } from './failure-table.ts';
import { Idempotency } from './idempotency-table.ts';
import { Sessions } from './session-table.ts';
import type { TableName } from './table-names.ts';
import { RowCounters } from './row-counters.ts';

/** The contents of `extract/`. */
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
  const idempotency = new Idempotency(root, table('idempotency'), new RowCounters(table('extract-tallies')));
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
