import type { CustomerNumber } from '../kernel/brand.ts';
import { type AnswerReader, type BatchReader, REQUEST_PUBLIC_KEY } from '../frames/batch-buffer.ts';
import { DECISIONS, type Decision } from '../risk/decision.ts';

/** A request that was decided. `body` is valid only until the call returns. */
export interface DecidedRequest {
  /** The time of the decision, Unix ms. */
  readonly atMs: number;
  readonly requestId: string;
  readonly publicKey: boolean;
  /** In observe mode the decision that would have been made. */
  readonly decision: Decision;
  /** As in `RequestMeta`. */
  readonly originHash: number;
  readonly body: Uint8Array;
}

/** Takes the verified requests of customers that want them logged. Called on the hot path: copies the bytes and returns. */
export interface RequestSink {
  wants(customer: CustomerNumber): boolean;
  request(customer: CustomerNumber, decided: DecidedRequest): void;
}

/** Where the id of a request stands in the text of its response. */
export const ID_AT = '{"request_id":"'.length;
export const ID_CHARACTERS = 30;

/** Passes the decided request at `at` of a batch buffer on. */
export function sinkRequest(
  sink: RequestSink,
  customer: CustomerNumber,
  requests: BatchReader,
  answers: AnswerReader,
  at: number,
): void {
  if (answers.status(at) !== 200 || !sink.wants(customer)) return;
  const { nowMs, flags, originHash } = requests.meta(at);
  const wouldBe = answers.wouldBe(at);
  sink.request(customer, {
    atMs: nowMs,
    requestId: answers.text(at).slice(ID_AT, ID_AT + ID_CHARACTERS),
    publicKey: (flags & REQUEST_PUBLIC_KEY) !== 0,
    decision: DECISIONS[wouldBe === -1 ? answers.decision(at) : wouldBe] ?? 'ALLOW',
    originHash,
    body: requests.body(at),
  });
}
