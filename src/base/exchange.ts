import type { Problem } from './problem.ts';

/**
 * One HTTP request and its answer, as every place sees them: two transports stand behind these shapes (`src/http`), and what
 * answers requests knows neither.
 */
export interface RequestHead {
  readonly method: string;
  /** As sent, up to `?`. */
  readonly path: string;
  /** As sent, after `?`; `''` when there is none. */
  readonly query: string;
  /** `''` where absent, for all fields. */
  readonly svcKey: string;
  readonly svcTimestamp: string;
  readonly svcRequestId: string;
  readonly svcSignature: string;
  readonly authorization: string;
  readonly contentType: string;
  /** Of `Idempotency-Key`, unchecked; '' without one. */
  readonly idempotencyKey: string;
  /** -1 when no Content-Length was sent: the body is empty. */
  readonly contentLength: number;
  /** 411 and what is wrong with the length. Checked after the route. */
  readonly lengthFault: Problem | null;
  /** What is wrong with the form of the header. Checked after the length. */
  readonly formFault: Problem | null;
  /** What the route's path names in braces, percent-decoded once; empty where it names nothing. */
  readonly params: PathParams;
}

export type PathParams = Readonly<Record<string, string>>;

/**
 * A handler must call `readBody` or `send` before it returns; what it was given as bytes is borrowed until its callback
 * returns.
 */
export interface Exchange {
  /** The client is gone, or was answered: nothing may be sent, and nothing sent would matter. */
  readonly aborted: boolean;
  /**
   * The client's address as text: the peer's, or the one that a trusted proxy names. Costs half a microsecond, so it is asked only
   * where it is needed.
   */
  remoteAddress(): string;
  /** Calls back once with the whole body, or with null where it is longer than `bytesMax`. Never after an abort. */
  readBody(bytesMax: number, done: (body: Uint8Array | null) => void): void;
  /**
   * Sends the whole answer; of one to HEAD its status and fields, with the length of the body that is left out. `close` ends the
   * connection after it. Does nothing after an abort.
   */
  send(status: number, fields: HeaderFields, body: string, close?: boolean): void;
  /**
   * Sends the whole answer piece by piece, each when the one before has left and `between` has resolved. Resolves when all are with
   * the system or the client is gone. Does nothing after an abort.
   */
  sendPieces(
    status: number,
    fields: HeaderFields,
    pieces: readonly Uint8Array[],
    between: () => Promise<void>,
  ): Promise<void>;
}

/**
 * Header fields as they stand on the wire, joined by CRLF, the first one being Content-Type and given without its name:
 * `application/json\r\nCache-Control: no-store`. Only text of our own may be in it, never a client's.
 * Status 204 has no content, so there the first line is left out.
 * Choice: one call into the transport in place of one a field; a prototype's five fields took 529 ns, one block 166.
 */
export type HeaderFields = string;

export type Handler = (head: RequestHead, exchange: Exchange) => void;

/** One path and what it answers. */
export interface Route {
  /** Exact, or with names for whole segments: `/v1/lists/{fingerprint_hash}`. An exact path goes before one with names. */
  readonly path: string;
  /** GET serves HEAD too. */
  readonly methods: Readonly<Record<string, Handler>>;
  readonly bodyBytesMax: number;
  /** Header lines for refusals that the router makes on this path, each beginning with CRLF. */
  readonly refusalFields?: (exchange: Exchange) => string;
}
