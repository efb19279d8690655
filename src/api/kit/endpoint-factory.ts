import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { endProcess } from '../../kernel/end-process.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Exchange, Handler, RequestHead } from '../../http/exchange.ts';
import { newId } from '../../kernel/ids.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import { bodyTooLarge, sendProblem } from '../../http/reply.ts';
import type { Journal } from '../../decide/journal.ts';
import type { KeyUsage } from '../../auth/key-usage.ts';
import type { KeyCache } from '../../auth/key-cache.ts';
import type { FailedAuthentications } from '../../decide/failed-authentications.ts';
import { overloaded, rateLimited } from '../../decide/respond.ts';
import { rateFields } from '../../decide/rate-fields.ts';
import type { Admission, RateState } from '../../ports/admission.ts';
import {
  ANSWERS_UNSENT_BYTES_MAX,
  DECIDE_BODY_BYTES_MAX,
  MANAGED_BODY_BYTES_MAX,
  MANAGEMENT_IN_WORK_MAX,
  MANAGEMENT_IN_WORK_PER_CUSTOMER_MAX,
  MANAGEMENT_WAITING_BYTES_MAX,
  MANAGEMENT_WAITING_BYTES_PER_CUSTOMER_MAX,
  MANAGEMENT_WAITING_MAX,
  MANAGEMENT_WAITING_PER_CUSTOMER_MAX,
} from '../../kernel/limits.ts';
import type { Log } from '../../observe/log.ts';
import { Slices, type TurnLane, Turns } from '../../state/tables/turns.ts';
import { type Authenticated, authenticateHeader, authenticateSigned, checkForm } from '../../auth/authenticate.ts';
import { type CallVerdict, CallGate } from './call-gate.ts';
import { type Call, createCallResponses } from './call-responses.ts';
import type { EndpointHandler, EndpointOptions, EndpointRequest, OptionsWithBody } from './endpoint-types.ts';
import { type BodyRead, type BodyReader, readBodyAnywhere, type RemoteBodies } from './request-body.ts';
import { withWarnings } from './response-warnings.ts';
import { type WorkBounds, WorkQueue } from './work-queue.ts';

/**
 * The pipeline of all management endpoints: authentication, rate limits, body, query and errors. `call-responses.ts` sends what handlers
 * return.
 */
export interface EndpointParts {
  readonly clock: Clock;
  readonly keyCache: KeyCache;
  /** Failed authentications of an address, counted together with those of decide. */
  readonly failures: FailedAuthentications;
  readonly admission: Admission;
  readonly journal: Journal;
  readonly log: Log;
  /** Lets this thread's reads see later commits; called before each handler. */
  readonly resetRead: () => void;
  readonly onRefused: (code: string) => void;
  /** Counts the calls of verified keys. */
  readonly keyUsage?: Pick<KeyUsage, 'accepted' | 'refused'>;
  /** The store's turns, so that all work except decisions shares them. */
  readonly turns?: Turns;
  /** Reads large bodies; without it all bodies are read on this thread. */
  readonly bodies?: RemoteBodies;
  readonly work?: Partial<WorkBounds>;
  /** Called when the store cannot accept writes any more. By default the process is killed. */
  readonly onStoreStuck?: () => void;
}

export interface EndpointFactory {
  (options: EndpointOptions, handler: EndpointHandler): Handler;
  <Body>(options: OptionsWithBody<Body>, handler: EndpointHandler<Body>): Handler;
  readonly work: Pick<WorkQueue, 'inWork' | 'waiting'>;
  /** Returns header lines for problems that the router sends: the rate-limit fields of the source address. */
  readonly refusalFields: (exchange: Exchange) => string;
  /** Ends all waits, those of later calls too. Resolves when every accepted call has its response. */
  drain(): Promise<void>;
}

/** Options of a route. */
interface CallOptions<Body> {
  readonly reader: BodyReader<Body> | null;
  readonly isFrequent: boolean;
}

