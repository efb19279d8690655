import type { CustomerNumber } from '../../src/base/brand.ts';
import { newId } from '../../src/base/ids.ts';
import type { ExtractionId } from '../../src/core/extraction.ts';
import type { FoundRecords } from '../../src/store/extraction-records.ts';
import type { NewJob, Result } from '../../src/store/extractions.ts';

/** A job as the service would store it, whose only step is its first. */
export function storedJob(customer: CustomerNumber, nowMs: number): NewJob {
  // As the store keeps it: the length of its key, its key, its state.
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
      sealedSecrets: null,
      createdAtMs: nowMs,
    },
    steps: { rows: step, rowBytes: Uint32Array.of(step.length), hashes: Buffer.alloc(16, 1) },
    idempotency: null,
  };
}

/** What one step of such a job gave: records, and nothing else of note. */
export function storedPart(job: Result['job'], found: FoundRecords, isLast: boolean): Result {
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
