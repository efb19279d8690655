import type { MessagePort } from 'node:worker_threads';
import { ColdHeaders, NO_COLD_HEADERS } from '../kernel/cold-headers.ts';
import type { Problem } from '../contract/problem.ts';
import type { ConnectionBounds, SharedBounds } from './connection-room.ts';
import type { RequestHead } from './exchange.ts';

/**
 * Messages between the main thread and the threads that serve HTTP: requests, pieces of their bodies, and responses, each with the
 * request's number in its thread. Tuples, because a structured clone of objects copies the names of their members with each of them.
 */

export interface HttpThreadData {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** Canonical networks. */
  readonly trustedProxies: readonly string[];
  readonly connections: ConnectionBounds | null;
  readonly shared: SharedBounds;
  /** Where a library may be put for a moment. */
  readonly dataDir: string | null;
  /** One word: bytes of this thread's messages that the main thread has read, modulo 2^32. */
  readonly taken: SharedArrayBuffer;
}

/** Everything of one turn of a thread's event loop. */
export interface RequestTurn {
  readonly events: readonly RequestEvent[];
  /** The pieces of all events, in their order. */
  readonly pieces: Uint8Array;
  /** What it counts towards the bytes that wait for the main thread. */
  readonly bytes: number;
}

export type RequestEvent =
  | readonly ['head', id: number, values: HeadValues, peerAddress: string]
  /** The thread failed to answer this request itself. */
  | readonly ['crash', id: number, values: HeadValues, peerAddress: string, error: Error]
  | readonly ['piece', id: number, bytes: number, isLast: boolean]
  /** The client has disconnected before its response was complete. */
  | readonly ['gone', id: number]
  /** The last piece of a streamed response was handed to the system, so the next one is wanted. */
  | readonly ['next', id: number];

export type ResponseEvent =
  | readonly ['send', id: number, status: number, fields: string, body: string | Uint8Array, close: boolean]
  /** Begins a response that `data` continues, and `end` or `cut` ends. `bytes` is its length; null if that is unknown. */
  | readonly ['stream', id: number, status: number, fields: string, bytes: number | null]
  | readonly ['data', id: number, piece: Uint8Array]
  | readonly ['end', id: number]
  /** The body has failed: its client must see that it is not complete. */
  | readonly ['cut', id: number]
  | readonly ['pause', id: number]
  | readonly ['resume', id: number];

/** `lead`: the thread may answer requests itself; what it needs for that comes over the port. */
export type ThreadOrder = readonly ResponseEvent[] | { readonly lead: MessagePort } | 'drain' | 'close';

type HeadValues = readonly [
  method: string,
  path: string,
  query: string,
  target: string,
  svcKey: string,
  svcTimestamp: string,
  svcRequestId: string,
  svcSignature: string,
  authorization: string,
  contentType: string,
  host: string,
  cold: readonly string[] | null,
  contentLength: number,
  lengthFault: Problem | null,
  formFault: Problem | null,
];

export function packHead(head: RequestHead): HeadValues {
  return [
    head.method,
    head.path,
    head.query,
    head.target,
    head.svcKey,
    head.svcTimestamp,
    head.svcRequestId,
    head.svcSignature,
    head.authorization,
    head.contentType,
    head.host,
    head.cold === NO_COLD_HEADERS ? null : head.cold.pairs,
    head.contentLength,
    head.lengthFault,
    head.formFault,
  ];
}

export function unpackHead(values: HeadValues): RequestHead {
  const [method, path, query, target, svcKey, svcTimestamp, svcRequestId, svcSignature, ...more] = values;
  const [authorization, contentType, host, cold, contentLength, lengthFault, formFault] = more;
  return {
    method,
    path,
    query,
    target,
    svcKey,
    svcTimestamp,
    svcRequestId,
    svcSignature,
    authorization,
    contentType,
    host,
    cold: cold === null ? NO_COLD_HEADERS : new ColdHeaders(cold),
    contentLength,
    lengthFault,
    formFault,
    params: {},
  };
}

/** Collects what one turn of the event loop has for another thread, and sends it in one message. */
export class Outbox<T> {
  readonly #send: (items: readonly T[]) => void;
  readonly #later: (flush: () => void) => void;
  #items: T[] = [];

  /** `later` calls back at the end of the turn. */
  constructor(send: (items: readonly T[]) => void, later: (flush: () => void) => void) {
    this.#send = send;
    this.#later = later;
  }

  post(item: T): void {
    if (this.#items.push(item) === 1) this.#later(this.#flush);
  }

  readonly #flush = (): void => {
    const items = this.#items;
    this.#items = [];
    this.#send(items);
  };
}
