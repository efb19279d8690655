import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { readFileSync } from 'node:fs';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { Exchange, HeaderFields } from '../base/exchange.ts';
import { newId } from '../base/ids.ts';
import { problem, problemBody, type Problem } from '../base/problem.ts';
import { sendProblem } from '../base/reply.ts';
import { TRANSPORT_HEADER_BYTES_MAX } from '../limits.ts';
import { BodyRoom, type HeldBody } from './body-room.ts';
import { BodyPieces } from './body-pieces.ts';
import { HeaderGate } from './gate.ts';
import { statusLine } from './status-lines.ts';
import {
  holdBody,
  refuseHeldBody,
  RESPONSES_PER_TURN_MAX,
  type Transport,
  type TransportOptions,
  type TransportState,
} from './transport.ts';

/**
 * Serves by `node:http`, where there is no uWebSockets.js for the platform. Hardened: by default slow connections would stay
 * open for over 45 s. Choice: 8 s for the header and 10 s for the whole request, as much as the other transport allows.
 */
export function listenNode(options: TransportOptions): Promise<Transport> {
  const settings: ServerOptions = {
    maxHeaderSize: TRANSPORT_HEADER_BYTES_MAX,
    headersTimeout: 8_000,
    requestTimeout: 10_000,
    keepAliveTimeout: 10_000,
    connectionsCheckingInterval: 1_000,
    noDelay: true,
    insecureHTTPParser: false,
    // The gate refuses a missing Host itself, with a body of our own.
    requireHostHeader: false,
  };
  const server: Server =
    options.tls === null
      ? createServer(settings)
      : createTlsServer({
          ...settings,
          cert: readFileSync(options.tls.certFile),
          key: readFileSync(options.tls.keyFile),
          // As long as the header may take; the default is two minutes.
          handshakeTimeout: 10_000,
        });
  server.maxHeadersCount = 0;

  const gate = new HeaderGate();
  const state: TransportState = {
    draining: false,
    trustedProxies: options.trustedProxies,
    onCrash: options.onCrash,
    bodies: new BodyRoom(),
  };
  const ended = new WeakSet<Socket>();
  const requests = new Map<Socket, number>();
  /** Counts a request of the connection in this turn of the event loop. */
  const requestsOfTurn = (socket: Socket): number => {
    if (requests.size === 0) setImmediate(() => requests.clear());
    const count = (requests.get(socket) ?? 0) + 1;
    requests.set(socket, count);
    return count;
  };
  const onRequest = (req: IncomingMessage, res: ServerResponse): void => {
    // What stands behind a request that ended its connection is not answered.
    if (ended.has(req.socket)) {
      // Without it up to 2 MiB of further requests would be parsed before the connection ends.
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
    const head = gate.end(req.method ?? '', path, queryAt < 0 ? '' : target.slice(queryAt + 1));
    exchange.contentLength = head.contentLength;
    exchange.forwardedFor = gate.forwardedFor;
    try {
      options.onRequest(head, exchange);
    } catch (error) {
      options.onCrash(error, exchange);
    }
  };
  server.on('request', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // A connection that ends with an answer already given says nothing more.
    if (!ended.has(socket)) refuseBroken(error, socket);
  });

  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port, exclusive: true, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve({
        name: 'node',
        port: (server.address() as AddressInfo).port,
        drain() {
          state.draining = true;
          // Not the HTTP server's own close: that one cuts connections whose request is still on its way.
          NetServer.prototype.close.call(server);
        },
      });
    });
  });
}