export function createEndpointFactory(parts: EndpointParts): EndpointFactory {
  const { clock, keyCache, failures, log } = parts;
  const work = new WorkQueue({ ...WORK_BOUNDS, ...parts.work });
  const gate = new CallGate(parts, work);
  const turns = parts.turns ?? new Turns();
  const running = new Set<Promise<void>>();
  const answer = createCallResponses({
    log,
    turns,
    resetRead: parts.resetRead,
    onStoreStuck: parts.onStoreStuck ?? (() => log.flush(endProcess)),
    refuse: (exchange, fault, rate, close, requestId) => refuse(exchange, fault, rate, close, requestId),
  });
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  const stop = new AbortController();
  // The handlers limit how many calls may wait at once.
  setMaxListeners(0, stop.signal);

  function endpoint<Body>(options: EndpointOptions<Body>, handler: EndpointHandler<Body>): Handler {
    const reader = options.body ?? null;
    const isFrequent = options.allowance === 'decide';
    const bytesMax = reader === null ? 0 : MANAGED_BODY_BYTES_MAX;
    return (head, exchange) => {
      const formFault = checkForm(head);
      if (head.contentLength > bytesMax) refuse(exchange, bodyTooLarge(bytesMax), sourceRate(exchange), true);
      else if (formFault !== null) refuseUnverified(exchange, formFault);
      else {
        const early = authenticateHeader(head, keyCache, clock);
        // The body of an unauthenticated request is not read. It precedes the next request, so the connection is closed.
        if (early?.kind === 'refused') {
          const isUnread = head.contentLength > 0;
          refuseUnread(head, exchange, () => refuseUnverified(exchange, early.problem, isUnread));
        } else if (early === null && !hasRoom(head, exchange)) {
          const fault = overloaded('calls', TOO_MANY_WAIT);
          refuseUnread(head, exchange, () => refuse(exchange, fault, sourceRate(exchange), true));
        } else readAndVerify(head, exchange, early, bytesMax, { reader, isFrequent }, handler);
      }
    };
  }

  /**
   * A large signed body is neither received nor hashed if the queue of the key that it names is full, or will be with the bodies that the
   * same source is sending for this key. Who names the key of another customer is refused as well, and changes nothing for that customer.
   */
  function hasRoom({ contentLength, svcKey }: RequestHead, exchange: Exchange): boolean {
    if (contentLength <= UNPACED_BODY_BYTES_MAX) return true;
    const { known, key } = keyCache.find(svcKey);
    return !known || work.mayReceive(key.customer, contentLength, exchange.remoteAddress());
  }

  /**
   * Sends a refusal that closes the connection. While decisions arrive, the sender of a large body waits for it on a connection that is not
   * read: at once, it would send the next body as soon.
   */
  function refuseUnread({ contentLength }: RequestHead, exchange: Exchange, send: () => void): void {
    const pause = contentLength > UNPACED_BODY_BYTES_MAX ? turns.refusalPause() : null;
    if (pause === null) {
      send();
      return;
    }
    exchange.pauseUntil(pause);
    track(
      pause.then(() => {
        if (!exchange.aborted) send();
      }),
    );
  }

  /**
   * Reserves room in the queue for a large signed body while it is received. Returns what ends that. A verified caller needs none: its
   * slow uploads would keep its other bodies out.
   */
  function reserve(
    { contentLength, svcKey }: RequestHead,
    early: Authenticated | null,
    exchange: Exchange,
  ): () => void {
    if (contentLength <= UNPACED_BODY_BYTES_MAX || early !== null) return () => {};
    return work.reserve(keyCache.find(svcKey).key.customer, contentLength, exchange.remoteAddress());
  }

  function readAndVerify<Body>(
    head: RequestHead,
    exchange: Exchange,
    early: Authenticated | null,
    bytesMax: number,
    options: CallOptions<Body>,
    handler: EndpointHandler<Body>,
  ): void {
    let taken: CallVerdict | Promise<CallVerdict> | null = null;
    if (early?.kind === 'verified' && head.contentLength > 0) {
      // The body of a caller that would be refused whatever it sends is not read either.
      taken = gate.admit(head, early, head.contentLength, options.isFrequent, exchange);
      if (taken instanceof Promise) void taken.then((verdict) => refuseEarly(head, exchange, verdict));
      else if (refuseEarly(head, exchange, taken)) return;
    }
    const endReservation = reserve(head, early, exchange);
    const isLarge = head.contentLength > UNPACED_BODY_BYTES_MAX;
    const goOn = (body: Received, authenticated: Authenticated): void => {
      if (authenticated.kind === 'refused') refuseUnverified(exchange, authenticated.problem);
      else {
        const verdict = taken ?? gate.admit(head, authenticated, body.bytes.length, options.isFrequent, exchange);
        proceed(head, body, verdict, exchange, options, handler);
      }
    };
    const take = (bytes: Uint8Array | null, isOwned = false): void => {
      if (bytes !== null && isLarge && early === null) {
        const kept = { bytes: keep({ bytes, isOwned }), isOwned: true };
        const hashed = hashInTurns(kept.bytes, exchange.remoteAddress()).finally(endReservation);
        trackOrCrash(
          hashed.then((bodyHash) => {
            // The client may have disconnected.
            if (!exchange.aborted) goOn(kept, authenticateSigned(head, bodyHash, keyCache, clock));
          }),
          head,
          exchange,
        );
        return;
      }
      endReservation();
      if (bytes === null) refuse(exchange, bodyTooLarge(bytesMax), sourceRate(exchange), true);
      else goOn({ bytes, isOwned }, early ?? authenticateSigned(head, bytes, keyCache, clock));
    };
    exchange.readBody(bytesMax, take, isLarge ? paceOf(early, exchange) : undefined, endReservation);
  }

  /** Reads a large body in the turns of its customer. A signature is verified only after its body was read, so its source has turns too. */
  function paceOf(early: Authenticated | null, exchange: Exchange): (pieceBytes: number) => Promise<void> | null {
    const lane = early?.kind === 'verified' ? early.key.customer : exchange.remoteAddress();
    let unpacedBytes = 0;
    return (pieceBytes) => {
      turns.charge(pieceBytes * BODY_MS_PER_BYTE);
      unpacedBytes += pieceBytes;
      // A turn for each piece of a few bytes would cost more than the piece.
      if (unpacedBytes < UNPACED_BODY_BYTES_MAX) return null;
      unpacedBytes = 0;
      return turns.next(lane);
    };
  }

  /** Returns the SHA-256 of a large body in hex, computed in turns: in one piece it would hold the thread for 1.4 ms. */
  async function hashInTurns(body: Uint8Array, lane: TurnLane): Promise<string> {
    const sum = createHash('sha256');
    for (let from = 0; from < body.length; from += UNPACED_BODY_BYTES_MAX) {
      await turns.next(lane, from > 0);
      sum.update(body.subarray(from, from + UNPACED_BODY_BYTES_MAX));
    }
    return sum.digest('hex');
  }

  /** Refuses a call before its body was read, and closes its connection. Returns whether it did. */
  function refuseEarly(head: RequestHead, exchange: Exchange, verdict: CallVerdict): boolean {
    const fault = gate.faultOf(verdict, head.contentLength);
    if (fault !== null) {
      parts.keyUsage?.refused(verdict.request.key.number, fault.code, nowSeconds());
      refuseUnread(head, exchange, () => refuseCall(exchange, verdict, fault, true));
    }
    return fault !== null;
  }

  /** Waits for the verdict only if it comes later; then the body is copied first. */
  function proceed<Body>(
    head: RequestHead,
    body: Received,
    verdict: CallVerdict | Promise<CallVerdict>,
    exchange: Exchange,
    options: CallOptions<Body>,
    handler: EndpointHandler<Body>,
  ): void {
    const startedAtMs = performance.now();
    if (!(verdict instanceof Promise)) {
      start(head, body, verdict, { exchange, startedAtMs }, options, handler);
      return;
    }
    const kept = { bytes: keep(body), isOwned: true };
    trackOrCrash(
      verdict.then((later) => start(head, kept, later, { exchange, startedAtMs }, options, handler)),
      head,
      exchange,
    );
  }

  /** Like `track`; the call is refused if the promise rejects. */
  function trackOrCrash(run: Promise<void>, head: RequestHead, exchange: Exchange): void {
    track(
      run.catch((error: unknown) => {
        log.error({ err: error, path: head.path }, 'management call failed');
        refuse(exchange, problem('internal_error', 'The request failed.'), sourceRate(exchange));
      }),
    );
  }

  function start<Body>(
    head: RequestHead,
    body: Received,
    verdict: CallVerdict,
    { exchange, startedAtMs }: Pick<Call, 'exchange' | 'startedAtMs'>,
    { reader, isFrequent }: CallOptions<Body>,
    handler: EndpointHandler<Body>,
  ): void {
    // Refused while its body was read.
    if (exchange.aborted) return;
    const rate = rateOf(verdict, exchange);
    const fault = gate.enter(verdict, body.bytes.length);
    const { number } = verdict.request.key;
    if (fault === null) parts.keyUsage?.accepted(number, nowSeconds());
    else parts.keyUsage?.refused(number, fault.code, nowSeconds());
    if (fault !== null) {
      refuseCall(exchange, verdict, fault);
      return;
    }
    const { key } = verdict.request;
    track(enter(head, keep(body), { exchange, rate, key, startedAtMs, isFrequent }, reader, handler));
  }

  /** `drain` waits for it. */
  function track(run: Promise<void>): void {
    const ended = run.finally(() => running.delete(ended));
    running.add(ended);
  }

  function rateOf(verdict: CallVerdict, exchange: Exchange): RateState {
    return verdict.outcome === 'unavailable' ? sourceRate(exchange) : verdict;
  }

  /** Waits for a slot and for a turn, reads the body, and responds. */
  async function enter<Body>(
    head: RequestHead,
    body: Uint8Array<ArrayBuffer>,
    entering: Pick<Call, 'exchange' | 'rate' | 'key' | 'startedAtMs' | 'isFrequent'>,
    reader: BodyReader<Body> | null,
    handler: EndpointHandler<Body>,
  ): Promise<void> {
    const { exchange, rate, key } = entering;
    const place = await work.enter(key.customer, body.length);
    try {
      const slices = new Slices(turns, key.customer);
      await slices.begin();
      // The client has disconnected, and nothing has been done yet.
      if (exchange.aborted) return;
      const nowMs = clock.nowMs();
      const requestId = newId('req', nowMs);
      const { method, path, session } = head;
      const coverage = { isPartial: false };
      const call: Call = { ...entering, slices, place, coverage, requestId, method, path, session: session?.name };
      const query = new URLSearchParams(head.query);
      const read = await readFrom(call, head, body, nowMs, reader);
      const fault = read.kind === 'fault' ? read.problem : repeatedParameter(query);
      if (read.kind === 'fault' || fault !== null) {
        if (fault !== null) refuse(exchange, fault, rate, false, requestId);
        return;
      }
      const request: EndpointRequest<Body> = {
        caller: { customer: key.customer, key, session: head.session?.name },
        params: head.params,
        query,
        body: read.value,
        requestId,
        nowMs,
        nowSeconds: Math.floor(nowMs / 1000),
        idempotencyKey: head.cold.get('idempotency-key'),
        ifMatch: head.cold.get('if-match'),
        waiting: {
          stopping: stop.signal,
          isClientGone: () => exchange.aborted,
          whileOut: (awaited) => place.whileOut(awaited),
        },
        slices,
        coverage: call.coverage,
      };
      await answer(call, async () => withWarnings(await handler(request), read.ignored));
    } catch (error) {
      log.error({ err: error, path: head.path }, 'management call failed');
      refuse(exchange, problem('internal_error', 'The request failed.'), rate);
    } finally {
      place.leave();
    }
  }

  async function readFrom<Body>(
    { key, slices }: Call,
    head: RequestHead,
    body: Uint8Array<ArrayBuffer>,
    nowMs: number,
    reader: BodyReader<Body> | null,
  ): Promise<BodyRead<Body>> {
    // A route without a reader accepts no body, so its `Body` is null.
    if (reader === null) return { kind: 'read', value: null as Body, ignored: [] };
    if (body.length > 0 && !/^application\/json *(?:;|$)/i.test(head.contentType)) return NO_JSON;
    const read = await readBodyAnywhere(reader, body, nowMs, key.customer, parts.bodies);
    if (slices.isOver) await slices.begin();
    return read;
  }

  /** A replay proves no more than what was overheard, so it counts against its source and not against the key. */
  function refuseCall(exchange: Exchange, verdict: CallVerdict, fault: Problem, close = false): void {
    if (fault.code === 'replayed_request') refuseUnverified(exchange, fault, close);
    else refuse(exchange, fault, rateOf(verdict, exchange), close);
  }

  /** Counts a failed authentication against its source address. Over that allowance the response is 429 and closes the connection. */
  function refuseUnverified(exchange: Exchange, fault: Problem, close = false): void {
    const source = failures.take(exchange.remoteAddress(), nowSeconds());
    refuse(exchange, source.allowed ? fault : rateLimited(source), source, close || !source.allowed);
  }

  function refuse(exchange: Exchange, fault: Problem, rate: RateState, close = false, requestId?: string): void {
    parts.onRefused(fault.code);
    const challenge = fault.status === 401 ? '\r\nWWW-Authenticate: Bearer' : '';
    sendProblem(exchange, fault, {
      more: rateFields(rate) + challenge,
      close,
      requestId: requestId ?? newId('req', clock.nowMs()),
    });
  }

  function sourceRate(exchange: Exchange): RateState {
    return failures.peek(exchange.remoteAddress(), nowSeconds());
  }

  return Object.assign(endpoint, {
    work,
    refusalFields: (exchange: Exchange): string => rateFields(sourceRate(exchange)),
    async drain(): Promise<void> {
      stop.abort();
      while (running.size > 0) await Promise.all(running);
    },
  });
}

