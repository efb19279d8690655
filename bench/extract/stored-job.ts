import type { CustomerNumber } from '../../src/kernel/brand.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { ExtractionId } from '../../src/work/extraction-job.ts';
import type { FoundRecords } from '../../src/state/tables/extractions/record-table.ts';
import type { NewStoredJob, PartResult } from '../../src/state/tables/extraction-table.ts';

/** A job as the service stores it, with its first step as the only one. */
export function storedJob(customer: CustomerNumber, nowMs: number): NewStoredJob {
  // Row format of the store: length of the key, key, state.
  const step = Buffer.from('\0\u0005first{}');
  return {
    job: {
      id: newId('ext', nowMs) as ExtractionId,
      customer,
      requestId: newId('req', nowMs),
      connector: 'openlibrary',
      operation: 'search.works',
      input: { query: 'bread' },
      collect: { mode: 'all' },
      output: {
        format: 'json',
        fields: null,
        rename: {},
        flatten: false,
        schema: null,
        onInvalid: 'drop',
        csv: { delimiter: ',', bom: false, header: true },
      },
      session: null,
      delivery: { kind: 'store', status: 'pending', waitSeconds: null, url: null, batchSize: null, s3: null },
      encryptedSecrets: null,
      createdAtMs: nowMs,
    },
    steps: { rows: step, rowBytes: Uint32Array.of(step.length), hashes: Buffer.alloc(16, 1) },
    idempotency: null,
  };
}

/** The result of one step of such a job: records only. */
export function storedPart(job: PartResult['job'], found: FoundRecords, isLast: boolean): PartResult {
  return {
    job,
    step: 0,
    records: { found, range: { from: 0, to: found.lineBytes.length, at: 0 } },
    next: null,
    isLast,
    session: null,
    outcome: {
      pages: 1,
      credits: 1,
      tier: 'basic',
      errors: 0,
      total: null,
      pausedUntilMs: 0,
      failure: null,
      entries: [],
      notes: [],
    },
  };
}
