import type { DeliveryError } from '../../core/webhook.ts';

/** What the delivery of a result may end with, beside what the network does. For logs: the wire only tells that it failed. */
export type ResultError =
  | DeliveryError
  /** The job failed, so there is no result to send. */
  | 'job_failed'
  /** The destination or its credentials cannot be used as they are. */
  | 'bad_destination'
  /** The result is larger than its destination can be given. */
  | 'too_large'
  /** Records of the job are not in the store any more. */
  | 'records_missing'
  | 'internal_error';

export interface ResultFault {
  readonly kind: 'failed';
  readonly error: ResultError;
  /** For the operator's log: no secret, no URL with a query, no text of the other side but its error code. */
  readonly detail: string;
  /** Another attempt would fail as well. */
  readonly isFinal: boolean;
}

export function finalFault(error: ResultError, detail: string): ResultFault {
  return { kind: 'failed', error, detail, isFinal: true };
}

/** The records of a finished job that should be there and are not: it has expired, or was deleted. */
export class RecordsMissing extends Error {
  constructor(seq: number) {
    super(`the job has no record ${seq}`);
    this.name = 'RecordsMissing';
  }
}
