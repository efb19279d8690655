import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { readFileSync } from 'node:fs';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { type ColdHeaders, NO_COLD_HEADERS } from '../kernel/cold-headers.ts';
import type { Exchange, HeaderFields, StreamedBody } from './exchange.ts';
import { newId } from '../kernel/ids.ts';
import { problem, problemBody, type Problem } from '../contract/problem.ts';
import { sendProblem } from './reply.ts';
import { TRANSPORT_HEADER_BYTES_MAX } from '../kernel/limits.ts';
import { BodyRoom, type HeldBody } from './body-room.ts';
import { BodyPieces } from './body-pieces.ts';
import { boundConnections } from './node-connections.ts';
import { HeaderValidation } from './gate.ts';
import { NodeSink } from './node-sink.ts';
import { hasNoContent, statusLine } from './status-lines.ts';
import { cancelBody, pump } from './stream-body.ts';
import {
  holdBody,
  refuseHeldBody,
  RESPONSES_PER_TURN_MAX,
  type Transport,
  type TransportOptions,
  type TransportState,
} from './transport.ts';

/** Serves with `node:http`, for platforms without uWebSockets.js. */
export function listenNode(options: TransportOptions): Promise<Transport> {
  const server = createNodeServer(options.tls);
  const state: TransportState = {
    draining: false,
    trustedProxies: options.trustedProxies,
    onCrash: options.onCrash,
    bodies: new BodyRoom(),
  };
  const ended = new WeakSet<Socket>();
  const onRequest = createRequestListener(options, state, ended);
  server.on('request', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Sends nothing more on a connection that already ends with an earlier response.
    if (!ended.has(socket)) refuseBroken(error, socket);
  });

  const connections = boundConnections(server, options);

  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port, exclusive: true, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve({
        name: 'node',
        port: (server.address() as AddressInfo).port,
        connections,
        drain() {
          state.draining = true;
          // Calls the close of the TCP server. The HTTP server's own close also cuts connections whose request is still arriving.
          NetServer.prototype.close.call(server);
        },
      });
    });
  });
}

/**
 * Its timeouts are tightened: by default, slow connections would stay open for over 45 s. Choice: 8 s for the header and 10 s for the whole
 * request, as much as the other transport allows.
 */
function createNodeServer(tls: TransportOptions['tls']): Server {
  const settings: ServerOptions = {
    maxHeaderSize: TRANSPORT_HEADER_BYTES_MAX,
    headersTimeout: 8_000,
    requestTimeout: 10_000,
    keepAliveTimeout: 10_000,
    connectionsCheckingInterval: 1_000,
    noDelay: true,
    insecureHTTPParser: false,
    // The header validation rejects a missing Host itself, with our own response body.
    requireHostHeader: false,
  };
  const server: Server =
    tls === null
      ? createServer(settings)
      : createTlsServer({
          ...settings,
          cert: readFileSync(tls.certFile),
          key: readFileSync(tls.keyFile),
          // As long as the transport allows a whole request; the default is two minutes.
          handshakeTimeout: 10_000,
        });
  server.maxHeadersCount = 0;
  return server;
}

