import type { Extraction, ExtractionId } from '../../work/extraction-job.ts';
import { createdJson, isExtractionId } from './job-wire.ts';

/**
 * What is stored under an `Idempotency-Key`: the response itself or, for inline responses, the job. The job's outcome is then the response,
 * and it does not change after the job's end, so the records are not stored twice.
 */
export interface FirstAnswer {
  readonly id: ExtractionId;
  readonly waitSeconds: number | null;
  readonly body: string;
}

export function firstAnswer(job: Extraction, newSecret: string | null): FirstAnswer {
  const { waitSeconds } = job.delivery;
  return { id: job.id, waitSeconds, body: waitSeconds === null ? JSON.stringify(createdJson(job, newSecret)) : '' };
}

export function encodeFirst(job: Extraction, newSecret: string | null): Uint8Array {
  return Buffer.from(JSON.stringify(firstAnswer(job, newSecret)));
}

export function decodeFirst(bytes: Uint8Array): FirstAnswer {
  const { id, waitSeconds, body } = JSON.parse(Buffer.from(bytes).toString()) as FirstAnswer;
  if (!isExtractionId(id)) throw new Error('the value stored under an idempotency key is not a response');
  return { id, waitSeconds, body };
}
