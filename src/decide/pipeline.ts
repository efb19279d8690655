import { unreachable } from '../kernel/brand.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Exchange, Handler, RequestHead, Route } from '../http/exchange.ts';
import { problem, type Problem } from '../contract/problem.ts';
import { bodyTooLarge } from '../http/reply.ts';
import { ROUTES } from '../contract/routes.ts';
import {
  BATCH_REQUESTS_MAX,
  DECIDE_ACTIVE_MS,
  DECIDE_BODY_BYTES_MAX,
  QUEUE_PLACE_BYTES,
  TIMESTAMP_WINDOW_SECONDS,
} from '../kernel/limits.ts';
import { type AnswerReader, REQUEST_DEGRADED, REQUEST_PUBLIC_KEY, REQUEST_WARM_UP } from '../frames/batch-buffer.ts';
import { batchesOf, type ScorePool } from '../frames/score-pool.ts';
import { type AnsweredBatch, Batcher } from './batcher.ts';
import { type RequestSink, sinkRequest } from './request-sink.ts';
import type { DueDeliveries } from './due.ts';
import type { Journal } from './journal.ts';
import { accessFault } from '../auth/key-access.ts';
import type { Key, KeyCache } from '../auth/key-cache.ts';
import type { DecisionSink } from './decision-sink.ts';
import type { DecideObserver } from './observer.ts';
import type { Admission, RateState, AdmissionVerdict } from '../ports/admission.ts';
import type { FailedAuthentications } from './failed-authentications.ts';
import type { StagedRequest, Pending } from './pending-decision.ts';
import { rateFields } from './rate-fields.ts';
import { RepeatAnswers, type RepeatParts, requestRepeat } from './repeat-answers.ts';
import { askedFlag, exchangeFor, readTestInput, testOutage } from './test-inputs.ts';
import type { VisitorSource } from './visitor-source.ts';
import { answerDecision, answerRefusal, overloaded, rateLimited } from './respond.ts';
import { hashOrigin } from '../risk/signals/collector-grant.ts';
import { checkCredentialForm, checkHeader, timestampOutOfWindow, verifyRequest } from '../auth/verify.ts';

/**
 * Stages of a decision, on the main thread:
 *
 *   receive → verify → admit (once a turn) → batch → (score, in a worker) → journal → decision sink → respond
 *   → deliver, afterwards (src/webhooks)
 *
 * Each stage is one function below or one file in this folder; shared parts are passed in.
 */
export interface DecideParts {
  readonly clock: Clock;
  readonly keyCache: KeyCache;
  readonly admission: Admission;
  readonly failures: FailedAuthentications;
  readonly visitorSource: VisitorSource;
  readonly journal: Journal;
  readonly pool: ScorePool;
  readonly decisionSink: DecisionSink;
  readonly due: DueDeliveries;
  readonly observer: DecideObserver;
  /** Without it an `Idempotency-Key` has no effect. */
  readonly repeats?: RepeatParts;
  /** Default: none. */
  readonly requestSink?: RequestSink;
  /** Set in the flags of every request; default 0. */
  readonly flags?: number;
}

/** Error detail for requests whose id a restart would not remember. */
export const UNWRITTEN = 'Request ids cannot be written to the disk at the moment.';
/** Error detail for requests that could not be admitted, because the store of their ids cannot be reached. */
export const UNREACHED = 'Request ids cannot be checked at the moment.';

const REPLAYED = 'X-SVC-Rid was already accepted for this key.';
const AT_CAPACITY = 'The service is at its capacity.';
const FULL = 'There is no room for further request ids of this key at the moment.';

export interface DecidePipeline {
  readonly route: Route & { readonly methods: { readonly POST: Handler } };
  /** Decides about a body that a verified caller of this process made. The response is sent to `exchange`, as that of a request is. */
  submit(key: Key, body: Uint8Array, exchange: Exchange): void;
  readonly queued: () => number;
  /** Load of the decide path; all other work on this thread yields according to it. */
  readonly load: (nowMs: number) => 'idle' | 'active' | 'behind';
  /** Returns how long the oldest batch in flight has been with a worker, ms. */
  readonly oldestInFlightMs: (nowMs: number) => number;
  /** Resolves when every accepted request has been answered. */
  drain(): Promise<void>;
  /** As `drain`. Whatever arrives from now on is refused. */
  close(): Promise<void>;
}

