import { unreachable } from '../../kernel/brand.ts';
import type { Clock } from '../../kernel/clock.ts';
import { RATE_MANAGEMENT, TIMESTAMP_WINDOW_SECONDS } from '../../kernel/limits.ts';
import { type Authenticated, keyNotAllowed } from '../../auth/authenticate.ts';
import { accessFault } from '../../auth/key-access.ts';
import type { Key } from '../../auth/key-cache.ts';
import { timestampOutOfWindow } from '../../auth/verify.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import type { Journal } from '../../decide/journal.ts';
import { UNREACHED, UNWRITTEN } from '../../decide/pipeline.ts';
import { overloaded, rateLimited } from '../../decide/respond.ts';
import type { Exchange, RequestHead } from '../../http/exchange.ts';
import type { Admission, AdmissionRequest, AdmissionVerdict } from '../../ports/admission.ts';
import type { WorkQueue } from './work-queue.ts';

export interface CallRequest extends AdmissionRequest {
  readonly key: Key;
  /** The queue of calls had no room: the call is refused unless it is over its rate, and its id stays unused. */
  readonly wasFull: boolean;
  /** Why the key may not make this call; null if it may. */
  readonly refusal: Problem | null;
}

export type CallVerdict = AdmissionVerdict<CallRequest>;

export interface GateParts {
  readonly clock: Clock;
  readonly admission: Admission;
  readonly journal: Journal;
}

/** Admits verified calls. The order of checks: rate, what the key may do, room in the queue, request id. */
export class CallGate {
  readonly #parts: GateParts;
  readonly #work: WorkQueue;

  constructor(parts: GateParts, work: WorkQueue) {
    this.#parts = parts;
    this.#work = work;
  }

  /**
   * Counts the call against its rate, and uses up its id unless it is refused for another reason, so that the client may send it again. A
   * call that is as frequent as decisions has the key's allowance for those, in a window of its own. Never rejects.
   */
  admit(
    head: RequestHead,
    { key, signedAtSeconds }: Extract<Authenticated, { readonly kind: 'verified' }>,
    bodyBytes: number,
    isFrequent: boolean,
    exchange: Pick<Exchange, 'remoteAddress'>,
  ): CallVerdict | Promise<CallVerdict> {
    const wasFull = this.#work.isFull(key.customer, bodyBytes);
    const refusal = key.kind === 'public' ? keyNotAllowed() : accessFault(key, head.scope ?? 'admin', exchange);
    const keepsId = signedAtSeconds === null || wasFull || refusal !== null;
    const request: CallRequest = {
      window: isFrequent ? 'outcomes' : 'management',
      keyNumber: key.number,
      allowance: isFrequent ? key.rateLimit : RATE_MANAGEMENT,
      source: null,
      requestId: keepsId ? null : head.svcRequestId,
      timestampSeconds: signedAtSeconds ?? 0,
      nowSeconds: this.#nowSeconds(),
      key,
      wasFull,
      refusal,
    };
    const verdicts = this.#parts.admission.admit([request]);
    if (!(verdicts instanceof Promise)) return onlyOne(verdicts, request);
    return verdicts.then(
      (later) => onlyOne(later, request),
      () => ({ outcome: 'unavailable', request }),
    );
  }

  /** Returns why the call is refused, without journalling its id. */
  faultOf(verdict: CallVerdict, bodyBytes: number): Problem | null {
    const { outcome, request } = verdict;
    const { key, wasFull, refusal } = request;
    if (outcome === 'unavailable') return overloaded('shared_store', UNREACHED);
    if (outcome === 'rate_limited') return rateLimited(verdict);
    if (refusal !== null) return refusal;
    if (wasFull || this.#work.isFull(key.customer, bodyBytes))
      return overloaded('calls', 'Too many calls are waiting.');
    switch (outcome) {
      case 'admitted':
        return null;
      case 'replayed':
        return problem('replayed_request', 'X-SVC-Rid was already accepted for this key.');
      case 'full':
        return overloaded('request_ids', 'No more request ids can be remembered at the moment.');
      default:
        return unreachable(outcome);
    }
  }

  /**
   * Returns why the call is refused; null if its handler may run. Its id is then on the disk, as with decide, so that a restart does not
   * forget it. The id of a refused call is unused.
   */
  enter(verdict: CallVerdict, bodyBytes: number): Problem | null {
    const { admission, clock, journal } = this.#parts;
    const fault = this.faultOf(verdict, bodyBytes);
    if (verdict.outcome !== 'admitted' || verdict.id === null) return fault;
    const now = this.#nowSeconds();
    const isLate = now > verdict.request.timestampSeconds + TIMESTAMP_WINDOW_SECONDS && !clock.followsTimestamps;
    // An earlier copy may have been forgotten since the call was verified.
    if (isLate) return timestampOutOfWindow(now);
    if (fault === null) {
      admission.stage(verdict.id);
      if (journal.commit(now)) return null;
    }
    admission.release(verdict.id);
    return fault ?? overloaded('disk', UNWRITTEN);
  }

  #nowSeconds(): number {
    return Math.floor(this.#parts.clock.nowMs() / 1000);
  }
}

function onlyOne(verdicts: readonly CallVerdict[], request: CallRequest): CallVerdict {
  return verdicts[0] ?? { outcome: 'unavailable', request };
}
