import type { CustomerNumber } from '../../src/kernel/brand.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { ExtractionDelivery, ExtractionId, OutputOptions } from '../../src/work/extraction-job.ts';
import type { NewExtraction } from '../../src/extract/base/jobs-port.ts';
import { hashesOf, packSteps } from '../../src/extract/base/pack-steps.ts';
import type { FoundRecords } from '../../src/state/tables/extractions/record-table.ts';
import type { FoundSteps } from '../../src/state/tables/extractions/step-table.ts';
import type { JobFacts, StepOutcome } from '../../src/state/tables/extractions/apply-results.ts';
import type { NewStoredJob, PartResult } from '../../src/state/tables/extraction-table.ts';

/** Jobs and results for tests, without a worker. */

export const PLAIN_OUTPUT: OutputOptions = {
  format: 'json',
  fields: null,
  rename: {},
  flatten: false,
  schema: null,
  onInvalid: 'drop',
  csv: { delimiter: ',', bom: false, header: true },
};

export const STORED: ExtractionDelivery = {
  kind: 'store',
  status: 'pending',
  waitSeconds: null,
  url: null,
  batchSize: null,
  s3: null,
};

export const SYNC: ExtractionDelivery = { ...STORED, kind: 'sync', waitSeconds: 30 };

export function newExtraction(overrides: Partial<NewExtraction> = {}): NewExtraction {
  return {
    customer: 1 as CustomerNumber,
    requestId: newId('req', 1_000),
    connector: 'made',
    operation: 'item.list',
    input: { topic: 'bread' },
    collect: { mode: 'limit', limit: 100 },
    output: PLAIN_OUTPUT,
    session: null,
    delivery: STORED,
    deliverySecrets: null,
    steps: [{ key: 'first', state: { key: 'first' } }],
    idempotency: null,
    ...overrides,
  };
}

export function newStoredJob(overrides: Partial<NewExtraction> = {}, nowMs = 1_000): NewStoredJob {
  const { steps, deliverySecrets: _secrets, idempotency: _idempotency, ...job } = newExtraction(overrides);
  return {
    job: { ...job, id: newId('ext', nowMs) as ExtractionId, encryptedSecrets: null, createdAtMs: nowMs },
    steps: stepsNamed(steps.map(({ key }) => key)),
    idempotency: null,
  };
}

/** Creates steps whose state is their key. Those that begin with `list:` read lists. */
export function stepsNamed(keys: readonly string[]): FoundSteps {
  return packSteps(keys.map((key) => ({ key, state: { key }, ...(key.startsWith('list:') && { isList: true }) })));
}

export function found(ids: readonly string[]): FoundRecords {
  const lines = ids.map((id) => Buffer.from(`${JSON.stringify({ id, _meta: { id } })}\n`));
  return {
    ndjson: Buffer.concat(lines),
    lineBytes: Uint32Array.from(lines, (line) => line.length),
    hashes: hashesOf(ids),
  };
}

export const DONE: StepOutcome = {
  pages: 1,
  credits: 1,
  tier: 'basic',
  errors: 0,
  total: null,
  pausedUntilMs: 0,
  failure: null,
  entries: [],
  notes: [],
};

/** Creates the result of a step, in one part. */
export function result(
  job: JobFacts,
  stepNumber: number,
  given: { ids?: readonly string[]; next?: readonly string[]; outcome?: Partial<StepOutcome>; isLast?: boolean } = {},
): PartResult {
  const { ids = [], next = [], outcome = {}, isLast = true } = given;
  return {
    job,
    step: stepNumber,
    records: ids.length === 0 ? null : { found: found(ids), range: { from: 0, to: ids.length, at: 0 } },
    next: next.length === 0 ? null : { found: stepsNamed(next), range: { from: 0, to: next.length, at: 0 } },
    isLast,
    outcome: { ...DONE, ...outcome },
    session: null,
  };
}
