import type { Clock } from '../base/clock.ts';
import type { Exchange, RequestHead, Route } from '../base/exchange.ts';
import { problem, type Problem } from '../base/problem.ts';
import { bodyTooLarge } from '../base/reply.ts';
import { BATCH_REQUESTS_MAX, DECIDE_ACTIVE_MS, DECIDE_BODY_BYTES_MAX, QUEUE_PLACE_BYTES } from '../limits.ts';
import { type AnswerReader, REQUEST_PUBLIC_KEY, REQUEST_WARM_UP } from '../pools/frame.ts';
import type { ScorePool } from '../pools/score-pool.ts';
import { Batcher } from './batcher.ts';
import type { DueDeliveries } from './due.ts';
import type { Journal } from './journal.ts';
import type { Key, Keyring } from './keyring.ts';
import type { DecisionLedger } from './ledger.ts';
import type { DecideObserver } from './observer.ts';
import { rateFields, type RateState, type RateWindows } from './rate-windows.ts';
import type { ReplayEntry, ReplayGuard } from './replay-guard.ts';
import type { VisitorSource } from './visitor-source.ts';
import { answerDecision, answerRefusal } from './respond.ts';
import { checkCredentialForm, checkHeader, verifyRequest } from './verify.ts';

/**
 * The way of one decision, on the main thread:
 *
 *   receive → verify → admit → batch → (score, in a worker) → journal → ledger → respond → deliver, behind it (src/deliver)
 *
 * Each stage is one function below or one file beside this one; what they share is handed in.
 */
export interface DecideParts {
  readonly clock: Clock;
  readonly keyring: Keyring;
  readonly rates: RateWindows;
  readonly visitorSource: VisitorSource;
  readonly replay: ReplayGuard;
  readonly journal: Journal;
  readonly pool: ScorePool;
  readonly ledger: DecisionLedger;
  readonly due: DueDeliveries;
  readonly observer: DecideObserver;
  /** Set in the flags of every request; 0 without it. */
  readonly flags?: number;
}

/** What is kept of a request between its batch and its answer. */
export interface Pending {
  readonly exchange: Exchange;
  readonly key: Key;
  readonly rate: RateState;
  readonly replay: ReplayEntry;
  /** The decision's time, Unix ms. */
  readonly occurredAtMs: number;
  /** `performance.now()` at its arrival. */
  readonly startedAtMs: number;
  /** How many decisions its log line stands for; 0 without a line. */
  readonly logged: number;
}

/** Why a request is refused whose id no restart would remember. */
export const UNWRITTEN = 'Request ids cannot be written to the disk at the moment.';

export interface DecidePipeline {
  readonly route: Route;
  readonly queued: () => number;
  /** How busy the path is; everything else on this thread gives way by it. */
  readonly load: (nowMs: number) => 'idle' | 'active' | 'behind';
  /** How long the batch that is longest with a worker has been there, ms. */
  readonly oldestInFlightMs: (nowMs: number) => number;
  /** Resolves when every request that was taken in has its answer. */
  drain(): Promise<void>;
}