/** What the parser cannot read gets the same kind of answer as everything else, and the connection ends. */
function refuseBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const fault = brokenRequest(error.code);
  const body = problemBody(fault, newId('req', Date.now()));
  socket.write(
    `HTTP/1.1 ${statusLine(fault.status)}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  // Closes the connection once the response is out, whether or not the client closes its own side.
  socket.destroySoon();
}

function brokenRequest(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return problem('headers_too_large', 'The header fields are too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return problem('invalid_request', 'The request took too long to arrive.');
  return problem('invalid_request', 'The request is not well-formed HTTP/1.1.');
}

class NodeExchange implements Exchange {
  contentLength = -1;
  forwardedFor = '';
  aborted = false;
  #isLast = false;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #state: TransportState;
  /** Connections that end with an answer already given. */
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

  /** Ends the connection with this response; requests behind this one are not answered. */
  endConnection(): void {
    this.#isLast = true;
    this.#ended.add(this.#req.socket);
  }

  remoteAddress(): string {
    return this.#state.trustedProxies.clientOf(this.#req.socket.remoteAddress ?? '', this.forwardedFor);
  }

  readBody(bytesMax: number, done: (body: Uint8Array | null) => void): void {
    if (this.contentLength > bytesMax) {
      done(null);
      return;
    }
    let first: Buffer | null = null;
    let earlier: BodyPieces | null = null;
    let held: HeldBody | null = null;
    let finished = false;
    /** Whether what has come may be kept; a body that comes in one piece is not counted. */
    const hold = (bytes: number): boolean => {
      if (bytes === this.contentLength) return true;
      if (held === null) {
        const body = holdBody(this.#state, this);
        this.#res.once('close', () => body.release());
        held = body;
      }
      return held.take(bytes);
    };
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
        this.#guarded(() => refuseHeldBody(this));
      } else if (first === null) first = chunk;
      else {
        // Many small buffers would take far more memory than the bytes in them.
        if (earlier === null) {
          earlier = new BodyPieces();
          earlier.add(first);
        }
        earlier.add(chunk);
      }
    });
    this.#req.on('end', () => {
      if (finished || this.aborted) return;
      finished = true;
      held?.release();
      this.#guarded(() => done(earlier?.joined() ?? first ?? EMPTY));
    });
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#state.onCrash(error, this);
    }
  }

  send(status: number, fields: HeaderFields, body: string | Uint8Array, closeAfter = false): void {
    if (this.aborted) return;
    const close = closeAfter || this.#isLast || this.#state.draining;
    this.aborted = true;
    const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    this.#writeHead(status, fields, status === 204 ? null : bytes, close);
    this.#res.end(body);
    if (!close) {
      this.#req.resume();
      return;
    }
    // What remains of the body is not wanted; the socket ends once the answer is out.
    this.#ended.add(this.#req.socket);
    this.#res.once('finish', () => this.#req.socket.destroySoon());
  }

  async sendPieces(
    status: number,
    fields: HeaderFields,
    pieces: readonly Uint8Array[],
    between: () => Promise<void>,
  ): Promise<void> {
    if (this.#isLast || this.#state.draining || pieces.length < 2) {
      this.send(status, fields, Buffer.concat(pieces));
      return;
    }
    if (this.aborted) return;
    const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
    this.#writeHead(status, fields, total, false);
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) await between();
      if (this.aborted) return;
      if (!this.#res.write(piece)) await this.#drained();
    }
    this.aborted = true;
    this.#res.end();
    this.#req.resume();
  }

  /** Resolves when more can be written, or the client is gone. */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        this.#res.off('drain', go);
        this.#res.off('close', go);
        resolve();
      };
      this.#res.on('drain', go);
      this.#res.on('close', go);
    });
  }

  /** `bytes`: of the body; null without one. */
  #writeHead(status: number, fields: HeaderFields, bytes: number | null, close: boolean): void {
    const headers: string[] = ['Content-Type'];
    for (const [i, line] of fields.split('\r\n').entries()) {
      const colon = i === 0 ? -1 : line.indexOf(': ');
      if (colon >= 0) headers.push(line.slice(0, colon));
      headers.push(line.slice(colon < 0 ? 0 : colon + 2));
    }
    if (bytes === null) headers.splice(0, 2);
    else headers.push('Content-Length', String(bytes));
    if (close) headers.push('Connection', 'close');
    this.#res.writeHead(status, headers);
  }
}

const EMPTY = Buffer.alloc(0);
