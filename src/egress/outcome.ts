import type { Readable } from 'node:stream';
import type { EgressFault } from './faults.ts';

/** What callers of the guarded client give and get. */

export type EgressMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';

export interface EgressRequest {
  /** One that is no http or https URL ends as `blocked_address`: nothing is dialled. */
  readonly url: string;
  readonly method: EgressMethod;
  /** Sent as they are; `host`, lengths and those of the connection itself are not the caller's and are left out. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
  /** All of it: waiting for a connection, look-up, connecting, TLS, headers, body. */
  readonly timeoutMs: number;
  /** Look-up and connecting, within `timeoutMs`. */
  readonly connectMs: number;
  /** Over it: `response_too_large`, and the connection is destroyed. */
  readonly responseBytesMax: number;
  /** Read and count the body, keep nothing of it: `body` is empty. */
  readonly discardBody?: boolean;
  /**
   * A body that is longer is not kept: the answer is there once that shows, with the `rest` still to come. The bound of the request
   * holds for all of it, and so does its time, but for what its reader takes.
   */
  readonly wholeBytesMax?: number;
  /**
   * The receiver may get the request twice: when a kept connection ends before the first byte of an answer, it is sent once more on
   * a new one. Nobody can tell whether the first was taken in, so only the caller knows whether that is safe.
   */
  readonly idempotent?: boolean;
}

export type EgressHeaders = Readonly<Record<string, string | string[]>>;

export type EgressOutcome =
  | {
      readonly kind: 'response';
      /** 200 and up; a redirect is an answer like any other and is not followed. */
      readonly status: number;
      /** Names in lower case. */
      readonly headers: EgressHeaders;
      /** As it came over the wire, never decompressed. */
      readonly body: Buffer;
      /**
       * What follows `body`, piece by piece, where that has more than `wholeBytesMax`. It comes as fast as it is read; its owner reads
       * it to its end or destroys it. What goes wrong meanwhile is its error, a `BodyCutError`.
       */
      readonly rest?: Readable;
      /** Until this answer was there. */
      readonly durationMs: number;
      /** Whether the connection had served a request before. */
      readonly reused: boolean;
      readonly remoteAddress: string;
    }
  | ({ readonly kind: 'failed'; readonly durationMs: number } & EgressFault);