export function createDecidePipeline(parts: DecideParts): DecidePipeline {
  const { clock, keyring, rates, visitorSource, replay, journal, pool, ledger, due, observer } = parts;
  const { flags: ownFlags = 0 } = parts;
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  let lastArrivalMs = Number.NEGATIVE_INFINITY;

  const own = framesOf(pool, (ownFlags & REQUEST_WARM_UP) !== 0);
  const batcher = new Batcher<Pending>({
    frames: pool.frames.slice(own.first, own.end),
    inFlightMax: pool.inFlightMax,
    run: (task) => pool.run(own.first === 0 ? task : { ...task, frame: own.first + task.frame }),
    attend: () => pool.attend(),
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

  /** Refuses what the header is enough for, so that a large body is neither waited for nor hashed. Usual ones come with their header. */
  function isRefusedEarly(head: RequestHead, exchange: Exchange): boolean {
    if (batcher.isFull()) {
      refuse(exchange, overloaded('The service is at its capacity.'), sourceRate(exchange), true);
      return true;
    }
    const fault = checkHeader(head, keyring, clock);
    if (fault !== null) refuseUnverified(exchange, fault, true);
    return fault !== null;
  }

  function verify(head: RequestHead, body: Uint8Array, exchange: Exchange, startedAtMs: number): void {
    if (batcher.isFull()) {
      refuse(exchange, overloaded('The service is at its capacity.'), sourceRate(exchange));
      return;
    }
    // Before any work: no decision could be answered.
    if (journal.broken !== null) {
      refuse(exchange, overloaded(UNWRITTEN), sourceRate(exchange));
      return;
    }
    const verified = verifyRequest(head, body, keyring, clock);
    if (verified.kind === 'refused') refuseUnverified(exchange, verified.problem);
    else admit(head, body, exchange, verified.key, verified.timestampSeconds, startedAtMs);
  }

  function admit(
    head: RequestHead,
    body: Uint8Array,
    exchange: Exchange,
    key: Key,
    timestampSeconds: number,
    startedAtMs: number,
  ): void {
    if (!batcher.hasShare(key.customer, flagsOf(key), body.length)) {
      refuse(
        exchange,
        overloaded('As many requests of this customer wait as the service takes at once.'),
        sourceRate(exchange),
      );
      return;
    }
    const now = nowSeconds();
    const rate = takeRate(key, exchange, now);
    if (!rate.allowed) {
      refuse(exchange, rateLimited(rate), rate);
      return;
    }
    const admitted = replay.admit(key.number, head.svcRequestId, timestampSeconds, now);
    if (admitted === 'accepted') {
      const occurredAtMs = clock.nowMs();
      const logged = observer.sampleLine();
      batch(body, { exchange, key, rate, replay: { ...replay.last }, occurredAtMs, startedAtMs, logged });
    } else if (admitted === 'replayed') {
      refuse(exchange, problem('replayed_request', 'X-SVC-Rid was already accepted for this key.'), rate);
    } else refuse(exchange, overloaded('No more request ids can be remembered at the moment.'), rate);
  }

  /** The address costs half a microsecond, so only where anyone may use the key. */
  function takeRate(key: Key, exchange: Exchange, now: number): RateState {
    const source = key.kind === 'public' ? visitorSource(exchange.remoteAddress()) : null;
    if (source === null) return rates.take(key.number, key.rateLimit, now);
    return rates.takeVisitor(key.number, key.rateLimit, source, now);
  }

  function batch(body: Uint8Array, pending: Pending): void {
    const { key, occurredAtMs } = pending;
    batcher.add(body, key.customer, flagsOf(key), occurredAtMs, pending);
  }

  function flagsOf(key: Key): number {
    return ownFlags | (key.kind === 'public' ? REQUEST_PUBLIC_KEY : 0);
  }

  function respond(batchOf: readonly Pending[], answers: AnswerReader, from: number, failed = false): void {
    for (const [i, pending] of batchOf.entries()) {
      journal.stage(pending.replay);
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
        else answerDecision(pending, answers, from + i, ledger, observer);
      } catch (error) {
        // That request is lost, and nothing else. Where it was answered already, this answer goes nowhere.
        observer.batchFailed(error);
        refuseFailed(pending);
      }
    }
  }

  /** What the decision owes to webhooks goes into the same write as its request id, so that neither is ever lost without the other. */
  function owe({ key, occurredAtMs }: Pending, answers: AnswerReader, at: number): void {
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

  /** A restart would accept its id again, so it is not accepted now; the caller may send it again with the same id. */
  function refuseUnwritten({ exchange, rate, replay: entry }: Pending): void {
    replay.forget(entry);
    refuse(exchange, overloaded(UNWRITTEN), rate);
  }

  function refuseFailed({ exchange, rate }: Pending): void {
    refuse(exchange, problem('internal_error', 'The decision failed.'), rate);
  }

  /** A failed authentication counts against its source address; past that allowance the answer is 429 and ends the connection. */
  function refuseUnverified(exchange: Exchange, fault: Problem, close = false): void {
    const source = rates.takeFailure(exchange.remoteAddress(), nowSeconds());
    refuse(exchange, source.allowed ? fault : rateLimited(source), source, close || !source.allowed);
  }

  function refuse(exchange: Exchange, fault: Problem, rate: RateState, close = false): void {
    observer.refused(fault.code);
    answerRefusal(exchange, fault, rate, close);
  }

  function sourceRate(exchange: Exchange): RateState {
    return rates.peekFailures(exchange.remoteAddress(), nowSeconds());
  }

  return {
    route: {
      path: '/v1/decide',
      methods: { POST: receive },
      bodyBytesMax: DECIDE_BODY_BYTES_MAX,
      refusalFields: (exchange) => rateFields(sourceRate(exchange)),
    },
    queued: () => batcher.queued,
    load(nowMs) {
      if (batcher.queued > BATCH_REQUESTS_MAX) return 'behind';
      return nowMs - lastArrivalMs < DECIDE_ACTIVE_MS ? 'active' : 'idle';
    },
    oldestInFlightMs: (nowMs) => batcher.oldestInFlightMs(nowMs),
    drain: () => batcher.drain(),
  };
}

/** The warm-up and real requests run at the same time, each with frames of its own. */
function framesOf(
  { frames, warmUpFrames = 0 }: ScorePool,
  isWarmUp: boolean,
): { readonly first: number; readonly end: number } {
  const served = frames.length - warmUpFrames;
  return isWarmUp && warmUpFrames > 0 ? { first: served, end: frames.length } : { first: 0, end: served };
}

export function overloaded(detail: string): Problem {
  return problem('overloaded', detail, { retryAfterSeconds: 1 });
}

export function rateLimited(rate: RateState): Problem {
  return problem('rate_limited', 'The allowance of this window is used up.', {
    retryAfterSeconds: rate.retryAfterSeconds,
  });
}
