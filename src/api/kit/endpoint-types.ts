import type { Key } from '../../auth/key-cache.ts';
import type { Problem } from '../../contract/problem.ts';
import type { PathParams, StreamedBody } from '../../http/exchange.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Coverage } from '../../ports/decision-history.ts';
import type { StoreFault } from '../../state/tables/durable.ts';
import type { Slices } from '../../state/tables/turns.ts';
import type { BodyReader } from './request-body.ts';

/** What the handler of a management endpoint receives and returns. To add an endpoint, see docs/adding.md. */
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
  /** The header `If-Match` as sent; '' without one. */
  readonly ifMatch: string;
  /** For handlers that wait for something before they respond. */
  readonly waiting: Waiting;
  /** For work of more than about 0.1 ms: check `isOver` during the work, and await `begin` when it is true. */
  readonly slices: Slices;
  /** For reads of all nodes: if one did not answer, the response gets `X-SVC-Partial: 1`. */
  readonly coverage: Coverage;
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
  /** The name of the dashboard session that made the call; absent if the key itself did. */
  readonly session?: string | undefined;
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

export type OptionsWithBody<Body> = EndpointOptions<Body> & Required<Pick<EndpointOptions<Body>, 'body'>>;
