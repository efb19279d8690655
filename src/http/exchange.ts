import type { ColdHeaders } from '../kernel/cold-headers.ts';
import type { Problem } from '../contract/problem.ts';
import type { KeyScope } from '../kernel/key-scopes.ts';

/**
 * One HTTP request and its response, independent of the transport: two transports implement these types (`src/http`), and request handlers
 * know neither.
 */
export interface RequestHead {
  readonly method: string;
  /** As sent, up to `?`. */
  readonly path: string;
  /** As sent, after `?`; `''` when there is none, or nothing behind it. */
  readonly query: string;
  /** Path and query as sent, which is what a signature covers. */
  readonly target: string;
  /** `''` if absent, for all fields. */
  readonly svcKey: string;
  readonly svcTimestamp: string;
  readonly svcRequestId: string;
  readonly svcSignature: string;
  readonly authorization: string;
  readonly contentType: string;
  readonly host: string;
  /** All other header fields that a handler may read, by name. */
  readonly cold: ColdHeaders;
  /** -1 when no Content-Length was sent: the body is empty. */
  readonly contentLength: number;
  /** 411 and what is wrong with the length. Checked after the route. */
  readonly lengthFault: Problem | null;
  /** What is wrong with the form of the header. Checked after the length. */
  readonly formFault: Problem | null;
  /** Values of the path parameters in braces, percent-decoded once; empty if the route has none. */
  readonly params: PathParams;
  /** The scope that the endpoint needs. Only the table of routes sets it; without it the handler checks none. */
  readonly scope?: KeyScope;
  /** The dashboard session of the request. Only the dashboard sets it, after it has checked the cookie; never a transport. */
  readonly session?: SessionCredential;
}

/** A dashboard session that was proved: it stands for its key. */
export interface SessionCredential {
  /** SHA-256 of the key's text, lower-case hex. */
  readonly keyHash: string;
  /** Names the session in logs; its id cannot be derived from it. */
  readonly name: string;
}

export type PathParams = Readonly<Record<string, string>>;

/** A handler must call `readBody` or `send` before it returns. */
export interface Exchange {
  /** The client has disconnected or was answered: nothing may be sent, and nothing sent would have an effect. */
  readonly aborted: boolean;
  /**
   * Returns the client's address as text: the peer's, or the one named by a trusted proxy. Costs half a microsecond, so call it only if
   * needed.
   */
  remoteAddress(): string;
  /** Returns the address at the other end of the connection: a trusted proxy's, if one is in between. */
  peerAddress(): string;
  /**
   * Calls back once with the complete body, or with null if it is longer than `bytesMax`. Never calls back after an abort. The bytes are
   * valid only until the callback returns, unless they are owned: then the handler may keep and change them. With `pace`, nothing more is
   * read from the connection after a piece of a body until the promise has resolved, if there is one. `onGone` is called instead of `done`
   * when the client has disconnected or the transport has refused the body.
   */
  readBody(
    bytesMax: number,
    done: (body: Uint8Array | null, isOwned?: boolean) => void,
    pace?: (pieceBytes: number) => Promise<void> | null,
    onGone?: () => void,
  ): void;
  /** Reads nothing more from the connection until the promise has resolved, or a response that does not close it is sent. */
  pauseUntil(next: Promise<void>): void;
  /** Adds lines to the header of the response, whichever it will be. Each line begins with CRLF and contains only text of our own. */
  addFields(lines: string): void;
  /**
   * Sends the complete response. For HEAD, sends status and fields only, with the length of the omitted body. `close` closes the connection
   * afterwards. Does nothing after an abort.
   */
  send(status: number, fields: HeaderFields, body: string | Uint8Array, close?: boolean): void;
  /**
   * Sends a response whose body is produced while it is sent. Asks for a piece only after the previous one was handed to the system, so at
   * most `ANSWER_PIECE_BYTES` of a response wait for a slow client. For HEAD, asks for none. Resolves when the response was sent, when the
   * client has disconnected, or when the body failed; never rejects. The body is always read to its end or cancelled by `return()`.
   *
   * A body that fails before its first piece is answered by `onCrash`; later it cuts the connection, the only signal that is left once the
   * header was sent. Both are reported to `onCrash`.
   */
  sendStream(status: number, fields: HeaderFields, body: StreamedBody): Promise<void>;
}

/** A response body that is produced while it is sent. */
export interface StreamedBody {
  /** Exact length, sent as Content-Length; null if it is unknown: then the body is sent with the chunked transfer coding. */
  readonly bytes: number | null;
  /** Pieces of any size. Must not be changed before `onWritten` was called with them. */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Called with each piece that the transport needs no longer. Not called for every piece. */
  readonly onWritten?: (piece: Uint8Array) => void;
}

/**
 * Header fields in wire format, joined by CRLF. The first one is Content-Type, given without its name: `application/json\r\nCache-Control:
 * no-store`. May contain only text of our own, never a client's. Statuses 204 and 304 have no content, so their first line is omitted.
 * Choice: one call into the transport instead of one per field; a prototype's five fields took 529 ns, one block 166.
 */
export type HeaderFields = string;

export type Handler = (head: RequestHead, exchange: Exchange) => void;

/** One path and its handlers. */
export interface Route {
  /** Exact, or with names for whole segments: `/v1/lists/{fingerprint_hash}`. An exact path has precedence over one with names. */
  readonly path: string;
  /** GET serves HEAD too. */
  readonly methods: Readonly<Record<string, Handler>>;
  readonly bodyBytesMax: number;
  /** The handler answers malformed requests too; it must close the connection then. */
  readonly takesFaults?: boolean;
  /** Header lines for error responses of the router on this path, each beginning with CRLF. */
  readonly refusalFields?: (exchange: Exchange) => string;
  /** Called before anything else for each request on this path that comes from a script of a web page. */
  readonly onCrossOrigin?: (head: RequestHead, exchange: Exchange) => void;
}
