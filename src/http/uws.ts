import { type ColdHeaders, NO_COLD_HEADERS } from '../kernel/cold-headers.ts';
import type { Exchange, HeaderFields, RequestHead, StreamedBody } from './exchange.ts';
import { BodyRoom } from './body-room.ts';
import { countConnections } from './census.ts';
import { ConnectionRoom, type SharedBounds } from './connection-room.ts';
import { EstimatedCounts } from './estimated-counts.ts';
import { HeaderValidation } from './gate.ts';
import { IncomingBody } from './incoming-body.ts';
import { hasNoContent, statusLine } from './status-lines.ts';
import { cancelBody, pump } from './stream-body.ts';
import { ParserTurn } from './parser-turn.ts';
import type { Transport, TransportOptions, TransportState } from './transport.ts';
import { UwsChunkedSink, UwsSizedSink } from './uws-sink.ts';
import type { UwsApp, UwsModule, UwsResponse } from './uws-types.ts';

/** `onRequest` of a thread that hands its requests on reads their bodies in pieces. */
export interface UwsOptions extends Omit<TransportOptions, 'onRequest'> {
  readonly onRequest: (head: RequestHead, exchange: UwsExchange) => void;
  /** Set if several threads listen on the port. */
  readonly shared?: SharedBounds;
}

export interface UwsTransport extends Transport {
  /** Closes all connections. When a thread ends before that, the whole process ends. */
  cut(): void;
}

/** Serves with uWebSockets.js; null if the address cannot be bound. */
export function listenUws(uws: UwsModule, options: UwsOptions): Promise<UwsTransport | null> {
  const gate = new HeaderValidation();
  const state: UwsState = {
    draining: false,
    trustedProxies: options.trustedProxies,
    onCrash: options.onCrash,
    bodies: new BodyRoom(),
    turn: new ParserTurn(),
  };
  const app =
    options.tls === null
      ? uws.App()
      : uws.SSLApp({ key_file_name: options.tls.keyFile, cert_file_name: options.tls.certFile });

  app.any('/*', (res, req) => {
    // Comes before anything that can throw: without it, an exception would end the process.
    const exchange = new UwsExchange(res, state);
    state.turn.isParsing = true;
    try {
      gate.begin();
      req.forEach(gate.field);
      const head = gate.end(req.getCaseSensitiveMethod(), req.getUrl(), req.getQuery() ?? null);
      exchange.contentLength = head.contentLength;
      exchange.isHead = head.method === 'HEAD';
      exchange.cold = head.cold;
      options.onRequest(head, exchange);
    } catch (error) {
      options.onCrash(error, exchange);
    } finally {
      state.turn.isParsing = false;
    }
  });

  let port = options.port;
  const connections = boundConnections(app, options, () => port);

  return new Promise((resolve) => {
    // Without the exclusive option, a second server would silently share the port.
    const how = options.shared === undefined ? uws.LIBUS_LISTEN_EXCLUSIVE_PORT : 0;
    app.listen(options.host, options.port, how, (socket) => {
      if (socket === false) {
        resolve(null);
        return;
      }
      port = uws.us_socket_local_port(socket);
      resolve({
        name: 'uws',
        port,
        connections,
        drain() {
          state.draining = true;
          uws.us_listen_socket_close(socket);
        },
        cut() {
          app.close();
        },
      });
    });
  });
}

/** Closes connections beyond the bounds as soon as they are accepted. `port` is the port in use. */
function boundConnections(
  app: UwsApp,
  { connections: bounds, trustedProxies, tls, shared }: UwsOptions,
  port: () => number,
): ConnectionRoom | null {
  if (bounds === undefined) return null;
  const census = (): ReturnType<typeof countConnections> => countConnections(port());
  const counts = new EstimatedCounts(census, bounds.sourceConnectionsMax, undefined, shared?.threads);
  const room = new ConnectionRoom(bounds, trustedProxies, counts, tls !== null, shared);
  let isRefusing = false;
  app.filter((res, change) => {
    if (change < 0) {
      if (!isRefusing) room.leave('');
      return;
    }
    if (room.enter(addressOf(res))) return;
    // `close` calls this filter with -1 before it returns.
    isRefusing = true;
    res.close();
    isRefusing = false;
  });
  return room;
}

function addressOf(res: UwsResponse): string {
  return Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
}

interface UwsState extends TransportState {
  readonly turn: ParserTurn;
}

export class UwsExchange implements Exchange {
  contentLength = -1;
  isHead = false;
  cold: ColdHeaders = NO_COLD_HEADERS;
  aborted = false;
  #answered = false;
  /** Lines of `addFields`. */
  #more = '';
  #onAborted: (() => void) | null = null;
  #isPaused = false;
  #pauses = 0;
  readonly #res: UwsResponse;
  readonly #state: UwsState;

  constructor(res: UwsResponse, state: UwsState) {
    this.#res = res;
    this.#state = state;
    res.onAborted(() => {
      this.aborted = true;
      this.#onAborted?.();
    });
  }

  remoteAddress(): string {
    return this.#state.trustedProxies.clientOf(this.peerAddress(), this.cold.get('x-forwarded-for'));
  }

