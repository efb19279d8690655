import { setMaxListeners } from 'node:events';
import type { CustomerNumber } from '../base/brand.ts';
import { unreachable } from '../base/brand.ts';
import type { Clock } from '../base/clock.ts';
import type { Exchange, Handler, PathParams, RequestHead, Route } from '../base/exchange.ts';
import { newId } from '../base/ids.ts';
import { problem, type Problem } from '../base/problem.ts';
import { bodyTooLarge, JSON_FIELDS, sendProblem } from '../base/reply.ts';
import { type JsonObject, parseJsonObject, parseJsonObjectOrArray, type ParsedJson } from '../core/json-body.ts';
import type { Journal } from '../decide/journal.ts';
import type { Key, Keyring } from '../decide/keyring.ts';
import { overloaded, rateLimited, UNWRITTEN } from '../decide/pipeline.ts';
import { LocalRateWindows, rateFields, type RateState, type RateWindows } from '../decide/rate-windows.ts';
import type { ReplayGuard } from '../decide/replay-guard.ts';
import { MANAGED_BODY_BYTES_MAX, RATE_MANAGEMENT } from '../limits.ts';
import type { Log } from '../observe/log.ts';
import type { StoreFault } from '../store/durable.ts';
import { type Authenticated, authenticateHeader, authenticateSigned, checkForm } from './authenticate.ts';

/**
 * What all management endpoints have in common: who asks, how often, the body, the query, the answer and its faults.
 *
 * To add a route, write `src/manage/<name>.ts` with a function that takes `managed` and what its handlers need and gives routes:
 *
 *   managed.route('/v1/things/{id}', { GET: managed({}, find), PUT: managed({ body: 'json' }, change) })
 *
 * and name it among the routes in `src/main.ts`. A handler is a plain function from `ManagedRequest` to `ManagedAnswer`: it reads
 * its body by `validate`, its page by `readPage`, and returns the fault of a store write as it is. What belongs to another
 * customer is 404 by construction: ask the store by `request.caller.customer` only.
 */
export interface ManagedRequest {
  readonly caller: Caller;
  readonly params: PathParams;
  /** Without a name twice. */
  readonly query: URLSearchParams;
  /** What the JSON body holds; null for `body: 'none'`. */
  readonly body: JsonObject | readonly unknown[] | null;
  /** Of this call, for its log lines; a problem carries it. */
  readonly requestId: string;
  readonly nowMs: number;
  readonly nowSeconds: number;
  /** The header `Idempotency-Key` as sent; '' without one. */
  readonly idempotencyKey: string;
  /** For handlers that wait for something before they answer. */
  readonly waiting: Waiting;
}

