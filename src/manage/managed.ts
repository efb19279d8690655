import { setMaxListeners } from 'node:events';
import type { CustomerNumber } from '../base/brand.ts';
import { unreachable } from '../base/brand.ts';
import type { Clock } from '../base/clock.ts';
import type { Exchange, Handler, HeaderFields, PathParams, RequestHead, Route } from '../base/exchange.ts';
import { newId } from '../base/ids.ts';
import { problem, type Problem } from '../base/problem.ts';
import { bodyTooLarge, JSON_FIELDS, sendProblem } from '../base/reply.ts';
import type { Journal } from '../decide/journal.ts';
import type { Key, Keyring } from '../decide/keyring.ts';
import { overloaded, rateLimited, UNWRITTEN } from '../decide/pipeline.ts';
import { LocalRateWindows, rateFields, type RateState, type RateWindows } from '../decide/rate-windows.ts';
import type { ReplayGuard } from '../decide/replay-guard.ts';
import {
  ANSWERS_UNSENT_BYTES_MAX,
  MANAGED_BODY_BYTES_MAX,
  MANAGEMENT_IN_WORK_MAX,
  MANAGEMENT_IN_WORK_PER_CUSTOMER_MAX,
  MANAGEMENT_WAITING_BYTES_MAX,
  MANAGEMENT_WAITING_BYTES_PER_CUSTOMER_MAX,
  MANAGEMENT_WAITING_MAX,
  MANAGEMENT_WAITING_PER_CUSTOMER_MAX,
  RATE_MANAGEMENT,
} from '../limits.ts';
import type { Log } from '../observe/log.ts';
import type { StoreFault } from '../store/durable.ts';
import { Slices, Turns } from '../store/turns.ts';
import { type Authenticated, authenticateHeader, authenticateSigned, checkForm } from './authenticate.ts';
import { type BodyRead, type BodyReader, readBodyAnywhere, type RemoteBodies } from './body.ts';
import { type Place, type WorkBounds, WorkQueue } from './work-queue.ts';

/**
 * What all management endpoints have in common: who asks, how often, the body, the query, the answer and its faults.
 *
 * To add a route, write `src/manage/<name>.ts` with a function that takes `managed` and what its handlers need and gives routes:
 *
 *   managed.route('/v1/things/{id}', { GET: managed({}, find), PUT: managed({ body: THING }, change) })
 *
 * and name it among the routes in `src/main.ts`. A handler is a plain function from `ManagedRequest` to `ManagedAnswer`. Its body
 * comes checked, by a `BodyReader` that is named in `bodies.ts`; it reads its page by `readPage`, answers pages by `pageAnswer`, works
 * in `request.slices` where that takes long, and returns the fault of a store write as it is. What belongs to another
 * customer is 404 by construction: ask the store by `request.caller.customer` only.
 */
export interface ManagedRequest<Body = null> {
  readonly caller: Caller;
  readonly params: PathParams;
  /** Without a name twice. */
  readonly query: URLSearchParams;
  /** What the route's `BodyReader` made of the body; null for a route without one. */
  readonly body: Body;
  /** Of this call, for its log lines; a problem carries it. */
  readonly requestId: string;
  readonly nowMs: number;
  readonly nowSeconds: number;
  /** The header `Idempotency-Key` as sent; '' without one. */
  readonly idempotencyKey: string;
  /** For handlers that wait for something before they answer. */
  readonly waiting: Waiting;
  /** For work of more than some 0.1 ms: ask `isOver` within it, and `begin` again when it is. */
  readonly slices: Slices;
}

/** For what looks at everything but the body. */
export type AnyRequest = ManagedRequest<unknown>;

/** When a handler that waits must go on at once: nobody wants what it waits for any more. */
export interface Waiting {
  /** Fires when the service begins to stop; has fired for all calls that come then. */
  readonly stopping: AbortSignal;
  /** The client has gone away. It is not told to anyone, so it must be asked from time to time. */
  isClientGone(): boolean;
  /** For a wait of seconds: gives the call's place to others meanwhile. */
  whileOut<T>(awaited: () => Promise<T>): Promise<T>;
}