  peerAddress(): string {
    return this.aborted ? '' : addressOf(this.#res);
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
    const incoming = new IncomingBody({
      state: this.#state,
      exchange: this,
      announced: this.contentLength,
      bytesMax,
      done: (body, isOwned) => this.#guarded(() => done(body, isOwned)),
      pace,
      onGone,
    });
    this.readPieces(
      (piece, isLast) => incoming.take(piece, isLast),
      () => incoming.gone(),
    );
  }

  /**
   * Calls `take` with each piece of the body, instead of `readBody`; a request without a body has an empty one. The bytes are valid only
   * until it returns. `onGone` is called when the client has disconnected before it was answered.
   */
  readPieces(take: (piece: Uint8Array, isLast: boolean) => void, onGone: () => void): void {
    this.#onAborted = onGone;
    this.#res.onData((chunk, isLast) => {
      if (isLast) this.#resume();
      // The chunk's memory belongs to the parser.
      take(new Uint8Array(chunk), isLast);
    });
  }

  /** Pieces that the library had read already may still arrive during a pause, and extend it. */
  pauseUntil(next: Promise<void>): void {
    if (!this.#isPaused) this.#res.pause();
    this.#isPaused = true;
    const pause = ++this.#pauses;
    void next.finally(() => {
      if (pause === this.#pauses) this.#resume();
    });
  }

  /** Must be called before a response that keeps the connection open: a connection that stays paused would never be read again. */
  #resume(): void {
    if (this.#isPaused && !this.aborted) this.#res.resume();
    this.#isPaused = false;
  }

  #guarded(work: () => void): void {
    this.#state.turn.isParsing = true;
    try {
      work();
    } catch (error) {
      this.#state.onCrash(error, this);
    } finally {
      this.#state.turn.isParsing = false;
    }
  }

  send(status: number, fields: HeaderFields, body: string | Uint8Array, closeAfter = false): void {
    if (this.aborted || this.#answered) return;
    this.#answered = true;
    const close = closeAfter || this.#state.draining;
    // Otherwise up to 512 KB of a body that nobody needs would be read before the connection is closed.
    if (!close) this.#resume();
    if (!close && this.#state.turn.mayRespond()) {
      this.#write(status, fields, body, false);
      this.aborted = true;
      return;
    }
    // If this response is sent now, the parser continues with the requests pipelined in the same bytes; if it is still outstanding, the
    // parser cuts the connection at the next one. A response that ends its connection is therefore sent in the next turn, so that no later
    // request gets a response. So are responses beyond the limit of the turn: their connection stays open only if no request follows in the
    // same bytes.
    setImmediate(() => {
      if (this.aborted) return;
      this.#write(status, fields, body, close);
      this.aborted = true;
    });
  }

  addFields(lines: string): void {
    this.#more += lines;
  }

  async sendStream(status: number, fields: HeaderFields, body: StreamedBody): Promise<void> {
    const onCrash = (error: unknown): void => this.#state.onCrash(error, this);
    if (this.aborted || this.#answered || this.isHead) {
      cancelBody(body, onCrash);
      if (this.isHead) this.#sendHead(status, fields, body.bytes);
      return;
    }
    this.#answered = true;
    const writeHeader = (): void => {
      this.#writeHeader(status, fields);
      // The client has to close it: the library can close a connection only after a complete body.
      if (this.#state.draining) this.#res.writeHeader('Connection', 'close');
    };
    const sink =
      body.bytes === null
        ? new UwsChunkedSink(this.#res, writeHeader)
        : new UwsSizedSink(this.#res, body.bytes, writeHeader);
    this.#onAborted = () => sink.gone();
    try {
      await pump(body, sink, onCrash);
      this.aborted = true;
    } catch (error) {
      if (sink.isBegun && !sink.isDone && !this.aborted) this.#res.close();
      this.aborted ||= sink.isBegun;
      this.#answered = sink.isBegun;
      onCrash(error);
    }
  }

  /** Sends the header of a response to HEAD whose body has this length; null if the length is unknown. */
  #sendHead(status: number, fields: HeaderFields, bytes: number | null): void {
    if (this.aborted || this.#answered) return;
    this.#answered = true;
    // In the next turn, as in `send`.
    setImmediate(() => {
      if (this.aborted) return;
      this.#writeHead(status, fields, bytes, this.#state.draining);
      this.aborted = true;
    });
  }

  /** Values are written as they are, so one call carries all fields. */
  #writeHeader(status: number, fields: HeaderFields): void {
    if (status !== 200) this.#res.writeStatus(statusLine(status));
    this.#res.writeHeader('Content-Type', this.#more === '' ? fields : fields + this.#more);
  }

  #write(status: number, fields: HeaderFields, body: string | Uint8Array, close: boolean): void {
    if (hasNoContent(status)) this.#writeEmpty(status, fields + this.#more, close);
    else if (this.isHead) this.#writeHead(status, fields, Buffer.byteLength(body), close);
    else {
      this.#res.cork(() => {
        this.#writeHeader(status, fields);
        this.#res.end(body, close);
      });
    }
  }

  #writeEmpty(status: number, fields: HeaderFields, close: boolean): void {
    const [name, rest] = afterContentType(fields);
    this.#res.cork(() => {
      this.#res.writeStatus(statusLine(status));
      this.#res.writeHeader(name, rest);
      if (close) this.#res.writeHeader('Connection', 'close');
      this.#res.endWithoutBody();
    });
  }

  #writeHead(status: number, fields: HeaderFields, bytes: number | null, close: boolean): void {
    // Closes a response that never counts as complete, because its body is missing. Any other one is left to the client to close.
    const mayClose = close && bytes !== null && bytes > 0;
    this.#res.cork(() => {
      this.#writeHeader(status, fields);
      if (close) this.#res.writeHeader('Connection', 'close');
      if (mayClose) this.#res.tryEnd('', bytes);
      else {
        if (bytes !== null) this.#res.writeHeader('Content-Length', String(bytes));
        this.#res.endWithoutBody();
      }
    });
    if (mayClose) this.#res.close();
  }
}

/** Returns the name of the second field, and everything from its value on. */
function afterContentType(fields: HeaderFields): readonly [name: string, rest: string] {
  const from = fields.indexOf('\r\n') + 2;
  const colon = fields.indexOf(': ', from);
  return [fields.slice(from, colon), fields.slice(colon + 2)];
}
