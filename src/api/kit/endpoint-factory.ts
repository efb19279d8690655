import { setMaxListeners } from 'node:events';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { unreachable } from '../../kernel/brand.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Exchange, Handler, HeaderFields, PathParams, RequestHead, StreamedBody } from '../../http/exchange.ts';
import { newId } from '../../kernel/ids.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import { bodyTooLarge, JSON_FIELDS, sendProblem } from '../../http/reply.ts';
import type { Journal } from '../../decide/journal.ts';
import type { Key, KeyCache } from '../../auth/key-cache.ts';
import type { FailedAuthentications } from '../../decide/failed-authentications.ts';
import { rateLimited } from '../../decide/pipeline.ts';
import { rateFields } from '../../decide/rate-fields.ts';
import type { Admission, RateState } from '../../ports/admission.ts';
import {
  ANSWERS_UNSENT_BYTES_MAX,
  MANAGED_BODY_BYTES_MAX,
  MANAGEMENT_IN_WORK_MAX,
  MANAGEMENT_IN_WORK_PER_CUSTOMER_MAX,
  MANAGEMENT_WAITING_BYTES_MAX,
  MANAGEMENT_WAITING_BYTES_PER_CUSTOMER_MAX,
  MANAGEMENT_WAITING_MAX,
  MANAGEMENT_WAITING_PER_CUSTOMER_MAX,
} from '../../kernel/limits.ts';
import type { Log } from '../../observe/log.ts';
import type { StoreFault } from '../../state/durable.ts';
import { Slices, Turns } from '../../state/turns.ts';
import { type Authenticated, authenticateHeader, authenticateSigned, checkForm } from '../../auth/authenticate.ts';
import { type CallVerdict, CallGate } from './call-gate.ts';
import { type BodyRead, type BodyReader, readBodyAnywhere, type RemoteBodies } from './request-body.ts';
import { type Place, type WorkBounds, WorkQueue } from './work-queue.ts';

/**
 * The pipeline of all management endpoints: authentication, rate limits, body, query, response and errors.
 *
 * To add an endpoint, see docs/adding.md.
 */
export interface EndpointRequest<Body = null> {
  readonly caller: Caller;
  readonly params: PathParams;
  /** Contains each name at most once. */
  readonly query: URLSearchParams;
  /** The result of the route's `BodyReader`; null for a route without a reader. */
  readonly body: Body;
  /** The id of this call, for its log lines and for problem responses. */
  readonly requestId: string;
  readonly nowMs: number;
  readonly nowSeconds: number;
  /** The header `Idempotency-Key` as sent; '' without one. */
  readonly idempotencyKey: string;
  /** For handlers that wait for something before they respond. */
  readonly waiting: Waiting;
  /** For work of more than about 0.1 ms: check `isOver` during the work, and await `begin` when it is true. */
  readonly slices: Slices;
}

/** For functions that do not use the body. */
export type AnyRequest = EndpointRequest<unknown>;

/** Tells a waiting handler when to continue at once, because its result is no longer wanted. */
export interface Waiting {
  /** Aborted when the service begins to stop; already aborted for calls that arrive later. */
  readonly stopping: AbortSignal;
  /** Returns whether the client has disconnected. There is no event for it, so the handler must poll. */
  isClientGone(): boolean;
  /** For a wait of seconds: frees the call's slot for other calls during the wait. */
  whileOut<T>(awaited: () => Promise<T>): Promise<T>;
}

/** Always a secret key. */
export interface Caller {
  readonly customer: CustomerNumber;
  readonly key: Key;
}

