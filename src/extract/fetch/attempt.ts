import type { Readable } from 'node:stream';
import { registrableDomain } from '../../kernel/registrable-domain.ts';
import { BodyCutError } from '../../egress/faults.ts';
import type { EgressHeaders, EgressOutcome } from '../../egress/egress-outcome.ts';
import { FetchFailure, networkFault, RETRIES_MAX, retriesOf, statusFault, type Fault } from './source-failure.ts';
import type { FetchParts } from './fetch-parts.ts';
import type { Pieces } from './pieces.ts';
import { backoffMs, parseRetryAfter, RETRY_AFTER_MS_MAX } from './retry-wait.ts';

/** Choice: limit for one complete attempt, so that a slowly dripping page never holds a step for long. */
const ATTEMPT_MS_MAX = 20_000;
/** Choice: a connection that succeeds at all is made within this time. The remaining time is for the page. */
const CONNECT_MS_MAX = 5_000;

export interface SourceAttempt {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Maximum body size on the wire. */
  readonly bytesMax: number;
  /** Maximum size of a buffered body. A larger one is streamed. */
  readonly wholeBytesMax: number;
  readonly hasSession: boolean;
  readonly patience: Patience;
  /** Decides which statuses other than success and redirect count as responses. */
  readonly isAnswer: (status: number) => boolean;
}

export interface SourceAnswer {
  readonly status: number;
  readonly headers: EgressHeaders;
  readonly body: Buffer;
  /** The stream that follows `body` if a successful response has a longer body. Must be read or left. */
  readonly rest: Rest | null;
}

export interface Rest {
  /** Rejects with a `CutShort`. */
  readonly pieces: Pieces;
  /** Call when no more of the body is needed. */
  readonly leave: () => void;
}

/** The body is incomplete. Only its reader knows whether what was read so far can be read again. */
export class CutShort extends FetchFailure {}

type Attempt =
  | ({ readonly kind: 'answer' } & SourceAnswer)
  | { readonly kind: 'fault'; readonly fault: Fault; readonly detail: string; readonly retryAfterMs: number | null };

/** Number of retries of one fetch, including those after redirects and incomplete bodies. */
export interface Patience {
  retries: number;
}

/** Returns whether the fault allows another attempt. If so, counts it and waits before returning. */
async function mayRetry(parts: FetchParts, patience: Patience, fault: Fault, leastMs: number): Promise<boolean> {
  if (patience.retries >= Math.min(RETRIES_MAX, retriesOf(fault))) return false;
  const waitMs = leastMs + backoffMs(patience.retries, parts.random);
  patience.retries++;
  await parts.clock.wait(waitMs);
  return true;
}

/** Returns the domain for the rate limiter: the registrable domain, or the host itself if it has none. */
export function politeDomain(url: string): string {
  const { hostname } = new URL(url);
  return registrableDomain(hostname) ?? hostname;
}

/**
 * Sends one request, with the retries that the policies of its faults allow. Rejects only with a `FetchFailure`, or as the rate limiter's
 * token does.
 */
export async function fetchPatiently(parts: FetchParts, request: SourceAttempt): Promise<SourceAnswer> {
  for (;;) {
    const attempt = await attemptOnce(parts, request);
    if (attempt.kind === 'answer') return attempt;
    const { fault, detail, retryAfterMs } = attempt;
    if (retryAfterMs !== null) parts.polite.report(politeDomain(request.url), { retryAfterMs });
    if (retryAfterMs !== null && retryAfterMs > RETRY_AFTER_MS_MAX) throw new FetchFailure(fault, detail, retryAfterMs);
    if (!(await mayRetry(parts, request.patience, fault, retryAfterMs ?? 0))) throw new FetchFailure(fault, detail);
  }
}

/** Returns whether an incomplete body should be fetched again. If so, waits before returning. */
export async function mayFetchAgain(parts: FetchParts, error: unknown, patience: Patience): Promise<boolean> {
  return error instanceof CutShort && (await mayRetry(parts, patience, error.fault, 0));
}

async function attemptOnce(parts: FetchParts, request: SourceAttempt): Promise<Attempt> {
  const { url } = request;
  const domain = politeDomain(url);
  await parts.polite.permit(domain, url);
  let isGoingOn = false;
  try {
    const outcome = await parts.client.request({
      url,
      method: 'GET',
      headers: request.headers,
      timeoutMs: ATTEMPT_MS_MAX,
      connectMs: CONNECT_MS_MAX,
      responseBytesMax: request.bytesMax,
      wholeBytesMax: request.wholeBytesMax,
      idempotent: true,
    });
    const attempt = judge(outcome, request, parts.clock.nowMs());
    if (outcome.kind === 'failed' || outcome.rest === undefined) return attempt;
    if (attempt.kind === 'fault' || attempt.rest === null) outcome.rest.destroy();
    else {
      isGoingOn = true;
      outcome.rest.once('close', () => parts.polite.release(domain));
    }
    return attempt;
  } catch (error) {
    return { kind: 'fault', fault: 'unsendable', detail: `${url}: ${String(error)}`, retryAfterMs: null };
  } finally {
    if (!isGoingOn) parts.polite.release(domain);
  }
}

function judge(outcome: EgressOutcome, { url, hasSession, isAnswer }: SourceAttempt, nowMs: number): Attempt {
  if (outcome.kind === 'failed') {
    const detail = `${url}: ${outcome.error}: ${outcome.detail}`;
    return { kind: 'fault', fault: networkFault(outcome.error), detail, retryAfterMs: null };
  }
  const { status, headers, body, rest } = outcome;
  if (status < 400 || isAnswer(status)) {
    const isLong = rest !== undefined && status >= 200 && status < 300;
    return { kind: 'answer', status, headers, body, rest: isLong ? restOf(rest, url) : null };
  }
  const fault = statusFault(status, hasSession);
  const mayWait = fault === 'rate_limited' || fault === 'server_error';
  const retryAfterMs = mayWait ? parseRetryAfter(headerOf(headers, 'retry-after'), nowMs) : null;
  return { kind: 'fault', fault, detail: `${url}: status ${status}`, retryAfterMs };
}

function restOf(stream: Readable, url: string): Rest {
  async function* pieces(): AsyncGenerator<Buffer> {
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) yield piece;
    } catch (error) {
      if (!(error instanceof BodyCutError)) throw error;
      throw new CutShort(networkFault(error.fault.error), `${url}: in the body: ${error.message}`);
    }
  }
  return { pieces: pieces(), leave: () => stream.destroy() };
}

/** Returns the first value if there are several. */
export function headerOf(headers: EgressHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'object' ? value[0] : value;
}