export function createDecidePipeline(parts: DecideParts): DecidePipeline {
  const { clock, keyCache, admission, failures, visitorSource, journal, pool, decisionSink, due, observer } = parts;
  const { flags: ownFlags = 0, requestSink } = parts;
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  const repeats = parts.repeats ? new RepeatAnswers(parts.repeats, { write: writeId, refuse: refusePending }) : null;
  let lastArrivalMs = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  const own = batchesOf(pool, (ownFlags & REQUEST_WARM_UP) !== 0);
  const batcher = new Batcher<StagedRequest, Pending>({
    frames: pool.frames.slice(own.first, own.end),
    inFlightMax: pool.inFlightMax,
    inFlightRequestsMax: pool.inFlightRequestsMax,
    run: (task) => pool.run(own.first === 0 ? task : { ...task, frame: own.first + task.frame }),
    attend: () => pool.attend(),
    admit,
    flagsOf: ({ isDegraded }) => (isDegraded === true ? REQUEST_DEGRADED : 0),
    onBatch: (count) => observer.batchLeft(count),
    onBatchFailed: (error) => observer.batchFailed(error),
    onAnswers: respond,
  });

  function receive(head: RequestHead, exchange: Exchange): void {
    const startedAtMs = performance.now();
    lastArrivalMs = startedAtMs;
    const formFault = checkCredentialForm(head);
    if (formFault !== null) refuseUnverified(exchange, formFault);
    else if (head.contentLength <= QUEUE_PLACE_BYTES || !isRefusedEarly(head, exchange)) {
      exchange.readBody(DECIDE_BODY_BYTES_MAX, (body) => {
        if (body === null) refuse(exchange, bodyTooLarge(DECIDE_BODY_BYTES_MAX), sourceRate(exchange), true);
        else verify(head, body, exchange, startedAtMs);
      });
    }
  }

  /**
   * Rejects requests that the header alone disqualifies, so that a large body is neither awaited nor hashed. Bodies of usual size arrive
   * with their header.
   */
  function isRefusedEarly(head: RequestHead, exchange: Exchange): boolean {
    if (batcher.isFull()) {
      refuse(exchange, overloaded('capacity', AT_CAPACITY), sourceRate(exchange), true);
      return true;
    }
    const fault = checkHeader(head, keyCache, clock);
    if (fault !== null) refuseUnverified(exchange, fault, true);
    return fault !== null;
  }

  function verify(head: RequestHead, body: Uint8Array, exchange: Exchange, startedAtMs: number): void {
    // Checked before any work.
    const lack = unable();
    if (lack !== null) {
      refuse(exchange, lack, sourceRate(exchange), isClosed);
      return;
    }
    const verified = verifyRequest(head, body, keyCache, clock);
    if (verified.kind === 'refused') {
      refuseUnverified(exchange, verified.problem);
      return;
    }
    const { key, timestampSeconds } = verified;
    const repeat = repeats === null ? null : requestRepeat(head, key, body);
    const fault = accessFault(key, 'decide', exchange) ?? (repeat !== null && 'status' in repeat ? repeat : null);
    if (fault !== null) {
      refuse(exchange, fault, sourceRate(exchange), false, key);
      return;
    }
    stage(body, exchange, key, {
      requestId: head.svcRequestId,
      timestampSeconds,
      startedAtMs,
      originHash: originHashOf(head, key),
      ...(repeat !== null && 'key' in repeat && { repeat }),
    });
  }

  /** Returns why no decision could be made or answered now. */
  function unable(): Problem | null {
    if (isClosed) return overloaded('stopping', 'The service is stopping.');
    if (batcher.isFull()) return overloaded('capacity', AT_CAPACITY);
    return journal.broken === null ? null : overloaded('disk', UNWRITTEN);
  }

  /** Such a request has no id: its caller was verified in another way. */
  function submit(key: Key, body: Uint8Array, exchange: Exchange): void {
    const startedAtMs = performance.now();
    lastArrivalMs = startedAtMs;
    const lack = unable();
    if (lack !== null) refuse(exchange, lack, sourceRate(exchange), isClosed);
    else stage(body, exchange, key, { requestId: null, timestampSeconds: nowSeconds(), startedAtMs, originHash: 0 });
  }

  /** Collects the request for its admission at the end of this turn of the event loop. */
  function stage(
    body: Uint8Array,
    exchange: Exchange,
    key: Key,
    {
      requestId,
      timestampSeconds,
      startedAtMs,
      originHash,
      repeat,
    }: Pick<StagedRequest, 'requestId' | 'timestampSeconds' | 'startedAtMs' | 'repeat'> & {
      readonly originHash: number;
    },
  ): void {
    const input = readTestInput(key.customer, body);
    if (input === 'down') {
      refuse(exchange, testOutage(), sourceRate(exchange), false, key);
      return;
    }
    const flags = ownFlags | (key.kind === 'public' ? REQUEST_PUBLIC_KEY : 0) | askedFlag(input);
    if (!batcher.hasShare(key.customer, flags, body.length)) {
      refuse(
        exchange,
        overloaded('customer_share', 'Too many requests of this customer are waiting for a decision.'),
        sourceRate(exchange),
        false,
        key,
      );
      return;
    }
    const occurredAtMs = clock.nowMs();
    const request: StagedRequest = {
      window: 'decide',
      keyNumber: key.number,
      allowance: key.rateLimit,
      // Parsing the address costs half a microsecond, so it is done only for keys that anyone may use.
      source: key.kind === 'public' ? visitorSource(exchange.remoteAddress()) : null,
      requestId,
      timestampSeconds,
      nowSeconds: Math.floor(occurredAtMs / 1000),
      exchange: exchangeFor(input, exchange),
      key,
      occurredAtMs,
      startedAtMs,
      ...(repeat !== undefined && { repeat }),
    };
    batcher.add(body, key.customer, flags, occurredAtMs, request, originHash);
  }

  function admit(
    arrived: readonly StagedRequest[],
  ): readonly (Pending | null)[] | Promise<readonly (Pending | null)[]> {
    try {
      const verdicts = admission.admit(arrived);
      if (!(verdicts instanceof Promise)) return settleAdmissions(verdicts);
      return verdicts.then(settleAdmissions).catch((error: unknown) => failAdmission(arrived, error));
    } catch (error) {
      return failAdmission(arrived, error);
    }
  }

  function settleAdmissions(verdicts: readonly AdmissionVerdict<StagedRequest>[]): readonly (Pending | null)[] {
    const now = nowSeconds();
    return verdicts.map((verdict) => settleAdmission(verdict, now));
  }

  /** Returns the verdict on a request that continues; null for one that was refused and answered. */
  function settleAdmission(verdict: AdmissionVerdict<StagedRequest>, now: number): Pending | null {
    const { exchange, key, timestampSeconds } = verdict.request;
    switch (verdict.outcome) {
      case 'admitted':
        if (now <= timestampSeconds + TIMESTAMP_WINDOW_SECONDS || clock.followsTimestamps)
          return repeats === null ? verdict : repeats.admit(verdict);
        // An earlier copy may have been forgotten since the request was verified.
        refuseUnverified(exchange, timestampOutOfWindow(now));
        break;
      case 'rate_limited':
        refuse(exchange, rateLimited(verdict), verdict, false, key);
        break;
      case 'replayed':
        // It proves no more than what was overheard, so it counts against its source and not against the key.
        refuseUnverified(exchange, problem('replayed_request', REPLAYED), false, key);
        break;
      case 'full':
        refuse(exchange, overloaded('request_ids', FULL), verdict, false, key);
        break;
      case 'unavailable':
        refuse(exchange, overloaded('shared_store', UNREACHED), sourceRate(exchange));
        break;
      default:
        unreachable(verdict);
    }
    return null;
  }

  /** Whether the requests were counted is unknown, so none of them is decided. */
  function failAdmission(arrived: readonly StagedRequest[], error: unknown): readonly null[] {
    observer.batchFailed(error);
    return arrived.map(({ exchange }) => {
      refuse(exchange, problem('internal_error', 'The decision failed.'), sourceRate(exchange));
      return null;
    });
  }

  function respond(
    batchOf: readonly Pending[],
    { answers, requests }: AnsweredBatch,
    from: number,
    failed = false,
  ): void {
    for (const [i, pending] of batchOf.entries()) {
      if (pending.id !== null) admission.stage(pending.id);
      if (!failed && answers.status(from + i) === 200) owe(pending, answers, from + i);
    }
    const isWritten = journal.commit(nowSeconds());
    settle(isWritten);
    if (!isWritten) {
      for (const pending of batchOf) refuseUnwritten(pending);
      return;
    }
    for (const [i, pending] of batchOf.entries()) {
      try {
        if (failed) refuseFailed(pending);
        else {
          const outcome = answerDecision(pending, answers, from + i, decisionSink, observer);
          repeats?.finish(pending, outcome);
          if (requestSink !== undefined)
            sinkRequest(requestSink, pending.request.key.customer, requests, answers, from + i);
        }
      } catch (error) {
        // Only this request is lost. If it was answered already, this second response is dropped.
        observer.batchFailed(error);
        refuseFailed(pending);
      }
    }
  }

  /** Puts the decision's outbox entry into the same write as its request id, so that neither is ever lost without the other. */
  function owe({ request: { key, occurredAtMs } }: Pending, answers: AnswerReader, at: number): void {
    try {
      due.decided(key.customer, occurredAtMs, answers, at);
    } catch (error) {
      observer.batchFailed(error);
    }
  }

  function settle(isWritten: boolean): void {
    try {
      due.committed(isWritten);
    } catch (error) {
      observer.batchFailed(error);
    }
  }

  /** A restart would accept this id again, so the request is rejected; the caller may retry with the same id. */
  function refuseUnwritten(pending: Pending): void {
    if (pending.id !== null) admission.release(pending.id);
    refusePending(pending, overloaded('disk', UNWRITTEN));
  }

  function refuseFailed(pending: Pending): void {
    refusePending(pending, problem('internal_error', 'The decision failed.'));
  }

  function refusePending(pending: Pending, fault: Problem): void {
    refuse(pending.request.exchange, fault, pending, false, pending.request.key);
    repeats?.finish(pending, fault);
  }

  /** For a request that no batch answers. */
  function writeId(pending: Pending): boolean {
    if (pending.id !== null) admission.stage(pending.id);
    const isWritten = journal.commit(nowSeconds());
    settle(isWritten);
    if (!isWritten) refuseUnwritten(pending);
    return isWritten;
  }

  /** Counts a failed authentication against its source address. Beyond that allowance the response is 429 and closes the connection. */
  function refuseUnverified(exchange: Exchange, fault: Problem, close = false, key: Key | null = null): void {
    const source = failures.take(exchange.remoteAddress(), nowSeconds());
    refuse(exchange, source.allowed ? fault : rateLimited(source), source, close || !source.allowed, key);
  }

  function refuse(exchange: Exchange, fault: Problem, rate: RateState, close = false, key: Key | null = null): void {
    observer.refused(fault.code, key);
    answerRefusal(exchange, fault, rate, close);
  }

  function sourceRate(exchange: Exchange): RateState {
    return failures.peek(exchange.remoteAddress(), nowSeconds());
  }

  return {
    route: {
      path: ROUTES.decide.path,
      methods: { POST: receive },
      bodyBytesMax: ROUTES.decide.bodyBytesMax,
      refusalFields: (exchange) => rateFields(sourceRate(exchange)),
    },
    submit,
    queued: () => batcher.queued,
    load(nowMs) {
      if (batcher.queued > BATCH_REQUESTS_MAX) return 'behind';
      return nowMs - lastArrivalMs < DECIDE_ACTIVE_MS ? 'active' : 'idle';
    },
    oldestInFlightMs: (nowMs) => batcher.oldestInFlightMs(nowMs),
    drain: () => batcher.drain(),
    close() {
      isClosed = true;
      return batcher.drain();
    },
  };
}

/** Only browsers send a true Origin, and only public keys belong into them. */
function originHashOf(head: RequestHead, key: Key): number {
  const origin = key.kind === 'public' ? head.cold.get('origin') : '';
  return origin === '' ? 0 : hashOrigin(origin);
}
