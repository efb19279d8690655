import type { CustomerNumber } from '../../../kernel/brand.ts';
import { pack, unpack } from '../../../kernel/pack.ts';
import type { Extraction, ExtractionId, JobRequest } from '../../../work/extraction-job.ts';
import { countsOf, type ExtractionState } from '../../../work/extraction-state.ts';
import { rowIdOf, rowKey } from '../request-rows.ts';
import { withoutSum } from '../value.ts';
import type { JobNumber } from './row-keys.ts';

/** The fields of a job that never change. The `status` of its delivery is the initial one; the state holds the current one. */
export interface Job extends JobRequest {
  readonly number: JobNumber;
  readonly id: ExtractionId;
  /** JSON of the delivery's secrets, encrypted; null without any. */
  readonly encryptedSecrets: Uint8Array | null;
  readonly createdAtMs: number;
}

export function jobKey(customer: CustomerNumber, id: ExtractionId): Buffer | null {
  return rowKey('ext', customer, id);
}

export function encodeJob(job: Job): Buffer {
  const { number, requestId, connector, operation, input, collect, output, session, delivery } = job;
  return pack([
    number,
    requestId,
    connector,
    operation,
    JSON.stringify({ input, collect, output, delivery }),
    session,
    job.encryptedSecrets,
    job.createdAtMs,
  ]);
}

/** `key` and `stored` must be copies. */
export function decodeJob(key: Buffer, stored: Buffer): Job {
  const [number, requestId, connector, operation, json, session, sealed, createdAt] = unpack(withoutSum(stored));
  return {
    ...(JSON.parse(String(json)) as Pick<Job, 'input' | 'collect' | 'output' | 'delivery'>),
    number: Number(number),
    id: rowIdOf('ext', key) as ExtractionId,
    customer: key.readUInt32BE(0) as CustomerNumber,
    requestId: String(requestId),
    connector: String(connector),
    operation: String(operation),
    session: typeof session === 'string' ? session : null,
    encryptedSecrets: sealed instanceof Uint8Array ? sealed : null,
    createdAtMs: Number(createdAt),
  };
}

/** Returns the job as the API presents it. */
export function extractionOf(job: Job, state: ExtractionState): Extraction {
  const { number: _number, encryptedSecrets: _sealed, ...told } = job;
  const { status, failure, notes, startedAtMs, finishedAtMs, expiresAtMs } = state;
  return {
    ...told,
    delivery: { ...job.delivery, status: state.delivery },
    status,
    counts: countsOf(state, job.collect),
    usage: { credits: state.credits, tier: state.tier },
    failure,
    notes,
    // Not stored: the caller queries the scheduler.
    waitingUntilMs: null,
    startedAtMs,
    finishedAtMs,
    expiresAtMs,
  };
}