/** When a handler that waits must go on at once: nobody wants what it waits for any more. */
export interface Waiting {
  /** Fires when the service begins to stop; has fired for all calls that come then. */
  readonly stopping: AbortSignal;
  /** The client has gone away. It is not told to anyone, so it must be asked from time to time. */
  isClientGone(): boolean;
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
  | { readonly kind: 'empty'; readonly status: 204 }
  | { readonly kind: 'problem'; readonly problem: Problem }
  /** Of a write: 500; `store_stuck` also ends the process. */
  | StoreFault;

export type ManagedHandler = (request: ManagedRequest) => ManagedAnswer | Promise<ManagedAnswer>;

export interface ManagedOptions {
  /** `none` unless given: a body with anything in it is 413. */
  readonly body?: 'none' | 'json' | 'json_or_array';
  readonly bodyBytesMax?: number;
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
  /** The store can take no write any more. Ends the process unless given. */
  readonly onStoreStuck?: () => void;
}

export interface Managed {
  (options: ManagedOptions, handler: ManagedHandler): Handler;
  route(path: string, methods: Readonly<Record<string, Handler>>): Route;
  /** Ends all waiting, now and of calls that still come, and resolves when every call that was taken in has its answer. */
  drain(): Promise<void>;
}

/** A call from its verification to its answer. */
interface Call {
  readonly exchange: Exchange;
  readonly rate: RateState;
  readonly method: string;
  readonly path: string;
  readonly startedAtMs: number;
}

export function createManaged(parts: ManagedParts): Managed {
  const { clock, keyring, rates, replay, journal, log } = parts;
  const onStoreStuck = parts.onStoreStuck ?? (() => log.flush(() => process.kill(process.pid, 'SIGKILL')));
  // Apart from decide's, so that neither uses up the other's.
  const windows: RateWindows = new LocalRateWindows();
  const running = new Set<Promise<void>>();
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  const stop = new AbortController();
  // As many calls may wait at once as their handlers let.
  setMaxListeners(0, stop.signal);

  function managed(options: ManagedOptions, handler: ManagedHandler): Handler {
    const content = options.body ?? 'none';
    const bytesMax = content === 'none' ? 0 : (options.bodyBytesMax ?? MANAGED_BODY_BYTES_MAX);
    return (head, exchange) => {
      const formFault = checkForm(head);
      if (head.contentLength > bytesMax) refuse(exchange, bodyTooLarge(bytesMax), sourceRate(exchange), true);
      else if (formFault !== null) refuseUnverified(exchange, formFault);
      else {
        const early = authenticateHeader(head, keyring);
        // A body of a stranger's is not waited for, and it stands in the way of the next request: the connection ends.
        if (early?.kind === 'refused') refuseUnverified(exchange, early.problem, head.contentLength > 0);
        else {
          exchange.readBody(bytesMax, (body) => {
            if (body === null) refuse(exchange, bodyTooLarge(bytesMax), sourceRate(exchange), true);
            else
              verify(head, body, early ?? authenticateSigned(head, body, keyring, clock), exchange, content, handler);
          });
        }
      }
    };
  }

  function verify(
    head: RequestHead,
    body: Uint8Array,
    authenticated: Authenticated,
    exchange: Exchange,
    content: Content,
    handler: ManagedHandler,
  ): void {
    const startedAtMs = performance.now();
    if (authenticated.kind === 'refused') {
      refuseUnverified(exchange, authenticated.problem);
      return;
    }
    const { key, signedAtSeconds } = authenticated;
    const rate = windows.take(key.number, RATE_MANAGEMENT, nowSeconds());
    const fault = admit(key, rate, head, signedAtSeconds);
    if (fault !== null) {
      refuse(exchange, fault, rate);
      return;
    }
    const read = readContent(head, body, content);
    const query = new URLSearchParams(head.query);
    const queryFault = repeatedParameter(query);
    if (read.kind === 'fault') refuse(exchange, read.problem, rate);
    else if (queryFault !== null) refuse(exchange, queryFault, rate);
    else {
      const nowMs = clock.nowMs();
      const call = { exchange, rate, method: head.method, path: head.path, startedAtMs };
      const request: ManagedRequest = {
        caller: { customer: key.customer, key },
        params: head.params,
        query,
        body: read.value,
        requestId: newId('req', nowMs),
        nowMs,
        nowSeconds: Math.floor(nowMs / 1000),
        idempotencyKey: head.idempotencyKey,
        waiting: { stopping: stop.signal, isClientGone: () => exchange.aborted },
      };
      const run = answer(call, request, handler).finally(() => running.delete(run));
      running.add(run);
    }
  }

  /** Rate, what the key may do, request id. Only a secret key's request uses up its id. */
  function admit(key: Key, rate: RateState, head: RequestHead, signedAtSeconds: number | null): Problem | null {
    if (!rate.allowed) return rateLimited(rate);
    if (key.kind === 'public') return problem('key_not_allowed', 'A public key is for decide only; use a secret key.');
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

  async function answer(call: Call, request: ManagedRequest, handler: ManagedHandler): Promise<void> {
    const { exchange, rate } = call;
    try {
      parts.resetRead();
      const given = await handler(request);
      switch (given.kind) {
        case 'json':
          exchange.send(
            given.status,
            JSON_FIELDS + rateFields(rate) + linesOf(given.headers),
            JSON.stringify(given.body),
          );
          break;
        case 'text':
          exchange.send(
            given.status,
            `${given.contentType}\r\nCache-Control: no-store${rateFields(rate)}${linesOf(given.headers)}`,
            given.body,
          );
          break;
        case 'empty':
          exchange.send(given.status, JSON_FIELDS + rateFields(rate), '');
          break;
        case 'problem':
          refuse(exchange, given.problem, rate, false, request.requestId);
          break;
        case 'fault':
          failStore(given, call, request);
          break;
        default:
          unreachable(given);
      }
      if (call.method !== 'GET' && call.method !== 'HEAD') logChange(call, request, given);
    } catch (error) {
      log.error({ err: error, request_id: request.requestId, path: call.path }, 'a management call failed');
      refuseFailed(call, request);
    }
  }

  /** Whoever writes is in the log, and what came of it. */
  function logChange(call: Call, request: ManagedRequest, given: ManagedAnswer): void {
    const status = given.kind === 'problem' ? given.problem.status : given.kind === 'fault' ? 500 : given.status;
    log.info(
      {
        request_id: request.requestId,
        customer: request.caller.customer,
        key_prefix: request.caller.key.prefix,
        method: call.method,
        path: call.path,
        status,
        duration_ms: Math.round(performance.now() - call.startedAtMs),
      },
      'management call',
    );
  }

  /** Source: `store/durable.ts`: only a new process recovers from a stuck store. */
  function failStore(fault: StoreFault, call: Call, request: ManagedRequest): void {
    log.error({ code: fault.code, request_id: request.requestId, path: call.path }, 'the store took no write');
    refuseFailed(call, request);
    if (fault.code !== 'store_stuck') return;
    log.fatal('the store is stuck; the process ends, so that its supervisor starts it again');
    onStoreStuck();
  }

  function refuseFailed(call: Call, request: ManagedRequest): void {
    const fault = problem('internal_error', 'The request failed.');
    refuse(call.exchange, fault, call.rate, false, request.requestId);
  }

  /** A failed authentication counts against its source address; past that allowance the answer is 429. */
  function refuseUnverified(exchange: Exchange, fault: Problem, close = false): void {
    const source = rates.takeFailure(exchange.remoteAddress(), nowSeconds());
    refuse(exchange, source.allowed ? fault : rateLimited(source), source, close);
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

type Content = NonNullable<ManagedOptions['body']>;

/** Media type, then JSON. Source: open points, section 1: 415 everywhere but on decide. */
function readContent(head: RequestHead, body: Uint8Array, content: Content): ParsedJson<ManagedRequest['body']> {
  if (content === 'none') return { kind: 'json', value: null };
  if (body.length > 0 && !/^application\/json *(?:;|$)/i.test(head.contentType)) {
    return { kind: 'fault', problem: problem('unsupported_media_type', 'Send the body as application/json.') };
  }
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return content === 'json' ? parseJsonObject(bytes) : parseJsonObjectOrArray(bytes);
}

function repeatedParameter(query: URLSearchParams): Problem | null {
  const names = [...query.keys()];
  if (new Set(names).size === names.length) return null;
  return problem('invalid_request', 'A parameter of the query is given twice.');
}

function linesOf(headers: Readonly<Record<string, string>> = {}): string {
  return Object.entries(headers)
    .map(([name, value]) => `\r\n${name}: ${value}`)
    .join('');
}
