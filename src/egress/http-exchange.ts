import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { loadCommonJs } from '../kernel/load-package.ts';
import { Body } from './streaming-body.ts';
import { codeOf, type EgressError, faultOf } from './faults.ts';
import type { Line } from './connection.ts';
import type { EgressHeaders, EgressOutcome, EgressRequest } from './egress-outcome.ts';
import { RestOfBody } from './rest-of-body.ts';
import type { Target } from './egress-target.ts';
import type { Deadline } from './timer-wheel.ts';

/** Choice: maximum size of the header names and values of one response, bytes. Browsers and servers stop at 8 to 256 KiB. */
export const RESPONSE_HEADER_BYTES_MAX = 65_536;
/**
 * Choice: bytes accepted on the wire for each byte of body that is allowed. A body in chunks of one byte takes six. Chunk extensions and
 * trailers are not part of the body and would otherwise not be counted at all.
 */
const WIRE_BYTES_PER_BODY_BYTE = 8;
/** Choice: ms after which a reader that has stopped reading is considered gone. */
const READER_MS_MAX = 60_000;

/** What an exchange needs from the pool that runs it. */
export interface ExchangeHost {
  nowMs(): number;
  /** Called on success; the connection may serve another request. */
  onDone(exchange: EgressExchange, line: Line): void;
  /** Called on failure. The host must close the connection, if there was one. */
  onFailed(exchange: EgressExchange, line: Line | null): void;
  /** Called when a kept connection turned out to be closed before the request took effect. `wasSent` is whether anything was sent. */
  onLineLost(exchange: EgressExchange, wasSent: boolean): void;
  /** Sets the deadline to `ms` from now. The exchange then fails with `timeout`; `detail` is its own time limit by default. */
  setDeadline(exchange: EgressExchange, ms: number, detail?: string): void;
}

/**
 * One request from start to outcome. It runs on one connection, and on another one if that is lost.
 * Choice: the handler that undici's parser calls itself. For the newer form (`onRequestStart`), undici creates two objects per request and
 * reads all headers into an object.
 */
export class EgressExchange implements Dispatcher.DispatchHandler {
  readonly target: Target;
  readonly request: EgressRequest;
  /** Identifies the exchange within its pool. */
  number = 0;
  deadline: Deadline | null = null;
  /** Set while a connection is being opened for this exchange. */
  dialling: AbortController | null = null;
  /** The request has been sent once before. */
  isSecondSending = false;
  isSettled = false;
  readonly #host: ExchangeHost;
  readonly #startedAtMs: number;
  readonly #resolve: (outcome: EgressOutcome) => void;
  readonly #reject: (error: Error) => void;
  #line: Line | null = null;
  #isSent = false;
  #status = 0;
  #headers: EgressHeaders = {};
  /** Null until bytes are kept. */
  #body: Body | null = null;
  #bodyBytes = 0;
  /** Set once the response has been handed out before its body was complete. */
  #rest: RestOfBody | null = null;
  /** Start of the current pause in which the connection waits for the reader; null when not paused. */
  #heldAtMs: number | null = null;
  #heldMs = 0;

  constructor(target: Target, request: EgressRequest, host: ExchangeHost, settled: Settled) {
    this.target = target;
    this.request = request;
    this.#host = host;
    this.#startedAtMs = host.nowMs();
    this.#resolve = settled.resolve;
    this.#reject = settled.reject;
  }

  runOn(line: Line): void {
    const { method, headers = {}, body = null, responseBytesMax } = this.request;
    this.#line = line;
    this.#isSent = false;
    const options = { path: this.target.path, method, headers: sendable(headers), body };
    line.run(options, this, WIRE_BYTES_PER_BODY_BYTE * responseBytesMax + 4 * RESPONSE_HEADER_BYTES_MAX);
  }

  onDeadline(): void {
    this.fail('timeout', `not done within ${this.request.timeoutMs} ms`);
  }

  fail(error: EgressError, detail: string, lack?: string): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const line = this.#line;
    this.#line = null;
    this.#body = null;
    this.#host.onFailed(this, line);
    const fault = { error, detail, ...(lack === undefined ? {} : { lack }) };
    if (this.#rest === null) this.#resolve({ kind: 'failed', ...fault, durationMs: this.#durationMs() });
    else this.#rest.cut(fault);
  }

  onConnect(): void {
    this.#isSent = true;
    this.#line?.onSending();
  }