/** Always a secret key. */
export interface Caller {
  readonly customer: CustomerNumber;
  readonly key: Key;
}

export type ManagedAnswer =
  | {
      readonly kind: 'json';
      readonly status: number;
      readonly body: unknown;
      /** Further header fields; text of our own only. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A body that is written already. */
  | {
      readonly kind: 'text';
      readonly status: number;
      readonly contentType: string;
      readonly body: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The same, piece by piece, for what may be long. */
  | {
      readonly kind: 'pieces';
      readonly status: number;
      readonly contentType: string;
      readonly pieces: readonly Uint8Array[];
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'empty'; readonly status: 204 }
  | { readonly kind: 'problem'; readonly problem: Problem }
  /** Of a write: 507 where the disk is full, else 500; `store_stuck` also ends the process. */
  | StoreFault;

export type ManagedHandler<Body = null> = (request: ManagedRequest<Body>) => ManagedAnswer | Promise<ManagedAnswer>;

export interface ManagedOptions<Body = null> {
  /** Without one a body with anything in it is 413. */
  readonly body?: BodyReader<Body>;
  /**
   * What counts its calls: management calls together by default. `decide`: the key's own allowance of decisions, in a window
   * apart from theirs; for calls that come as often as decisions, which leave no line in the log either.
   */
  readonly allowance?: 'management' | 'decide';
}

export interface ManagedParts {
  readonly clock: Clock;
  readonly keyring: Keyring;
  /** Those of decide, for the failed authentications of an address. */
  readonly rates: RateWindows;
  readonly replay: ReplayGuard;
  readonly journal: Journal;
  readonly log: Log;
  /** Lets this thread's reads see what was committed since; called before each handler. */
  readonly resetRead: () => void;
  readonly onRefused: (code: string) => void;
  /** Of the store, so that all that is no decision shares them. */
  readonly turns?: Turns;
  /** Reads large bodies; without it all are read on this thread. */
  readonly bodies?: RemoteBodies;
  readonly work?: Partial<WorkBounds>;
  /** The store can take no write any more. Ends the process unless given. */
  readonly onStoreStuck?: () => void;
}

export interface Managed {
  (options: ManagedOptions, handler: ManagedHandler): Handler;
  <Body>(options: OptionsWithBody<Body>, handler: ManagedHandler<Body>): Handler;
  readonly work: Pick<WorkQueue, 'inWork' | 'waiting'>;
  route(path: string, methods: Readonly<Record<string, Handler>>): Route;
  /** Ends all waiting, now and of calls that still come, and resolves when every call that was taken in has its answer. */
  drain(): Promise<void>;
}

export type OptionsWithBody<Body> = ManagedOptions<Body> & Required<Pick<ManagedOptions<Body>, 'body'>>;

/** A call from its verification to its answer. */
interface Call {
  readonly requestId: string;
  readonly key: Key;
  readonly slices: Slices;
  readonly place: Place;
  readonly exchange: Exchange;
  readonly rate: RateState;
  readonly method: string;
  readonly path: string;
  readonly startedAtMs: number;
  readonly isFrequent: boolean;
}

/** Of a route. */
interface CallOptions<Body> {
  readonly reader: BodyReader<Body> | null;
  readonly isFrequent: boolean;
}

export function createManaged(parts: ManagedParts): Managed {
  const { clock, keyring, rates, replay, journal, log } = parts;
  const onStoreStuck = parts.onStoreStuck ?? (() => log.flush(() => process.kill(process.pid, 'SIGKILL')));
  // Apart from decide's, so that neither uses up the other's.
  const windows: RateWindows = new LocalRateWindows();
  const frequentWindows: RateWindows = new LocalRateWindows();
  const work = new WorkQueue({ ...WORK_BOUNDS, ...parts.work });
  const turns = parts.turns ?? new Turns();
  const running = new Set<Promise<void>>();
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  const stop = new AbortController();
  // As many calls may wait at once as their handlers let.
  setMaxListeners(0, stop.signal);

  function managed<Body>(options: ManagedOptions<Body>, handler: ManagedHandler<Body>): Handler {
    const reader = options.body ?? null;
    const isFrequent = options.allowance === 'decide';
    const bytesMax = reader === null ? 0 : MANAGED_BODY_BYTES_MAX;
    return (head, exchange) => {
      const formFault = checkForm(head);
      if (head.contentLength > bytesMax) refuse(exchange, bodyTooLarge(bytesMax), sourceRate(exchange), true);
      else if (formFault !== null) refuseUnverified(exchange, formFault);
      else {
        const early = authenticateHeader(head, keyring, clock);
        // A body of a stranger's is not waited for, and it stands in the way of the next request: the connection ends.
        if (early?.kind === 'refused') refuseUnverified(exchange, early.problem, head.contentLength > 0);
        else readAndVerify(head, exchange, early, bytesMax, { reader, isFrequent }, handler);
      }
    };
  }

  function takeRate({ number, rateLimit }: Key, isFrequent: boolean): RateState {
    return isFrequent
      ? frequentWindows.take(number, rateLimit, nowSeconds())
      : windows.take(number, RATE_MANAGEMENT, nowSeconds());
  }

  function readAndVerify<Body>(
    head: RequestHead,
    exchange: Exchange,
    early: Authenticated | null,
    bytesMax: number,
    options: CallOptions<Body>,
    handler: ManagedHandler<Body>,
  ): void {
    let rate: RateState | null = null;
    if (early?.kind === 'verified' && head.contentLength > 0) {
      // Nor is the body of a caller that would be refused whatever it sends.
      rate = takeRate(early.key, options.isFrequent);
      const fault = admit(early.key, rate, head, head.contentLength, null);
      if (fault !== null) {
        refuse(exchange, fault, rate, true);
        return;
      }
    }
    exchange.readBody(bytesMax, (body) => {
      if (body === null) refuse(exchange, bodyTooLarge(bytesMax), sourceRate(exchange), true);
      else
        verify(head, body, early ?? authenticateSigned(head, body, keyring, clock), rate, exchange, options, handler);
    });
  }

  function verify<Body>(
    head: RequestHead,
    body: Uint8Array,
    authenticated: Authenticated,
    taken: RateState | null,
    exchange: Exchange,
    { reader, isFrequent }: CallOptions<Body>,
    handler: ManagedHandler<Body>,
  ): void {
    const startedAtMs = performance.now();
    if (authenticated.kind === 'refused') {
      refuseUnverified(exchange, authenticated.problem);
      return;
    }
    const { key, signedAtSeconds } = authenticated;
    const rate = taken ?? takeRate(key, isFrequent);
    const fault = admit(key, rate, head, body.length, signedAtSeconds);
    if (fault !== null) {
      refuse(exchange, fault, rate);
      return;
    }
    // The transport's bytes are gone when this returns.
    const copy = new Uint8Array(body);
    const run = enter(head, copy, { exchange, rate, key, startedAtMs, isFrequent }, reader, handler);
    const ended = run.finally(() => running.delete(ended));
    running.add(ended);
  }

  /** Waits for a place and for a turn, reads the body, and answers. */
  async function enter<Body>(
    head: RequestHead,
    body: Uint8Array<ArrayBuffer>,
    entering: Pick<Call, 'exchange' | 'rate' | 'key' | 'startedAtMs' | 'isFrequent'>,
    reader: BodyReader<Body> | null,
    handler: ManagedHandler<Body>,
  ): Promise<void> {
    const { exchange, rate, key } = entering;
    const place = await work.enter(key.customer, body.length);
    try {
      const slices = new Slices(turns);
      await slices.begin();
      // Nobody would get the answer, and nothing has been done yet.
      if (exchange.aborted) return;
      const nowMs = clock.nowMs();
      const requestId = newId('req', nowMs);
      const call: Call = { ...entering, slices, place, requestId, method: head.method, path: head.path };
      const query = new URLSearchParams(head.query);
      const read = await readFrom(call, head, body, nowMs, reader);
      const fault = read.kind === 'fault' ? read.problem : repeatedParameter(query);
      if (read.kind === 'fault' || fault !== null) {
        if (fault !== null) refuse(exchange, fault, rate, false, requestId);
        return;
      }
      const request: ManagedRequest<Body> = {
        caller: { customer: key.customer, key },
        params: head.params,
        query,
        body: read.value,
        requestId,
        nowMs,
        nowSeconds: Math.floor(nowMs / 1000),
        idempotencyKey: head.idempotencyKey,
        waiting: {
          stopping: stop.signal,
          isClientGone: () => exchange.aborted,
          whileOut: (awaited) => place.whileOut(awaited),
        },
        slices,
      };
      await answer(call, () => handler(request));
    } catch (error) {
      log.error({ err: error, path: head.path }, 'a management call failed');
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
    // Only routes without a body have no reader, and theirs is null.
    if (reader === null) return { kind: 'read', value: null as Body };
    if (body.length > 0 && !/^application\/json *(?:;|$)/i.test(head.contentType)) return NO_JSON;
    const read = await readBodyAnywhere(reader, body, nowMs, key.customer, parts.bodies);
    if (slices.isOver) await slices.begin();
    return read;
  }

  /** Rate, what the key may do, request id. Only a secret key's request uses up its id. */
  function admit(
    key: Key,
    rate: RateState,
    head: RequestHead,
    bodyBytes: number,
    signedAtSeconds: number | null,
  ): Problem | null {
    if (!rate.allowed) return rateLimited(rate);
    if (key.kind === 'public') return problem('key_not_allowed', 'A public key is for decide only; use a secret key.');
    // Before the request id is used up, so that the same request may be sent again.
    if (work.isFull(key.customer, bodyBytes)) return overloaded('As many calls wait as the service takes at once.');
    if (signedAtSeconds === null) return null;
    const now = nowSeconds();
    const admitted = replay.admit(key.number, head.svcRequestId, signedAtSeconds, now);
    switch (admitted) {
      case 'accepted':
        // On disk before anything is done, like those of decide, so that a restart does not forget it.
        journal.stage(replay.last);
        if (journal.commit(now)) return null;
        replay.forget(replay.last);
        return overloaded(UNWRITTEN);
      case 'replayed':
        return problem('replayed_request', 'X-SVC-Rid was already accepted for this key.');
      case 'full':
        return overloaded('No more request ids can be remembered at the moment.');
      default:
        return unreachable(admitted);
    }
  }

  async function answer(call: Call, handle: () => ManagedAnswer | Promise<ManagedAnswer>): Promise<void> {
    const { exchange, rate } = call;
    try {
      parts.resetRead();
      const given = await handle();
      // What came back from a wait may be long.
      if (call.slices.isOver) await call.slices.begin();
      switch (given.kind) {
        case 'json':
          exchange.send(
            given.status,
            JSON_FIELDS + rateFields(rate) + linesOf(given.headers),
            JSON.stringify(given.body),
          );
          break;
        case 'text':
          exchange.send(given.status, fieldsOf(given, rate), given.body);
          break;
        case 'pieces':
          sendPieces(call, given);
          break;
        case 'empty':
          exchange.send(given.status, JSON_FIELDS + rateFields(rate), '');
          break;
        case 'problem':
          refuse(exchange, given.problem, rate, false, call.requestId);
          break;
        case 'fault':
          failStore(given, call);
          break;
        default:
          unreachable(given);
      }
      if (call.method !== 'GET' && call.method !== 'HEAD' && !call.isFrequent) logChange(call, given);
    } catch (error) {
      log.error({ err: error, request_id: call.requestId, path: call.path }, 'a management call failed');
      refuseFailed(call);
    }
  }

  /** Behind the call: a client that reads slowly holds none of the places, only its own bytes. */
  function sendPieces(call: Call, given: Extract<ManagedAnswer, { readonly kind: 'pieces' }>): void {
    const { exchange, rate, place } = call;
    const unsent = place.sending(given.pieces.reduce((sum, piece) => sum + piece.length, 0));
    exchange
      .sendPieces(given.status, fieldsOf(given, rate), given.pieces, () => turns.next())
      .catch((error: unknown) => log.error({ err: error, request_id: call.requestId }, 'an answer could not be sent'))
      .finally(() => unsent.received());
  }

  /** Whoever writes is in the log, and what came of it. */
  function logChange(call: Call, given: ManagedAnswer): void {
    const status =
      given.kind === 'problem' ? given.problem.status : given.kind === 'fault' ? problemOf(given).status : given.status;
    log.info(
      {
        request_id: call.requestId,
        customer: call.key.customer,
        key_prefix: call.key.prefix,
        method: call.method,
        path: call.path,
        status,
        duration_ms: Math.round(performance.now() - call.startedAtMs),
      },
      'management call',
    );
  }

  /** Source: `store/durable.ts`: only a new process recovers from a stuck store. */
  function failStore(fault: StoreFault, call: Call): void {
    const { code, detail } = fault;
    log.error({ code, detail, request_id: call.requestId, path: call.path }, 'store write failed');
    refuse(call.exchange, problemOf(fault), call.rate, false, call.requestId);
    if (code !== 'store_stuck') return;
    log.fatal('the store is stuck; the process ends, so that its supervisor starts it again');
    onStoreStuck();
  }

  function refuseFailed({ exchange, rate, requestId }: Call): void {
    refuse(exchange, problem('internal_error', 'The request failed.'), rate, false, requestId);
  }

  /** A failed authentication counts against its source address; past that allowance the answer is 429 and ends the connection. */
  function refuseUnverified(exchange: Exchange, fault: Problem, close = false): void {
    const source = rates.takeFailure(exchange.remoteAddress(), nowSeconds());
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
    return rates.peekFailures(exchange.remoteAddress(), nowSeconds());
  }

  return Object.assign(managed, {
    work,
    route: (path: string, methods: Readonly<Record<string, Handler>>): Route => ({
      path,
      methods,
      bodyBytesMax: MANAGED_BODY_BYTES_MAX,
      refusalFields: (exchange) => rateFields(sourceRate(exchange)),
    }),
    async drain(): Promise<void> {
      stop.abort();
      while (running.size > 0) await Promise.all(running);
    },
  });
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

/** What a client is told of a write that failed. Only a full disk is its business: it may try again when there is room. */
function problemOf({ code }: StoreFault): Problem {
  if (code === 'store_full')
    return problem('insufficient_storage', 'There is no room left on the disk. Send it again when there is.');
  return problem('internal_error', 'The request failed.');
}

/** Source: open points, section 1: 415 everywhere but on decide. */
const NO_JSON = {
  kind: 'fault',
  problem: problem('unsupported_media_type', 'Send the body as application/json.'),
} as const satisfies BodyRead<never>;

function repeatedParameter(query: URLSearchParams): Problem | null {
  const names = [...query.keys()];
  if (new Set(names).size === names.length) return null;
  return problem('invalid_request', 'A parameter of the query is given twice.');
}

function fieldsOf(
  given: { readonly contentType: string; readonly headers?: Readonly<Record<string, string>> },
  rate: RateState,
): HeaderFields {
  return `${given.contentType}\r\nCache-Control: no-store${rateFields(rate)}${linesOf(given.headers)}`;
}

function linesOf(headers: Readonly<Record<string, string>> = {}): string {
  return Object.entries(headers)
    .map(([name, value]) => `\r\n${name}: ${value}`)
    .join('');
}