/** Returns the listener that validates the header of a request and hands it on. `ended`: connections whose last response is sent. */
function createRequestListener(
  options: Pick<TransportOptions, 'onRequest' | 'onCrash'>,
  state: TransportState,
  ended: WeakSet<Socket>,
): (req: IncomingMessage, res: ServerResponse) => void {
  const gate = new HeaderValidation();
  const requests = new Map<Socket, number>();
  /** Counts the requests of a connection in the current turn of the event loop. */
  const requestsOfTurn = (socket: Socket): number => {
    if (requests.size === 0) setImmediate(() => requests.clear());
    const count = (requests.get(socket) ?? 0) + 1;
    requests.set(socket, count);
    return count;
  };
  return (req, res) => {
    // Requests pipelined behind one that ended its connection get no response.
    if (ended.has(req.socket)) {
      // Otherwise up to 2 MiB of further requests would be parsed before the connection ends.
      req.socket.pause();
      return;
    }
    const exchange = new NodeExchange(req, res, state, ended);
    if (requestsOfTurn(req.socket) === RESPONSES_PER_TURN_MAX) exchange.endConnection();
    if (req.httpVersion !== '1.1') {
      sendProblem(exchange, problem('invalid_request', 'The service speaks HTTP/1.1 only.'), { close: true });
      return;
    }
    const raw = req.rawHeaders;
    gate.begin();
    for (let i = 0; i + 1 < raw.length; i += 2) gate.field((raw[i] ?? '').toLowerCase(), raw[i + 1] ?? '');
    const target = req.url ?? '';
    const queryAt = target.indexOf('?');
    const path = queryAt < 0 ? target : target.slice(0, queryAt);
    const head = gate.end(req.method ?? '', path, queryAt < 0 ? null : target.slice(queryAt + 1));
    exchange.contentLength = head.contentLength;
    exchange.cold = head.cold;
    try {
      options.onRequest(head, exchange);
    } catch (error) {
      options.onCrash(error, exchange);
    }
  };
}

