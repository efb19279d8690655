import type { Socket } from 'node:net';
import type { buildConnector, Client as UndiciClient, Dispatcher } from 'undici';
import { loadCommonJs } from '../base/load.ts';
import type { Target } from './target.ts';

/**
 * The client alone, of a package that loads agents, caches, fetch and web sockets with it.
 * Measured: 19 modules instead of 110, and 8.7 MB less in each thread that sends.
 */
const Client = loadCommonJs('undici/lib/dispatcher/client.js') as typeof UndiciClient;

/** Choice: ms for which a connection is kept for the next request, when the server does not say. */
const KEEP_ALIVE_MS = 4_000;
/** Choice: at most that, whatever a server's `Keep-Alive` asks for. */
const KEEP_ALIVE_MS_MAX = 30_000;
/** Choice: a connection older than that takes no new request, so that a name's new addresses are seen in the end. */
const LINE_AGE_MS_MAX = 300_000;

/**
 * One connection: a socket that was dialled already, and an undici client that speaks HTTP/1.1 on it, one request at a time. The
 * client never dials: when the socket is gone, so is the line.
 */
export class Line {
  readonly target: Target;
  readonly remoteAddress: string;
  /** Requests that were given to it. */
  uses = 0;
  isGone = false;
  readonly #socket: Socket;
  readonly #client: UndiciClient;
  readonly #openedAtMs: number;
  readonly #onGone: (line: Line) => void;
  #bytesAtStart = 0;
  #bytesMax = Number.POSITIVE_INFINITY;
  #onOverflow: (() => void) | null = null;
  #isBroken = false;

  constructor(target: Target, socket: Socket, opened: LineOpened) {
    this.target = target;
    this.remoteAddress = opened.remoteAddress;
    this.#socket = socket;
    this.#openedAtMs = opened.nowMs;
    this.#onGone = opened.onGone;
    this.#client = new Client(target.origin, {
      connect: handOver(socket),
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS_MAX,
      maxHeaderSize: opened.headerBytesMax,
      // The deadline of a request is the wheel's; these would run from chunk to chunk.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#client.on('disconnect', () => this.close());
    socket.on('readable', () => this.#count());
    // Before undici's own: it takes an answer that ends with its connection for complete then, and must have all that came.
    socket.on('error', () => {
      this.#isBroken = true;
      this.goOn();
    });
  }

  /** Bytes that came in since the request that runs was given to the line. */
  get bytesReceived(): number {
    return this.#socket.bytesRead - this.#bytesAtStart;
  }

  /** Whether it may take another request. */
  isFit(nowMs: number): boolean {
    return !this.isGone && !this.#socket.destroyed && nowMs - this.#openedAtMs < LINE_AGE_MS_MAX;
  }

  /** `onOverflow` is called when more than `bytesMax` came in over the wire, whatever they are. */
  run(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    bytesMax: number,
    onOverflow: () => void,
  ): void {
    this.uses++;
    this.#bytesAtStart = this.#socket.bytesRead;
    this.#bytesMax = bytesMax;
    this.#onOverflow = onOverflow;
    this.#client.dispatch(options, handler);
  }

  /** The request is over and the line waits. */
  rest(): void {
    this.#onOverflow = null;
    this.goOn();
  }

  /**
   * Takes no more from the socket but what its buffer holds. Choice: not undici's own pause, whose parser throws where nobody can catch
   * it when the connection ends meanwhile.
   */
  hold(): void {
    if (!this.#isBroken) this.#socket.read = () => null;
  }

  goOn(): void {
    if (!Object.hasOwn(this.#socket, 'read')) return;
    Reflect.deleteProperty(this.#socket, 'read');
    this.#socket.emit('readable');
  }

  /** Ends the connection at once; a request on it fails. */
  close(): void {
    if (this.isGone) return;
    this.isGone = true;
    this.#onOverflow = null;
    this.#socket.destroy();
    this.#client.destroy(null, ignore);
    this.#onGone(this);
  }

  /** Counts also what no handler sees: informational answers, chunk extensions, trailers. */
  #count(): void {
    if (this.#onOverflow !== null && this.bytesReceived > this.#bytesMax) this.#onOverflow();
  }
}

export interface LineOpened {
  readonly remoteAddress: string;
  readonly nowMs: number;
  readonly headerBytesMax: number;
  readonly onGone: (line: Line) => void;
}

function ignore(): void {}

/** Gives the socket to the client once; in a later turn, because the client does not go on from within its own call. */
function handOver(socket: Socket): buildConnector.connector {
  let isGiven = false;
  return (_options, callback) =>
    queueMicrotask(() => {
      if (isGiven || socket.destroyed) callback(new LineGoneError(), null);
      else callback(null, socket);
      isGiven = true;
    });
}

/** With a code of its own: undici tries again by itself after its own socket errors. */
class LineGoneError extends Error {
  readonly code = 'ERR_LINE_GONE';
  constructor() {
    super('the connection is gone');
  }
}
