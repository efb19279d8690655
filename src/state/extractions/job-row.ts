import type { CustomerNumber } from '../../kernel/brand.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type {
  Collect,
  Extraction,
  ExtractionDelivery,
  ExtractionId,
  OutputOptions,
} from '../../work/extraction-job.ts';
import { countsOf, type ExtractionState } from '../../work/extraction-state.ts';
import { rowIdOf, rowKey } from '../request-rows.ts';
import { withoutSum } from '../value.ts';
import type { JobNumber } from './row-keys.ts';

/** The fields of a job that never change. */
export interface Job {
  readonly number: JobNumber;
  readonly id: ExtractionId;
  readonly customer: CustomerNumber;
  readonly requestId: string;
  readonly connector: string;
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly collect: Collect;
  readonly output: OutputOptions;
  readonly session: string | null;
  /** Its `status` is the initial one; the state holds the current one. */
  readonly delivery: ExtractionDelivery;
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
  const { input, collect, output, delivery } = JSON.parse(String(json)) as Pick<
    Job,
    'input' | 'collect' | 'output' | 'delivery'
  >;
  return {
    number: Number(number),
    id: rowIdOf('ext', key) as ExtractionId,
    customer: key.readUInt32BE(0) as CustomerNumber,
    requestId: String(requestId),
    connector: String(connector),
    operation: String(operation),
    input,
    collect,
    output,
    session: typeof session === 'string' ? session : null,
    delivery,
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