export type EndpointResponse =
  | {
      readonly kind: 'json';
      readonly status: number;
      readonly body: unknown;
      /** Additional header fields. Must not contain client text. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** An already serialised body. */
  | {
      readonly kind: 'text';
      readonly status: number;
      readonly contentType: string;
      readonly body: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** An already serialised body in pieces, for bodies that may be long. */
  | {
      readonly kind: 'pieces';
      readonly status: number;
      readonly contentType: string;
      readonly pieces: readonly Uint8Array[];
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A body that is produced while it is sent, for bodies that are too long to hold. */
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly contentType: string;
      readonly body: StreamedBody;
      /** Bytes that the body holds in memory until it was sent. */
      readonly heldBytes: number;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'empty'; readonly status: 204 }
  | { readonly kind: 'problem'; readonly problem: Problem }
  /** A failed write: 507 if the disk is full, else 500. `store_stuck` also ends the process. */
  | StoreFault;

export type EndpointHandler<Body = null> = (
  request: EndpointRequest<Body>,
) => EndpointResponse | Promise<EndpointResponse>;

export interface EndpointOptions<Body = null> {
  /** Without a reader, a non-empty body gives 413. */
  readonly body?: BodyReader<Body>;
  /**
   * Selects the rate limit. `management` (the default): shared by all management calls. `decide`: the key's rate limit for decisions, in
   * a window separate from theirs; for calls as frequent as decisions. Such calls are not logged either.
   */
  readonly allowance?: 'management' | 'decide';
}

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

export type OptionsWithBody<Body> = EndpointOptions<Body> & Required<Pick<EndpointOptions<Body>, 'body'>>;

/** A call between its verification and its response. */
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

/** Options of a route. */
interface CallOptions<Body> {
  readonly reader: BodyReader<Body> | null;
  readonly isFrequent: boolean;
}

export function createEndpointFactory(parts: EndpointParts): EndpointFactory {
  const { clock, keyCache, failures, log } = parts;
  const onStoreStuck = parts.onStoreStuck ?? (() => log.flush(() => process.kill(process.pid, 'SIGKILL')));
  const work = new WorkQueue({ ...WORK_BOUNDS, ...parts.work });
  const gate = new CallGate(parts, work);
  const turns = parts.turns ?? new Turns();
  const running = new Set<Promise<void>>();
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
        if (early?.kind === 'refused') refuseUnverified(exchange, early.problem, head.contentLength > 0);
        else readAndVerify(head, exchange, early, bytesMax, { reader, isFrequent }, handler);
      }
    };
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
      taken = gate.admit(head, early, head.contentLength, options.isFrequent);
      if (taken instanceof Promise) void taken.then((verdict) => refuseEarly(exchange, verdict, head.contentLength));
      else if (refuseEarly(exchange, taken, head.contentLength)) return;
    }
    exchange.readBody(bytesMax, (body) => {
      if (body === null) {
        refuse(exchange, bodyTooLarge(bytesMax), sourceRate(exchange), true);
        return;
      }
      const authenticated = early ?? authenticateSigned(head, body, keyCache, clock);
      if (authenticated.kind === 'refused') refuseUnverified(exchange, authenticated.problem);
      else {
        const verdict = taken ?? gate.admit(head, authenticated, body.length, options.isFrequent);
        proceed(head, body, verdict, exchange, options, handler);
      }
    });
  }

  /** Refuses a call before its body was read, and closes its connection. Returns whether it did. */
  function refuseEarly(exchange: Exchange, verdict: CallVerdict, bodyBytes: number): boolean {
    const fault = gate.faultOf(verdict, bodyBytes);
    if (fault !== null) refuse(exchange, fault, rateOf(verdict, exchange), true);
    return fault !== null;
  }

  /** Waits for the verdict only if it comes later; then the body is copied first. */
  function proceed<Body>(
    head: RequestHead,
    body: Uint8Array,
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
    const copy = new Uint8Array(body);
    track(
      verdict
        .then((later) => start(head, copy, later, { exchange, startedAtMs }, options, handler))
        .catch((error: unknown) => {
          log.error({ err: error, path: head.path }, 'management call failed');
          refuse(exchange, problem('internal_error', 'The request failed.'), sourceRate(exchange));
        }),
    );
  }

  function start<Body>(
    head: RequestHead,
    body: Uint8Array,
    verdict: CallVerdict,
    { exchange, startedAtMs }: Pick<Call, 'exchange' | 'startedAtMs'>,
    { reader, isFrequent }: CallOptions<Body>,
    handler: EndpointHandler<Body>,
  ): void {
    // Refused while its body was read.
    if (exchange.aborted) return;
    const rate = rateOf(verdict, exchange);
    const fault = gate.enter(verdict, body.length);
    if (fault !== null) {
      refuse(exchange, fault, rate);
      return;
    }
    // The transport's buffer is invalid after this function returns.
    const copy = new Uint8Array(body);
    const { key } = verdict.request;
    track(enter(head, copy, { exchange, rate, key, startedAtMs, isFrequent }, reader, handler));
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
      const slices = new Slices(turns);
      await slices.begin();
      // The client has disconnected, and nothing has been done yet.
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
      const request: EndpointRequest<Body> = {
        caller: { customer: key.customer, key },
        params: head.params,
        query,
        body: read.value,
        requestId,
        nowMs,
        nowSeconds: Math.floor(nowMs / 1000),
        idempotencyKey: head.cold.get('idempotency-key'),
        waiting: {
          stopping: stop.signal,
          isClientGone: () => exchange.aborted,
          whileOut: (awaited) => place.whileOut(awaited),
        },
        slices,
      };
      await answer(call, () => handler(request));
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
    if (reader === null) return { kind: 'read', value: null as Body };
    if (body.length > 0 && !/^application\/json *(?:;|$)/i.test(head.contentType)) return NO_JSON;
    const read = await readBodyAnywhere(reader, body, nowMs, key.customer, parts.bodies);
    if (slices.isOver) await slices.begin();
    return read;
  }

  async function answer(call: Call, handle: () => EndpointResponse | Promise<EndpointResponse>): Promise<void> {
    const { exchange, rate } = call;
    try {
      parts.resetRead();
      const given = await handle();
      // The handler may have returned from a wait with a large response to serialise.
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
        case 'stream':
          sendStream(call, given, given.body, given.heldBytes);
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
      log.error({ err: error, request_id: call.requestId, path: call.path }, 'management call failed');
      refuseFailed(call);
    }
  }

  function sendPieces(call: Call, given: Extract<EndpointResponse, { readonly kind: 'pieces' }>): void {
    const { pieces } = given;
    const [first = EMPTY] = pieces;
    if (pieces.length < 2) call.exchange.send(given.status, fieldsOf(given, call.rate), first);
    else {
      const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
      sendStream(call, given, { bytes, pieces: inTurns(pieces) }, bytes);
    }
  }

  /** Yields one piece per turn of the main thread. */
  async function* inTurns(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) await turns.next();
      yield piece;
    }
  }

  /** Logs the caller and the result of each call that may change something. */
  function logChange(call: Call, given: EndpointResponse): void {
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

  /** Ends the process if the store is stuck. Source: `state/durable.ts`: only a new process recovers from a stuck store. */
  function failStore(fault: StoreFault, call: Call): void {
    const { code, detail } = fault;
    log.error({ code, detail, request_id: call.requestId, path: call.path }, 'store write failed');
    refuse(call.exchange, problemOf(fault), call.rate, false, call.requestId);
    if (code !== 'store_stuck') return;
    log.fatal('store is stuck; ending the process so that its supervisor restarts it');
    onStoreStuck();
  }

  function refuseFailed({ exchange, rate, requestId }: Call): void {
    refuse(exchange, problem('internal_error', 'The request failed.'), rate, false, requestId);
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

/** Sends after the call has ended: a client that reads slowly occupies no slot, only its share of unsent bytes. */
function sendStream(
  { exchange, rate, place }: Call,
  given: Extract<EndpointResponse, { readonly kind: 'pieces' | 'stream' }>,
  body: StreamedBody,
  heldBytes: number,
): void {
  const unsent = place.sending(heldBytes);
  void exchange.sendStream(given.status, fieldsOf(given, rate), body).finally(() => unsent.received());
}

const EMPTY = new Uint8Array(0);

const WORK_BOUNDS: WorkBounds = {
  inWorkMax: MANAGEMENT_IN_WORK_MAX,
  inWorkPerCustomerMax: MANAGEMENT_IN_WORK_PER_CUSTOMER_MAX,
  waitingMax: MANAGEMENT_WAITING_MAX,
  waitingPerCustomerMax: MANAGEMENT_WAITING_PER_CUSTOMER_MAX,
  waitingBytesMax: MANAGEMENT_WAITING_BYTES_MAX,
  waitingBytesPerCustomerMax: MANAGEMENT_WAITING_BYTES_PER_CUSTOMER_MAX,
  unsentBytesMax: ANSWERS_UNSENT_BYTES_MAX,
};

/** Returns the public problem of a failed write. Only a full disk is disclosed, because the client may retry when there is room. */
function problemOf({ code }: StoreFault): Problem {
  if (code === 'store_full')
    return problem('insufficient_storage', 'The disk is full. Send the request again when there is room.');
  return problem('internal_error', 'The request failed.');
}

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
