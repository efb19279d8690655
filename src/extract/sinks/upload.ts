import type { Extraction } from '../../work/extraction-job.ts';
import { PLANS } from '../../work/webhook-schedule.ts';
import { putResult } from './http-put.ts';
import { finalFault, RecordsMissing, type ResultFault } from './sink-outcome.ts';
import type { ResultFile } from './result-file.ts';
import { putToS3, type S3Parts, type SentPart } from './s3.ts';
import type { S3Credentials, S3Destination } from './s3-location.ts';

/** The stored state of a delivery to a destination between its attempts. */
export interface UploadState {
  readonly kind: 'upload';
  /** Attempts that the end of the process interrupted are not counted. */
  readonly attemptsMade: number;
  /** No attempt before this time, Unix ms. */
  readonly nextAttemptAtMs: number;
  /** A multipart upload that is neither completed nor aborted; null if there is none. */
  readonly uploadId: string | null;
}

export const FIRST_UPLOAD: UploadState = { kind: 'upload', attemptsMade: 0, nextAttemptAtMs: 0, uploadId: null };

/** Everything that an attempt needs, in a form that can be sent to a worker. */
export interface UploadTask {
  readonly kind: 'task';
  readonly file: ResultFile;
  readonly to:
    | { readonly kind: 's3'; readonly destination: S3Destination; readonly credentials: S3Credentials }
    | { readonly kind: 'http_put'; readonly url: string };
  readonly uploadId: string | null;
}

export type UploadTurn =
  | { readonly kind: 'delivered'; readonly bytes: number; readonly attempts: number }
  | { readonly kind: 'waiting'; readonly state: UploadState; readonly fault: ResultFault }
  /** The service is stopping; the attempt does not count. */
  | { readonly kind: 'stopped'; readonly state: UploadState }
  | ResultFault;

/**
 * Builds the task of an attempt. `columns` are those of the job's shaper. `secrets` is what is stored separately: the credentials for S3,
 * or the whole URL for a PUT, which may have a signature in its query. Null if the secrets cannot be decrypted.
 */
export function uploadTaskOf(
  job: Extraction,
  secrets: Readonly<Record<string, string>> | null,
  columns: ResultFile['columns'],
  uploadId: string | null,
): UploadTask | ResultFault {
  const { id, output, delivery, counts } = job;
  const file = { id, format: output.format, csv: output.csv, columns, records: counts.collected };
  if (delivery.s3 !== null) {
    const { accessKeyId, secretAccessKey } = secrets ?? {};
    if (accessKeyId === undefined || secretAccessKey === undefined) return NO_SECRETS;
    const credentials = { accessKeyId, secretAccessKey };
    return { kind: 'task', file, to: { kind: 's3', destination: delivery.s3, credentials }, uploadId };
  }
  const url = secrets?.['url'];
  return url === undefined ? NO_SECRETS : { kind: 'task', file, to: { kind: 'http_put', url }, uploadId };
}

const NO_SECRETS = finalFault('bad_destination', 'the secrets of the delivery cannot be decrypted');

/**
 * Makes one attempt to send a whole result. It reads and encodes, so it belongs in a worker. Between two slices of about 2 ms the thread
 * does other work. Never rejects.
 */
export async function upload({ file, to, uploadId }: Omit<UploadTask, 'kind'>, parts: S3Parts): Promise<SentPart> {
  try {
    if (to.kind === 'http_put') return await putResult(file, to.url, parts);
    const { destination, credentials } = to;
    return await putToS3({ file, destination, credentials, uploadId }, parts);
  } catch (error) {
    if (error instanceof RecordsMissing) return finalFault('records_missing', error.message);
    return { kind: 'failed', error: 'internal_error', detail: String(error), isFinal: false };
  }
}

/**
 * Returns what follows an attempt: the same waits as between the attempts of a webhook's delivery, over hours. `state.uploadId` is the last
 * saved one.
 */
export function afterUpload(state: UploadState, sent: SentPart, nowMs: number): UploadTurn {
  const attemptsMade = state.attemptsMade + 1;
  if (sent.kind === 'sent') return { kind: 'delivered', bytes: sent.bytes, attempts: attemptsMade };
  if (sent.error === 'shutdown') return { kind: 'stopped', state };
  const waitMs = PLANS.extraction.waitsMs[attemptsMade - 1];
  if (sent.isFinal || waitMs === undefined) return { ...sent, isFinal: true };
  return { kind: 'waiting', state: { ...state, attemptsMade, nextAttemptAtMs: nowMs + waitMs }, fault: sent };
}
