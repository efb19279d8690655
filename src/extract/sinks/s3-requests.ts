import { createHash } from 'node:crypto';
import type { DeliveryError } from '../../work/webhook.ts';
import { attemptError } from '../../work/webhook-schedule.ts';
import type { EgressOutcome } from '../../egress/egress-outcome.ts';
import { backoffMs, parseRetryAfter } from '../fetch/retry-wait.ts';
import type { ResultFault } from './sink-outcome.ts';
import { ANSWER_BYTES_MAX, CONNECT_MS, type SendParts, timeoutMsOf, USER_AGENT } from './sending.ts';
import { errorCodeOf, readS3Answer, type S3Answer } from './s3-answer.ts';
import type { S3Credentials } from './s3-location.ts';
import { s3Headers } from './s3-sign.ts';

export interface S3Request {
  readonly method: 'PUT' | 'POST' | 'DELETE' | 'HEAD';
  /** Percent-encoded, sorted by name; '' for none. */
  readonly query: string;
  readonly body: Uint8Array | null;
  readonly contentType?: string;
  /** A 2xx response is accepted only with this root element. Any other is a temporary fault. */
  readonly root?: string;
  /** Additional time for the request besides what its body needs, ms. */
  readonly workMs?: number;
}

export type S3Outcome =
  | {
      readonly kind: 'ok';
      readonly headers: Readonly<Record<string, string | string[]>>;
      readonly answer: S3Answer | null;
    }
  | S3Refusal;

export interface S3Refusal extends ResultFault {
  /** The service's error code; null if it sent none. */
  readonly code: string | null;
  /** An earlier attempt may have succeeded although its response was lost. */
  readonly mayBeDone: boolean;
}

/** Choice: with waits of up to 0.5, 1, 2 and 4 s. Longer failures are handled by the schedule, over hours. */
const ATTEMPTS_MAX = 5;
/** Choice: if a service asks for a longer wait, the schedule makes the next attempt. */
const RETRY_AFTER_MS_MAX = 20_000;
/** Error codes with status 400 that are temporary. Source: Amazon S3 API reference, "Error responses". */
const PASSING_CODES = new Set([
  'RequestTimeout',
  'SlowDown',
  'InternalError',
  'ServiceUnavailable',
  'OperationAborted',
]);
const PASSING_STATUSES = new Set([408, 425, 429]);

/** Requests for one object, each attempt with a new signature, retried if that may help. */
export class S3Requests {
  readonly #parts: SendParts;
  readonly #object: URL;
  readonly #region: string;
  readonly #credentials: S3Credentials;

  constructor(parts: SendParts, object: URL, region: string, credentials: S3Credentials) {
    this.#parts = parts;
    this.#object = object;
    this.#region = region;
    this.#credentials = credentials;
  }

  async send(request: S3Request): Promise<S3Outcome> {
    const sha256 = createHash('sha256')
      .update(request.body ?? EMPTY)
      .digest('hex');
    let mayBeDone = false;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(request, sha256);
      const read = readOutcome(outcome, request);
      if (read.kind === 'ok') return read;
      mayBeDone ||= outcome.kind === 'failed' || outcome.status >= 500 || outcome.status < 300;
      if (read.isFinal || attempt >= ATTEMPTS_MAX || read.error === 'shutdown') return { ...read, mayBeDone };
      await this.#parts.wait(this.#waitMs(outcome, attempt));
      if (this.#parts.isStopping()) return { ...read, error: 'shutdown', mayBeDone };
    }
  }

  #attempt({ method, query, body, contentType, workMs = 0 }: S3Request, bodySha256: string): Promise<EgressOutcome> {
    const url = new URL(this.#object);
    url.search = query;
    const headers = contentType === undefined ? {} : { 'content-type': contentType };
    const region = this.#region;
    const credentials = this.#credentials;
    const nowMs = this.#parts.nowMs();
    return this.#parts.client.request({
      url: url.href,
      method,
      headers: {
        ...s3Headers({ method, url, headers, bodySha256, region, credentials, nowMs }),
        'user-agent': USER_AGENT,
      },
      body,
      timeoutMs: timeoutMsOf(body?.length ?? 0) + workMs,
      connectMs: CONNECT_MS,
      responseBytesMax: ANSWER_BYTES_MAX,
      // Putting a part or an object twice has the same result. Starting an upload twice leaves one behind.
      idempotent: method === 'PUT' || method === 'HEAD',
    });
  }

  #waitMs(outcome: EgressOutcome, attempt: number): number {
    const backoff = backoffMs(attempt - 1, () => this.#parts.random());
    if (outcome.kind === 'failed') return backoff;
    const header = outcome.headers['retry-after'];
    const asked = parseRetryAfter(typeof header === 'string' ? header : undefined, this.#parts.nowMs()) ?? 0;
    return Math.max(backoff, Math.min(asked, RETRY_AFTER_MS_MAX));
  }
}

const EMPTY = Buffer.alloc(0);

/**
 * Completing may respond with 200 and an error in its body. Source: Amazon S3 API reference, CompleteMultipartUpload.
 * Choice: rejections by the service (credentials, permissions, bucket, region, a redirect) are permanent, because all of these belong to
 * the job, and hours of wrong signatures look like an attack.
 */
function readOutcome(outcome: EgressOutcome, { method, root }: S3Request): S3Outcome {
  if (outcome.kind === 'failed') return refusal(outcome.error, outcome.detail, null, false);
  const { status, headers, body } = outcome;
  const answer = body.length === 0 ? null : readS3Answer(body);
  const code = errorCodeOf(answer);
  const isSuccess = status >= 200 && status <= 299;
  if (isSuccess && code === null && (root === undefined || answer?.root === root))
    return { kind: 'ok', headers, answer };
  const error: DeliveryError = isSuccess ? 'http_status' : (attemptError(outcome) ?? 'http_status');
  const passes = isSuccess || status >= 500 || PASSING_STATUSES.has(status) || PASSING_CODES.has(code ?? '');
  return refusal(error, `${method} answered ${status} ${code ?? 'without a code'}`, code, !passes);
}

function refusal(error: DeliveryError, detail: string, code: string | null, isFinal: boolean): S3Refusal {
  return { kind: 'failed', error, detail, code, isFinal, mayBeDone: false };
}
