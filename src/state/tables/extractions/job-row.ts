import type { Extraction, ExtractionId, JobRequest } from '../../../work/extraction-job.ts';
import { countsOf, type ExtractionState } from '../../../work/extraction-state.ts';
import { field, packedNumber, MAYBE_TEXT, packedFields, packedText } from '../packed-fields.ts';
import { type Codec, ownKey } from '../typed-table.ts';
import type { JobNumber } from './row-keys.ts';

/** The fields of a job that never change. The `status` of its delivery is the initial one; the state holds the current one. */
export interface Job extends JobRequest {
  readonly number: JobNumber;
  readonly id: ExtractionId;
  /** JSON of the delivery's secrets, encrypted; null without any. */
  readonly encryptedSecrets: Uint8Array | null;
  readonly createdAtMs: number;
}

export const JOB_KEY = ownKey<ExtractionId>('ext');

/** Stored as one text of JSON. */
type JsonFields = Pick<Job, 'input' | 'collect' | 'output' | 'delivery'>;

/** The fields of a stored job, without those of its key. */
export const JOB_VALUE: Codec<Omit<Job, 'customer' | 'id'>> = {
  encode({ input, collect, output, delivery, ...job }) {
    return ROW.encode({ ...job, json: { input, collect, output, delivery } });
  },
  decode(bytes) {
    const { json, ...job } = ROW.decode(bytes);
    return { ...job, ...json };
  },
};

const ROW = packedFields<Omit<Job, 'customer' | 'id' | keyof JsonFields> & { readonly json: JsonFields }>({
  number: packedNumber(),
  requestId: packedText(),
  connector: packedText(),
  operation: packedText(),
  json: field((stored) => JSON.parse(String(stored)) as JsonFields, JSON.stringify),
  session: MAYBE_TEXT,
  encryptedSecrets: field((stored) => (stored instanceof Uint8Array ? stored : null)),
  createdAtMs: packedNumber(),
});

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
