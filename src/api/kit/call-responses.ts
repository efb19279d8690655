import type { Key } from '../../auth/key-cache.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import { rateFields } from '../../decide/rate-fields.ts';
import type { Exchange, HeaderFields, StreamedBody } from '../../http/exchange.ts';
import { JSON_FIELDS } from '../../http/reply.ts';
import { type CustomerNumber, unreachable } from '../../kernel/brand.ts';
import type { Log } from '../../observe/log.ts';
import type { RateState } from '../../ports/admission.ts';
import type { Coverage } from '../../ports/decision-history.ts';
import type { StoreFault } from '../../state/tables/durable.ts';
import type { Slices, Turns } from '../../state/tables/turns.ts';
import type { EndpointResponse } from './endpoint-types.ts';
import { givePiece } from './response-pieces.ts';
import type { QueuePlace } from './work-queue.ts';

/** A call between its verification and its response. */
export interface Call {
  readonly requestId: string;
  readonly key: Key;
  readonly slices: Slices;
  readonly place: QueuePlace;
  readonly coverage: Coverage;
  readonly exchange: Exchange;
  readonly rate: RateState;
  readonly method: string;
  readonly path: string;
  /** The name of the dashboard session that made the call. */
  readonly session: string | undefined;
  readonly startedAtMs: number;
  readonly isFrequent: boolean;
}

export interface ResponseParts {
  readonly log: Log;
  readonly turns: Turns;
  /** Lets this thread's reads see later commits; called before each handler. */
  readonly resetRead: () => void;
  /** Called when the store cannot accept writes any more. */
  readonly onStoreStuck: () => void;
  readonly refuse: (exchange: Exchange, fault: Problem, rate: RateState, close: boolean, requestId: string) => void;
}

/** Returns the function that runs a call's handler, sends its response, and logs calls that may change something. */
export function createCallResponses(
  parts: ResponseParts,
): (call: Call, handle: () => EndpointResponse | Promise<EndpointResponse>) => Promise<void> {
  const { log, turns, refuse } = parts;

  async function answer(call: Call, handle: () => EndpointResponse | Promise<EndpointResponse>): Promise<void> {
    const { exchange, rate } = call;
    try {
      parts.resetRead();
      const given = await handle();
      if (call.coverage.isPartial) exchange.addFields('\r\nX-SVC-Partial: 1');
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
      sendStream(call, given, { bytes, pieces: inTurns(pieces, call.key.customer), onWritten: givePiece }, bytes);
    }
  }

  /** Yields one piece per turn of the main thread. A response that is sent goes before calls that begin: it frees memory. */
  async function* inTurns(pieces: readonly Uint8Array[], customer: CustomerNumber): AsyncGenerator<Uint8Array> {
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) await turns.next(customer, true);
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
        ...(call.session !== undefined && { session: call.session }),
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
    parts.onStoreStuck();
  }

  function refuseFailed({ exchange, rate, requestId }: Call): void {
    refuse(exchange, problem('internal_error', 'The request failed.'), rate, false, requestId);
  }

  return answer;
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

/** Choice: a failover of the store takes a second or two. */
const CLUSTER_RETRY_SECONDS = 2;

/** Returns the public problem of a failed write. Only what passes by itself is disclosed, because the client may retry then. */
function problemOf({ code }: StoreFault): Problem {
  if (code === 'store_full')
    return problem('insufficient_storage', 'The disk is full. Send the request again when there is room.');
  if (code === 'cluster_unavailable')
    return problem('cluster_unavailable', 'The nodes cannot agree on changes at the moment. Nothing was changed.', {
      retryAfterSeconds: CLUSTER_RETRY_SECONDS,
    });
  if (code === 'change_unconfirmed')
    return problem('cluster_unavailable', 'The change was not confirmed in time. Whether it was made is unknown.', {
      retryAfterSeconds: CLUSTER_RETRY_SECONDS,
    });
  return problem('internal_error', 'The request failed.');
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