  onHeaders(status: number, raw: readonly Buffer[]): boolean {
    if (this.isSettled) return true;
    const { method, responseBytesMax, discardBody = false } = this.request;
    this.#status = status;
    if (!discardBody) this.#headers = parseHeaders(raw);
    if (method === 'HEAD' || isBodiless(status)) return true;
    const announced = Number(discardBody ? contentLengthIn(raw) : (this.#headers['content-length'] ?? 0));
    if (announced > responseBytesMax) this.fail('response_too_large', `${announced} bytes of body announced`);
    return true;
  }

  /** Always reads on; the connection pauses otherwise: see `Line.hold`. */
  onData(chunk: Buffer): boolean {
    this.#take(chunk);
    return true;
  }

  #take(chunk: Buffer): void {
    const line = this.#line;
    if (this.isSettled || line === null) return;
    this.#bodyBytes += chunk.length;
    const { responseBytesMax, discardBody = false, wholeBytesMax = responseBytesMax } = this.request;
    if (this.#bodyBytes > responseBytesMax)
      this.fail('response_too_large', `more than ${responseBytesMax} bytes of body`);
    else if (this.#bodyBytes > wholeBytesMax) {
      this.#rest ??= this.#answerEarly(line);
      this.#rest.add(chunk);
    } else if (!discardBody) {
      this.#body ??= new Body(responseBytesMax);
      this.#body.add(chunk);
    }
  }

  /** Pauses the connection. The time that the reader takes does not count towards the timeout of the other side. */
  #hold(): void {
    const line = this.#line;
    if (this.#heldAtMs !== null || line === null) return;
    this.#heldAtMs = this.#host.nowMs();
    this.#host.setDeadline(this, READER_MS_MAX, `the reader was idle for ${READER_MS_MAX} ms`);
    line.hold();
  }

  #goOn(): void {
    const line = this.#line;
    if (this.#heldAtMs === null || line === null) return;
    this.#heldMs += this.#host.nowMs() - this.#heldAtMs;
    this.#heldAtMs = null;
    const { timeoutMs } = this.request;
    const leftMs = timeoutMs - (this.#durationMs() - this.#heldMs);
    this.#host.setDeadline(this, Math.max(0, leftMs));
    line.goOn();
  }

  #answerEarly(line: Line): RestOfBody {
    const rest = new RestOfBody({
      onFull: () => this.#hold(),
      onWanted: () => this.#goOn(),
      onLeft: () => this.#leave(),
    });
    this.#answer(line, rest.stream);
    return rest;
  }

  /** Closes the connection because the reader no longer wants the rest of the body. */
  #leave(): void {
    if (this.isSettled) return;
    const line = this.#line;
    this.isSettled = true;
    this.#line = null;
    this.#host.onFailed(this, line);
  }

  onComplete(): void {
    // undici closes a connection that the server wants closed only after this call. Before that it is unknown whether the connection can be
    // reused.
    queueMicrotask(() => this.#succeed());
  }

  onError(error: Error): void {
    const line = this.#line;
    if (this.isSettled || line === null) return;
    if (!this.#isSent && CALLER_FAULTS.has(codeOf(error))) {
      this.#refuse(line, error);
      return;
    }
    // undici applies the Content-Length of such a response to the (absent) body of the response itself and closes the connection.
    if (codeOf(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && isBodiless(this.#status)) {
      this.#succeed();
      return;
    }
    const isUntouched = line.uses > 1 && line.bytesReceived === 0;
    const fault = faultOf(error, 'exchange');
    if (isUntouched && fault.error === 'connection_reset' && this.#maySendAgain()) {
      this.#line = null;
      line.close();
      this.#host.onLineLost(this, this.#isSent);
    } else this.fail(fault.error, fault.detail);
  }

  /** A request that never left may always be sent again. Each attempt uses up a kept connection, so the last attempt runs on a new one. */
  #maySendAgain(): boolean {
    return !this.#isSent || (this.request.idempotent === true && !this.isSecondSending);
  }

  #succeed(): void {
    const line = this.#line;
    if (this.isSettled || line === null) return;
    this.isSettled = true;
    this.#line = null;
    if (this.#rest === null) this.#answer(line);
    else this.#rest.end();
    this.#host.onDone(this, line);
  }

  #answer({ uses, remoteAddress }: Line, rest?: Readable): void {
    const response = {
      kind: 'response' as const,
      status: this.#status,
      headers: this.#headers,
      body: this.#body?.take() ?? NO_BODY,
      durationMs: this.#durationMs(),
      reused: uses > 1,
      remoteAddress,
    };
    this.#resolve(rest === undefined ? response : { ...response, rest });
    this.#body = null;
  }

  #durationMs(): number {
    return this.#host.nowMs() - this.#startedAtMs;
  }

  /** A header or method that cannot be sent is an error of the caller, not of the network. */
  #refuse(line: Line, error: Error): void {
    this.isSettled = true;
    this.#line = null;
    this.#host.onDone(this, line);
    this.#reject(new TypeError(`This request cannot be sent: ${error.message}`));
  }
}

export interface Settled {
  readonly resolve: (outcome: EgressOutcome) => void;
  readonly reject: (error: Error) => void;
}

const NO_BODY = Buffer.alloc(0);

/** Names in lower case. */
const { parseHeaders } = loadCommonJs('undici/lib/core/util.js') as {
  parseHeaders(this: void, raw: readonly Buffer[]): EgressHeaders;
};

const CONTENT_LENGTH = 'content-length';

/** Returns the first value, without reading the other headers. `raw` alternates names and values. */
function contentLengthIn(raw: readonly Buffer[]): string {
  for (let i = 0; i + 1 < raw.length; i += 2)
    if (raw[i]?.length === CONTENT_LENGTH.length && raw[i]?.latin1Slice().toLowerCase() === CONTENT_LENGTH)
      return raw[i + 1]?.latin1Slice() ?? '0';
  return '0';
}

/** Source: RFC 9110, 6.4.1: they end with their headers, whatever these say. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}
const CALLER_FAULTS = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED', 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH']);

/** Headers that belong to the connection, plus `Host`: a host other than the URL's would reach another site at the same address. */
const NOT_THE_CALLERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function sendable(headers: Readonly<Record<string, string>>): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !NOT_THE_CALLERS.has(name.toLowerCase())) sent[name] = value;
  }
  return sent;
}