/** Closes the connection, after a response in the usual format if the parser rejected a request. */
function refuseBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || !isOfRequest(error.code)) {
    socket.destroy();
    return;
  }
  const fault = brokenRequest(error.code);
  const body = problemBody(fault, newId('req', Date.now()));
  socket.write(
    `HTTP/1.1 ${statusLine(fault.status)}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  // Closes the connection once the response is sent, whether or not the client closes its own side.
  socket.destroySoon();
}

/**
 * Returns whether the request is at fault, and not the connection. Before the end of a TLS handshake nothing can be sent: a response would
 * wait for ever, and the connection with it.
 */
function isOfRequest(code: string | undefined): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' || code?.startsWith('HPE_') === true;
}

function brokenRequest(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return problem('headers_too_large', 'The header fields are too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return problem('invalid_request', 'The request took too long to arrive.');
  return problem('invalid_request', 'The request is not well-formed HTTP/1.1.');
}

class NodeExchange implements Exchange {
  contentLength = -1;
  cold: ColdHeaders = NO_COLD_HEADERS;
  aborted = false;
  #isLast = false;
  #isStreaming = false;
  /** Lines of `addFields`. */
  #more = '';
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #state: TransportState;
  /** Connections that end with a response already sent. */
  readonly #ended: WeakSet<Socket>;

  constructor(req: IncomingMessage, res: ServerResponse, state: TransportState, ended: WeakSet<Socket>) {
    this.#state = state;
    this.#ended = ended;
    this.#req = req;
    this.#res = res;
    res.on('close', () => {
      this.aborted = true;
    });
    req.on('error', () => {
      this.aborted = true;
    });
  }

  /** Closes the connection after this response. Later requests on it get no response. */
  endConnection(): void {
    this.#isLast = true;
    this.#ended.add(this.#req.socket);
  }

  remoteAddress(): string {
    return this.#state.trustedProxies.clientOf(this.peerAddress(), this.cold.get('x-forwarded-for'));
  }

  peerAddress(): string {
    return this.#req.socket.remoteAddress ?? '';
  }

  readBody(
    bytesMax: number,
    done: (body: Uint8Array | null, isOwned?: boolean) => void,
    pace?: (pieceBytes: number) => Promise<void> | null,
    onGone?: () => void,
  ): void {
    if (this.contentLength > bytesMax) {
      done(null);
      return;
    }
    let first: Buffer | null = null;
    let earlier: BodyPieces | null = null;
    let held: HeldBody | null = null;
    let finished = false;
    /** Reserves room for received bytes; false if there is none. A body that arrives in one piece is not counted. */
    const hold = (bytes: number): boolean => {
      if (bytes === this.contentLength) return true;
      if (held === null) {
        const body = holdBody(this.#state, this);
        this.#res.once('close', () => body.release());
        held = body;
      }
      return held.take(bytes);
    };
    if (onGone !== undefined)
      this.#res.once('close', () => {
        if (!finished) onGone();
      });
    this.#req.on('data', (chunk: Buffer) => {
      if (finished) return;
      if ((earlier?.length ?? first?.length ?? 0) + chunk.length > bytesMax) {
        finished = true;
        held?.release();
        this.#guarded(() => done(null));
      } else if (!hold(chunk.length)) {
        finished = true;
        held?.release();
        first = null;
        earlier = null;
        onGone?.();
        this.#guarded(() => refuseHeldBody(this));
      } else if (first === null) first = chunk;
      else {
        // Many small buffers would take far more memory than the bytes in them.
        if (earlier === null) {
          earlier = new BodyPieces(this.contentLength);
          earlier.add(first);
        }
        earlier.add(chunk);
      }
      const next = finished ? null : (pace?.(chunk.length) ?? null);
      if (next !== null) this.pauseUntil(next);
    });
    this.#req.on('end', () => {
      if (finished || this.aborted) return;
      finished = true;
      held?.release();
      this.#guarded(() => done(earlier?.joined() ?? first ?? EMPTY, earlier !== null));
    });
  }

  /** A request is read only once somebody listens, so there is nothing to pause before `readBody`. */
  pauseUntil(next: Promise<void>): void {
    this.#req.pause();
    void next.finally(() => this.#req.resume());
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#state.onCrash(error, this);
    }
  }

  addFields(lines: string): void {
    this.#more += lines;
  }

  send(status: number, fields: HeaderFields, body: string | Uint8Array, closeAfter = false): void {
    if (this.aborted || this.#isStreaming) return;
    const close = closeAfter || this.#isLast || this.#state.draining;
    this.aborted = true;
    this.#writeHead(status, fields, hasNoContent(status) ? null : Buffer.byteLength(body), close);
    this.#res.end(body);
    this.#afterResponse(close);
  }

  async sendStream(status: number, fields: HeaderFields, body: StreamedBody): Promise<void> {
    const onCrash = (error: unknown): void => this.#state.onCrash(error, this);
    if (this.aborted || this.#isStreaming) {
      cancelBody(body, onCrash);
      return;
    }
    const close = this.#isLast || this.#state.draining;
    this.#isStreaming = true;
    const writeHead = (): void => this.#writeHead(status, fields, body.bytes, close);
    if (this.#req.method === 'HEAD') {
      cancelBody(body, onCrash);
      writeHead();
      this.#res.end();
    } else {
      const sink = new NodeSink(this.#res, this.#req.socket, writeHead);
      try {
        await pump(body, sink, onCrash);
      } catch (error) {
        if (sink.isBegun && !sink.isDone) this.#req.socket.destroy();
        this.aborted ||= sink.isBegun;
        this.#isStreaming = false;
        onCrash(error);
        return;
      } finally {
        sink.release();
      }
    }
    this.aborted = true;
    this.#afterResponse(close);
  }

  #afterResponse(close: boolean): void {
    if (!close) {
      this.#req.resume();
      return;
    }
    // The rest of the request body is not needed. The socket closes once the response is sent.
    this.#ended.add(this.#req.socket);
    this.#res.once('finish', () => this.#req.socket.destroySoon());
  }

  /** `bytes`: length of the body; null for a response without a body, and for one of unknown length. */
  #writeHead(status: number, fields: HeaderFields, bytes: number | null, close: boolean): void {
    const headers: string[] = ['Content-Type'];
    for (const [i, line] of (fields + this.#more).split('\r\n').entries()) {
      const colon = i === 0 ? -1 : line.indexOf(': ');
      if (colon >= 0) headers.push(line.slice(0, colon));
      headers.push(line.slice(colon < 0 ? 0 : colon + 2));
    }
    if (hasNoContent(status)) headers.splice(0, 2);
    if (bytes !== null) headers.push('Content-Length', String(bytes));
    if (close) headers.push('Connection', 'close');
    this.#res.writeHead(status, headers);
  }
}

const EMPTY = Buffer.alloc(0);
