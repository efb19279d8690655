import type { Readable } from 'node:stream';
import type { EgressFault } from './faults.ts';
import type { Target } from './egress-target.ts';

/** Types of the guarded client's requests and outcomes. */

export type EgressMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';

export interface EgressRequest {
  /** A value that is not an http or https URL fails with `blocked_address`, and nothing is dialled. */
  readonly url: string;
  /** Result of `readTarget(url)`, for callers that request the same URL often; read from `url` if absent. */
  readonly target?: Target;
  readonly method: EgressMethod;
  /** Sent as given, except `host`, the body length and connection headers: these are not the caller's to set and are dropped. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
  /** Limit for the whole request: waiting for a connection, look-up, connecting, TLS, headers, body. */
  readonly timeoutMs: number;
  /** Limit for look-up and connecting, within `timeoutMs`. */
  readonly connectMs: number;
  /** A larger body fails with `response_too_large`, and the connection is destroyed. */
  readonly responseBytesMax: number;
  /** Reads and counts the body but keeps none of it, and no headers either: `body` and `headers` are empty. */
  readonly discardBody?: boolean;
  /**
   * Longer bodies are not buffered. The response is returned as soon as that is known, and the remainder follows in `rest`. The size limit
   * of the request applies to the complete body. So does its timeout, but the time that the reader takes is not counted.
   */
  readonly wholeBytesMax?: number;
  /**
   * The receiver may get the request twice: if a kept connection ends before the first byte of a response, the request is sent once more on
   * a new connection. Nobody can know whether the first one was processed, so only the caller knows whether that is safe.
   */
  readonly idempotent?: boolean;
}

export type EgressHeaders = Readonly<Record<string, string | string[]>>;

export type EgressOutcome =
  | {
      readonly kind: 'response';
      /** 200 and up. A redirect is a response like any other and is not followed. */
      readonly status: number;
      /** Header names are in lower case. */
      readonly headers: EgressHeaders;
      /** As received on the wire, never decompressed. */
      readonly body: Buffer;
      /**
       * The part after `body`, chunk by chunk, if the complete body exceeds `wholeBytesMax`. It arrives as fast as it is read. Its owner
       * must read it to the end or destroy it. A failure meanwhile emits a `BodyCutError`.
       */
      readonly rest?: Readable;
      /** Time until this response was returned. */
      readonly durationMs: number;
      /** Whether the connection had served a request before. */
      readonly reused: boolean;
      readonly remoteAddress: string;
    }
  | ({ readonly kind: 'failed'; readonly durationMs: number } & EgressFault);
