import type { Socket } from 'node:net';
import type { buildConnector, Client as UndiciClient, Dispatcher } from 'undici';
import { loadCommonJs } from '../kernel/load-package.ts';
import type { EgressError } from './faults.ts';
import type { Target } from './egress-target.ts';
import { ResponseHead } from './response-head.ts';

/**
 * Only undici's `Client`. The package itself also loads agents, caches, fetch and web sockets.
 * Measured: 19 modules instead of 110, and 8.7 MB less in each thread that sends.
 */
const Client = loadCommonJs('undici/lib/dispatcher/client.js') as typeof UndiciClient;

/** Choice: ms for which an idle connection is kept if the server does not say. */
const KEEP_ALIVE_MS = 4_000;
/** Choice: maximum of that time (ms), whatever a server's `Keep-Alive` asks for. */
const KEEP_ALIVE_MS_MAX = 30_000;
/** Choice: ms after which a connection takes no new request, so that new addresses of a name eventually come into use. */
const LINE_AGE_MS_MAX = 300_000;
/** Choice: bytes before a body for each allowed byte of header names and values. Separators and informational responses count too. */
const WIRE_BYTES_PER_HEADER_BYTE = 4;

/**
 * One connection: a socket that is already connected, with an undici client that speaks HTTP/1.1 on it, one request at a time. The client
 * never dials. When the socket is gone, the connection ends too.
 */
export class Line {
  readonly target: Target;
  readonly remoteAddress: string;
  /** Number of requests that were run on this connection. */
  uses = 0;
  isGone = false;
  readonly #socket: Socket;
  readonly #client: UndiciClient;
  readonly #openedAtMs: number;
  readonly #headBytesMax: number;
  readonly #onGone: (line: Line) => void;
  /** Set from the moment a request is sent until the head of its response is complete. */
  #head: ResponseHead | null = null;
  #isHeld = false;
  #wasRepaired = false;
  #bytesAtStart = 0;
  #bytesMax = Number.POSITIVE_INFINITY;
  #running: LineUser | null = null;
  #isBroken = false;

  constructor(target: Target, socket: Socket, opened: LineOpened) {
    this.target = target;
    this.remoteAddress = opened.remoteAddress;
    this.#socket = socket;
    this.#openedAtMs = opened.nowMs;
    this.#headBytesMax = WIRE_BYTES_PER_HEADER_BYTE * opened.headerBytesMax;
    this.#onGone = opened.onGone;
    const read = socket.read.bind(socket);
    socket.read = (bytes?: number): unknown => this.#read(read, bytes);
    this.#client = new Client(target.origin, {
      connect: handOver(socket),
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS_MAX,
      maxHeaderSize: opened.headerBytesMax,
      // The timer wheel handles the deadline of a request. These timeouts would restart with every chunk.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#client.on('disconnect', () => this.close());
    socket.on('readable', () => this.#count());
    // Registered before undici's own listener. At that moment undici treats a response that ends with its connection as complete, so it
    // must have received everything that arrived.
    socket.on('error', () => {
      this.#isBroken = true;
      this.goOn();
    });
  }

  /** Bytes received since the current request was given to this connection. */
  get bytesReceived(): number {
    return this.#socket.bytesRead - this.#bytesAtStart;
  }

  /** Returns whether the connection may take another request. */
  isFit(nowMs: number): boolean {
    const isYoung = nowMs - this.#openedAtMs < LINE_AGE_MS_MAX;
    return isYoung && !this.isGone && !this.#socket.destroyed && !this.#wasRepaired;
  }

  /** Runs one request. It fails when more than `bytesMax` bytes of any kind have arrived on the wire. */
  run(options: Dispatcher.DispatchOptions, user: LineUser, bytesMax: number): void {
    this.uses++;
    this.#bytesAtStart = this.#socket.bytesRead;
    this.#bytesMax = bytesMax;
    this.#running = user;
    this.#client.dispatch(options, user);
  }

  /** The request is being sent. Bytes that arrived earlier are no response to it: undici's parser gets and refuses them. */
  onSending(): void {
    this.#head = new ResponseHead(this.#headBytesMax);
  }

  /** Marks the request as finished; the connection becomes idle. */
  rest(): void {
    this.#running = null;
    this.goOn();
  }

  /**
   * Pauses reading: the socket receives no more than its buffer holds. Choice: undici's own pause is not used, because its parser throws an
   * uncatchable error if the connection ends meanwhile.
   */
  hold(): void {
    this.#isHeld = !this.#isBroken;
  }

  goOn(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#socket.emit('readable');
  }

  /** Closes the connection at once. A running request fails. */
  close(): void {
    if (this.isGone) return;
    this.isGone = true;
    this.#running = null;
    this.#socket.destroy();
    this.#client.destroy(null, ignore);
    this.#onGone(this);
  }

  /** Replaces the socket's own `read`, from which undici's parser gets its bytes. Streams call it with 0 to fill their buffer. */
  #read(read: (bytes?: number) => unknown, bytes?: number): unknown {
    if (this.#isHeld) return null;
    if (bytes === 0 || this.#head === null) return read(bytes);
    for (let chunk = read(); chunk !== null; chunk = read()) {
      const step = this.#head.add(chunk as Buffer);
      if (step.kind === 'incomplete') continue;
      this.#head = null;
      if (step.kind === 'fault') {
        this.#running?.fail(step.error, step.detail);
        return null;
      }
      this.#wasRepaired ||= step.isRepaired;
      return step.bytes;
    }
    return null;
  }

  /** Also counts bytes that no handler sees: informational responses, chunk extensions, trailers. */
  #count(): void {
    if (this.#running !== null && this.bytesReceived > this.#bytesMax)
      this.#running.fail('response_too_large', 'more bytes on the wire than the body limit allows');
  }
}

/** The handler of one request. */
export interface LineUser extends Dispatcher.DispatchHandler {
  /** Ends the request because of what has arrived. */
  fail(error: EgressError, detail: string): void;
}

export interface LineOpened {
  readonly remoteAddress: string;
  readonly nowMs: number;
  readonly headerBytesMax: number;
  readonly onGone: (line: Line) => void;
}

function ignore(): void {}

/**
 * Hands the socket to the client once. The call is deferred to a microtask, because the client does not continue from within its own call.
 */
function handOver(socket: Socket): buildConnector.connector {
  let isGiven = false;
  return (_options, callback) =>
    queueMicrotask(() => {
      if (isGiven || socket.destroyed) callback(new LineGoneError(), null);
      else callback(null, socket);
      isGiven = true;
    });
}

/** Has a code of its own, because undici retries by itself after its own socket errors. */
class LineGoneError extends Error {
  readonly code = 'ERR_LINE_GONE';
  constructor() {
    super('the connection is gone');
  }
}
