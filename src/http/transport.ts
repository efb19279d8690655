import type { Exchange, Handler } from '../base/exchange.ts';
import { problem } from '../base/problem.ts';
import { sendProblem } from '../base/reply.ts';
import type { TrustedProxies } from '../base/trusted-proxies.ts';
import { type BodyRoom, type HeldBody, sourceOf } from './body-room.ts';

/** What both transports offer: uWebSockets.js and `node:http` are the same behind it. */
export interface TransportOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly trustedProxies: TrustedProxies;
  readonly onRequest: Handler;
  /** A handler threw: that request is lost, and nothing else. */
  readonly onCrash: (error: unknown, exchange: Exchange) => void;
}

export interface Transport {
  readonly name: 'uws' | 'node';
  readonly port: number;
  /** From now on no new connections, and each open one ends with its next answer. */
  drain(): void;
}

/**
 * Choice: responses sent from within the parser in one turn of the event loop, on `node:http` requests of one connection. Past it a
 * client that pipelines as fast as it can would keep the event loop from turning.
 */
export const RESPONSES_PER_TURN_MAX = 32;

/** What the exchanges of one transport share. Written by `drain`, read by every answer. */
export interface TransportState {
  draining: boolean;
  readonly trustedProxies: TrustedProxies;
  readonly onCrash: TransportOptions['onCrash'];
  readonly bodies: BodyRoom;
}

/** Begins to count a body that comes in pieces. A trusted proxy that names no client stands for many. */
export function holdBody({ bodies, trustedProxies }: TransportState, exchange: Exchange): HeldBody {
  const address = exchange.remoteAddress();
  return bodies.open(trustedProxies.has(address) ? null : sourceOf(address));
}

/** Ends the connection whose body has no room. Not by its handler, which knows bodies that are complete or too large. */
export function refuseHeldBody(exchange: Exchange): void {
  const detail = 'As many bytes of bodies are on their way as the service takes at once.';
  sendProblem(exchange, problem('overloaded', detail, { retryAfterSeconds: 1 }), { close: true });
}
