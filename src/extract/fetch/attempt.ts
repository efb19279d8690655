import type { Readable } from 'node:stream';
import { registrableDomain } from '../../core/registrable-domain.ts';
import { BodyCutError } from '../../egress/faults.ts';
import type { EgressHeaders, EgressOutcome } from '../../egress/outcome.ts';
import { FetchFailure, networkFault, RETRIES_MAX, retriesOf, statusFault, type Fault } from './failures.ts';
import type { FetchParts } from './parts.ts';
import type { Pieces } from './pieces.ts';
import { backoffMs, parseRetryAfter, RETRY_AFTER_MS_MAX } from './retry-wait.ts';

/** Choice: all of one attempt, so that a page that drips never holds a step for long. */
const ATTEMPT_MS_MAX = 20_000;
/** Choice: what connects at all connects within this; the rest of the time is the page's. */
const CONNECT_MS_MAX = 5_000;

export interface AttemptRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Over the wire. */
  readonly bytesMax: number;
  /** Of a body that is held; one with more is given while it comes. */
  readonly wholeBytesMax: number;
  readonly hasSession: boolean;
  readonly patience: Patience;
  /** Of statuses that are neither success nor redirect: those that are an answer all the same. */
  readonly isAnswer: (status: number) => boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: EgressHeaders;
  readonly body: Buffer;
  /** What follows `body`, of a success with a longer one; to be read or left. */
  readonly rest: Rest | null;
}

export interface Rest {
  /** Rejects with a `CutShort`. */
  readonly pieces: Pieces;
  /** No more of it is needed. */
  readonly leave: () => void;
}

/** The body came in part. Only who reads it knows whether what was read before can be read again. */
export class CutShort extends FetchFailure {}

type Attempt =
  | ({ readonly kind: 'answer' } & Answer)
  | { readonly kind: 'fault'; readonly fault: Fault; readonly detail: string; readonly retryAfterMs: number | null };

/** How often one fetch was tried again: over its redirects, and over bodies that were cut short. */
export interface Patience {
  retries: number;
}

/** Whether the fault allows another attempt; then it is counted, and the wait before it is over. */
async function mayRetry(parts: FetchParts, patience: Patience, fault: Fault, leastMs: number): Promise<boolean> {
  if (patience.retries >= Math.min(RETRIES_MAX, retriesOf(fault))) return false;
  const waitMs = leastMs + backoffMs(patience.retries, parts.random);
  patience.retries++;
  await parts.clock.wait(waitMs);
  return true;
}

/** What domains are polite by: the registrable domain, or the host itself where it has none. */
export function politeDomain(url: string): string {
  const { hostname } = new URL(url);
  return registrableDomain(hostname) ?? hostname;
}

/** One request, with the retries that its faults' policies allow. Rejects with a `FetchFailure` alone, or as the permit did. */
export async function fetchPatiently(parts: FetchParts, request: AttemptRequest): Promise<Answer> {
  for (;;) {
    const attempt = await attemptOnce(parts, request);
    if (attempt.kind === 'answer') return attempt;
    const { fault, detail, retryAfterMs } = attempt;
    if (retryAfterMs !== null) parts.polite.report(politeDomain(request.url), { retryAfterMs });
    if (retryAfterMs !== null && retryAfterMs > RETRY_AFTER_MS_MAX) throw new FetchFailure(fault, detail, retryAfterMs);
    if (!(await mayRetry(parts, request.patience, fault, retryAfterMs ?? 0))) throw new FetchFailure(fault, detail);
  }
}

/** Whether what was cut short is to be fetched once more; the wait before is over then. */
export async function mayFetchAgain(parts: FetchParts, error: unknown, patience: Patience): Promise<boolean> {
  return error instanceof CutShort && (await mayRetry(parts, patience, error.fault, 0));
}

async function attemptOnce(parts: FetchParts, request: AttemptRequest): Promise<Attempt> {
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

function judge(outcome: EgressOutcome, { url, hasSession, isAnswer }: AttemptRequest, nowMs: number): Attempt {
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

/** The first of several. */
export function headerOf(headers: EgressHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'object' ? value[0] : value;
}