const TOO_MANY_WAIT = 'Too many calls are waiting.';
/** Choice: as large as the largest body of a decision, which is never paced. Its hash takes 0.1 ms. */
const UNPACED_BODY_BYTES_MAX = DECIDE_BODY_BYTES_MAX;
/** Measured: reading 1 MiB from the socket and copying it takes 0.5 ms of processor time. */
const BODY_MS_PER_BYTE = 0.5 / 1_048_576;

/** A body as the transport passes it; unless it is owned, its memory is invalid after the transport's call. */
interface Received {
  readonly bytes: Uint8Array;
  readonly isOwned: boolean;
}

function keep({ bytes, isOwned }: Received): Uint8Array<ArrayBuffer> {
  return isOwned ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

const WORK_BOUNDS: WorkBounds = {
  inWorkMax: MANAGEMENT_IN_WORK_MAX,
  inWorkPerCustomerMax: MANAGEMENT_IN_WORK_PER_CUSTOMER_MAX,
  waitingMax: MANAGEMENT_WAITING_MAX,
  waitingPerCustomerMax: MANAGEMENT_WAITING_PER_CUSTOMER_MAX,
  waitingBytesMax: MANAGEMENT_WAITING_BYTES_MAX,
  waitingBytesPerCustomerMax: MANAGEMENT_WAITING_BYTES_PER_CUSTOMER_MAX,
  unsentBytesMax: ANSWERS_UNSENT_BYTES_MAX,
};

/** Source: contract, 2.4: 415 everywhere except on decide. */
const NO_JSON = {
  kind: 'fault',
  problem: problem('unsupported_media_type', 'Send the body as application/json.'),
} as const satisfies BodyRead<never>;

function repeatedParameter(query: URLSearchParams): Problem | null {
  const names = [...query.keys()];
  if (new Set(names).size === names.length) return null;
  return problem('invalid_request', 'A query parameter is given twice.');
}
