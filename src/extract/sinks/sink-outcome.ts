import type { DeliveryError } from '../../work/webhook.ts';

/** How the delivery of a result can fail, in addition to network errors. For logs only: the API reports only that it failed. */
export type ResultError =
  | DeliveryError
  /** The job failed, so there is no result to send. */
  | 'job_failed'
  /** The destination or its credentials are unusable. */
  | 'bad_destination'
  /** The result is larger than the destination accepts. */
  | 'too_large'
  /** Records of the job are no longer in the store. */
  | 'records_missing'
  | 'internal_error';

export interface ResultFault {
  readonly kind: 'failed';
  readonly error: ResultError;
  /** For the operator's log: no secret, no URL with a query, and no text from the other side except its error code. */
  readonly detail: string;
  /** Another attempt would fail as well. */
  readonly isFinal: boolean;
}

export function finalFault(error: ResultError, detail: string): ResultFault {
  return { kind: 'failed', error, detail, isFinal: true };
}

/** Thrown if records of a finished job are missing: the job has expired or was deleted. */
export class RecordsMissing extends Error {
  constructor(seq: number) {
    super(`the job has no record ${seq}`);
    this.name = 'RecordsMissing';
  }
}
