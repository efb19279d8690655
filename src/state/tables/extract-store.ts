import type { Database, RootDatabase } from 'lmdb';
import type { ChangeTable } from './change-tables.ts';
import { Counters } from './counters.ts';
import { openEnvironment, table } from './environment.ts';
import { ExtractionDeliveries } from './extractions/upload-table.ts';
import { ExtractionRecords } from './extractions/record-table.ts';
import { ExtractionSteps } from './extractions/step-table.ts';
import { type ExtractionJobs, ExtractionTable } from './extraction-table.ts';
import type { ExtractionBounds } from './extractions/job-bounds.ts';
import { Failures } from './failure-table.ts';
import { Idempotency } from './idempotency-table.ts';
import { Sessions, type SessionStore } from './session-table.ts';
import { type JobOwners, openJobOwners } from './extractions/owner-table.ts';
import type { TableName } from './table-names.ts';
import { RowCounters } from './row-counters.ts';

/** The contents of `extract/`. */
export interface ExtractStore {
  readonly root: RootDatabase<Buffer, Buffer>;
  readonly extractions: ExtractionJobs;
  readonly steps: ExtractionSteps;
  readonly records: ExtractionRecords;
  readonly sessions: SessionStore;
  readonly failures: Failures;
  readonly idempotency: Idempotency;
  readonly owners: JobOwners;
  readonly counters: Counters;
  /** Returns the bytes of the file's pages that hold rows. The file never shrinks: pages of removed rows are used again. */
  usedBytes(): number;
  /** Returns whether there is nothing to run, to deliver or to remove. */
  isEmpty(): boolean;
}

/** The indexes come last: in a copy that is not complete, no job is listed as open, ended or to be removed. */
const JOB_TABLES = [
  'extract-tallies',
  'jobs-owners',
  'steps',
  'step-keys',
  'record-keys',
  'record-chunks',
  'sessions',
  'failures',
  'idempotency',
  'jobs',
  'job-states',
  'jobs-open',
  'jobs-ended',
  'jobs-cleanup',
  'jobs-deliveries',
] as const satisfies readonly TableName[];

const allRows = (): boolean => true;

/** Opens the tables with everything about jobs, for copies of them to other nodes, always in the same order. */
export function openJobTables(root: RootDatabase<Buffer, Buffer>): readonly ChangeTable[] {
  return JOB_TABLES.map((name) => ({ name, owns: allRows, database: table(root, name) }));
}

/** Opens `extract/` for the calling thread. Throws if it cannot be opened. */
export function openExtractStore(dataDir: string): ExtractStore {
  const root = openEnvironment(dataDir, 'extract', false);
  return createExtractStore(root, (name) => table(root, name));
}

export function createExtractStore(
  root: RootDatabase<Buffer, Buffer>,
  openTable: (name: TableName) => Database<Buffer, Buffer>,
  bounds: Partial<ExtractionBounds> = {},
): ExtractStore {
  const tables: Database<Buffer, Buffer>[] = [];
  const open = (name: TableName): Database<Buffer, Buffer> => {
    const opened = openTable(name);
    tables.push(opened);
    return opened;
  };
  const steps = new ExtractionSteps(open('steps'), open('step-keys'));
  const records = new ExtractionRecords(open('record-chunks'), open('record-keys'));
  const deliveries = new ExtractionDeliveries(open('jobs-deliveries'));
  const sessions = new Sessions(root, open('sessions'));
  const failures = new Failures(open('failures'));
  const idempotency = new Idempotency(root, open('idempotency'), new RowCounters(open('extract-tallies')));
  const owners = openJobOwners(open('jobs-owners'));
  const counters = new Counters(open('extract-meta'));
  const extractions = new ExtractionTable(
    root,
    {
      jobs: open('jobs'),
      states: open('job-states'),
      open: open('jobs-open'),
      ended: open('jobs-ended'),
      cleanup: open('jobs-cleanup'),
    },
    { counters, steps, records, deliveries, failures, idempotency, sessions, owners },
    bounds,
  );
  const kept = (['jobs', 'jobs-cleanup', 'sessions', 'idempotency'] as const).map(openTable);
  const isEmpty = (): boolean => kept.every((rows) => rows.getKeysCount({ limit: 1 }) === 0);
  const usedBytes = (): number => tables.reduce((sum, one) => sum + pagesOf(one), 0);
  return { root, extractions, steps, records, sessions, failures, idempotency, owners, counters, usedBytes, isEmpty };
}

/** Returns the bytes of a table's pages. LMDB keeps their numbers, so nothing is read. */
function pagesOf(table: Database<Buffer, Buffer>): number {
  // The library's types leave the fields out.
  const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = table.getStats() as TableStats;
  return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
}

interface TableStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}
