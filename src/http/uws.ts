import type { Exchange, HeaderFields } from '../base/exchange.ts';
import { BodyRoom, type HeldBody } from './body-room.ts';
import { BodyPieces } from './body-pieces.ts';
import { HeaderGate } from './gate.ts';
import { statusLine } from './status-lines.ts';
import { ParserTurn } from './parser-turn.ts';
import { holdBody, refuseHeldBody, type Transport, type TransportOptions, type TransportState } from './transport.ts';
import type { UwsModule, UwsResponse } from './uws-types.ts';

/**
 * Serves by uWebSockets.js; null where the address cannot be bound. Must run on the main thread: the end of a worker thread that
 * hosts an App ends the process.
 */
export function listenUws(uws: UwsModule, options: TransportOptions): Promise<Transport | null> {
  const gate = new HeaderGate();
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
    // Before anything can throw: an exception without it would end the process.
    const exchange = new UwsExchange(res, state);
    state.turn.isParsing = true;
    try {
      gate.begin();
      req.forEach(gate.field);
      const head = gate.end(req.getCaseSensitiveMethod(), req.getUrl(), req.getQuery() ?? '');
      exchange.contentLength = head.contentLength;
      exchange.isHead = head.method === 'HEAD';
      exchange.forwardedFor = gate.forwardedFor;
      options.onRequest(head, exchange);
    } catch (error) {
      options.onCrash(error, exchange);
    } finally {
      state.turn.isParsing = false;
    }
  });

  return new Promise((resolve) => {
    // Without the exclusive option a second server would silently share the port.
    app.listen(options.host, options.port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
      if (socket === false) {
        resolve(null);
        return;
      }
      resolve({
        name: 'uws',
        port: uws.us_socket_local_port(socket),
        drain() {
          state.draining = true;
          uws.us_listen_socket_close(socket);
        },
      });
    });
  });
}

interface UwsState extends TransportState {
  readonly turn: ParserTurn;
}

class UwsExchange implements Exchange {
  contentLength = -1;
  isHead = false;
  forwardedFor = '';
  aborted = false;
  #answered = false;
  #onAborted: (() => void) | null = null;
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
    if (this.aborted) return '';
    const peer = Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
    return this.#state.trustedProxies.clientOf(peer, this.forwardedFor);
  }

  readBody(bytesMax: number, done: (body: Uint8Array | null) => void): void {
    if (this.contentLength > bytesMax) {
      done(null);
      return;
    }
    let earlier: BodyPieces | null = null;
    let held: HeldBody | null = null;
    let finished = false;
    this.#res.onData((chunk, isLast) => {
      if (finished) return;
      const bytes = new Uint8Array(chunk);
      if ((earlier?.length ?? 0) + bytes.length > bytesMax) {
        finished = true;
        held?.release();
        this.#guarded(() => done(null));
      } else if (isLast && earlier === null) {
        finished = true;
        this.#guarded(() => done(bytes));
      } else {
        if (held === null) {
          const body = holdBody(this.#state, this);
          this.#onAborted = () => body.release();
          held = body;
        }
        if (!held.take(bytes.length)) {
          finished = true;
          held.release();
          earlier = null;
          this.#guarded(() => refuseHeldBody(this));
          return;
        }
        // The chunk's memory is the parser's and is gone after this call, so it is copied.
        const pieces = (earlier ??= new BodyPieces());
        pieces.add(bytes);
        if (!isLast) return;
        finished = true;
        held.release();
        this.#guarded(() => done(pieces.joined()));
      }
    });
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
    if (!close && this.#state.turn.mayRespond()) {
      this.#write(status, fields, body, false);
      this.aborted = true;
      return;
    }
    // The parser goes on with what stands behind this request in the same bytes, unless the answer is still owed: then it cuts
    // the connection. So what ends a connection is sent in the next turn, and nothing behind it is ever answered. The same goes for
    // what is past the turn's responses: a connection without a request behind it stays open.
    setImmediate(() => {
      if (this.aborted) return;
      this.#write(status, fields, body, close);
      this.aborted = true;
    });
  }

  async sendPieces(
    status: number,
    fields: HeaderFields,
    pieces: readonly Uint8Array[],
    between: () => Promise<void>,
  ): Promise<void> {
    if (this.isHead || this.#state.draining || pieces.length < 2) {
      // A connection that ends after its answer is written in one go; that happens once, while the service stops. HEAD has no body.
      this.send(status, fields, Buffer.concat(pieces));
      return;
    }
    if (this.aborted || this.#answered) return;
    this.#answered = true;
    const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) await between();
      if (this.aborted) return;
      await this.#writePart(piece, total, () => {
        if (at > 0) return;
        if (status !== 200) this.#res.writeStatus(statusLine(status));
        this.#res.writeHeader('Content-Type', fields);
      });
    }
    this.aborted = true;
  }

  /** Resolves when the part has left, or the client. `before` runs before it is written. */
  #writePart(part: Uint8Array, totalBytes: number, before: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.#onAborted = resolve;
      this.#res.cork(() => {
        before();
        const from = this.#res.getWriteOffset();
        this.#res.onWritable((offset) => {
          const [ok, done] = this.#res.tryEnd(part.subarray(offset - from), totalBytes);
          if (ok || done) resolve();
          return ok;
        });
        const [ok, done] = this.#res.tryEnd(part, totalBytes);
        if (ok || done) resolve();
      });
    });
  }

  #write(status: number, fields: HeaderFields, body: string | Uint8Array, close: boolean): void {
    this.#res.cork(() => {
      if (status !== 200) this.#res.writeStatus(statusLine(status));
      // Values are written as they are, so one call carries all fields.
      if (status === 204) {
        const [name, rest] = afterContentType(fields);
        this.#res.writeHeader(name, rest);
        if (close) this.#res.writeHeader('Connection', 'close');
        this.#res.endWithoutBody();
        return;
      }
      this.#res.writeHeader('Content-Type', fields);
      if (!this.isHead) this.#res.end(body, close);
      else if (close) {
        this.#res.writeHeader('Connection', 'close');
        this.#res.tryEnd('', Buffer.byteLength(body));
      } else {
        this.#res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
        this.#res.endWithoutBody();
      }
    });
    if (this.isHead && close && status !== 204) this.#res.close();
  }
}

/** The name of the second field, and all from its value on. */
function afterContentType(fields: HeaderFields): readonly [name: string, rest: string] {
  const from = fields.indexOf('\r\n') + 2;
  const colon = fields.indexOf(': ', from);
  return [fields.slice(from, colon), fields.slice(colon + 2)];
}
