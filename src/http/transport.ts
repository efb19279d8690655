import type { MessagePort } from 'node:worker_threads';
import type { Exchange, Handler } from './exchange.ts';
import { problem } from '../contract/problem.ts';
import { sendProblem } from './reply.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import type { ConnectionBounds, OpenConnections } from './connection-room.ts';
import { type BodyRoom, type HeldBody, bodySourceOf } from './body-room.ts';

/** Common interface of the two transports, uWebSockets.js and `node:http`, which behave alike behind it. */
export interface TransportOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly trustedProxies: TrustedProxies;
  /** Without bounds, every connection is accepted and none is counted. */
  readonly connections?: ConnectionBounds;
  /** Where a library may be put for a moment, if the system's temporary folder cannot be used. */
  readonly dataDir?: string;
  readonly onRequest: Handler;
  /** Called when a handler throws. Only that request is lost. */
  readonly onCrash: (error: unknown, exchange: Exchange) => void;
}

export interface Transport {
  readonly name: 'uws' | 'node';
  readonly port: number;
  /** null without bounds. */
  readonly connections: OpenConnections | null;
  /** Accepts no new connections from now on, and closes each open one after its next response. */
  drain(): void;
  /** Cuts all connections and ends the threads of the transport; absent if it has none. The process must not exit before. */
  close?(): Promise<void>;
  /** Gives each thread of the transport a port over which it gets what it needs to answer requests itself; absent if it has none. */
  lead?(ports: readonly MessagePort[]): void;
}

/**
 * Choice: maximum number of responses sent from within the parser in one turn of the event loop; with `node:http`, requests of one
 * connection. Without it, a client that pipelines as fast as it can would block the event loop.
 */
export const RESPONSES_PER_TURN_MAX = 32;

/** State shared by all exchanges of one transport. Written by `drain`, read by every response. */
export interface TransportState {
  draining: boolean;
  readonly trustedProxies: TrustedProxies;
  readonly onCrash: TransportOptions['onCrash'];
  readonly bodies: BodyRoom;
}

/** Starts to account for a body that arrives in pieces. The address of a trusted proxy that names no client stands for many clients. */
export function holdBody({ bodies, trustedProxies }: TransportState, exchange: Exchange): HeldBody {
  const address = exchange.remoteAddress();
  return bodies.open(trustedProxies.has(address) ? null : bodySourceOf(address));
}

/**
 * Rejects a request whose body has no room, and closes the connection. The handler is not involved, because it only handles bodies that are
 * complete or too large.
 */
export function refuseHeldBody(exchange: Exchange): void {
  const detail = 'The limit on request bodies that are received at the same time is reached.';
  sendProblem(exchange, problem('overloaded', detail, { retryAfterSeconds: 1, reason: 'bodies' }), { close: true });
}
