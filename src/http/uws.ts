import type { Exchange, HeaderFields } from '../base/exchange.ts';
import { HeaderGate } from './gate.ts';
import { statusLine } from './status-lines.ts';
import type { Transport, TransportOptions, TransportState } from './transport.ts';
import type { UwsModule, UwsResponse } from './uws-types.ts';

/**
 * Serves by uWebSockets.js; null where the address cannot be bound. Must run on the main thread: the end of a worker thread that
 * hosts an App ends the process.
 */
export function listenUws(uws: UwsModule, options: TransportOptions): Promise<Transport | null> {
  const gate = new HeaderGate();
  const state: TransportState = { draining: false, onCrash: options.onCrash };
  const app =
    options.tls === null
      ? uws.App()
      : uws.SSLApp({ key_file_name: options.tls.keyFile, cert_file_name: options.tls.certFile });

  app.any('/*', (res, req) => {
    // Before anything can throw: an exception without it would end the process.
    const exchange = new UwsExchange(res, state);
    try {
      gate.begin();
      req.forEach(gate.field);
      const head = gate.end(req.getCaseSensitiveMethod(), req.getUrl(), req.getQuery() ?? '');
      exchange.contentLength = head.contentLength;
      options.onRequest(head, exchange);
    } catch (error) {
      options.onCrash(error, exchange);
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

class UwsExchange implements Exchange {
  contentLength = -1;
  aborted = false;
  #answered = false;
  readonly #res: UwsResponse;
  readonly #state: TransportState;

  constructor(res: UwsResponse, state: TransportState) {
    this.#res = res;
    this.#state = state;
    res.onAborted(() => {
      this.aborted = true;
    });
  }

  remoteAddress(): string {
    return this.aborted ? '' : Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
  }

  readBody(bytesMax: number, done: (body: Uint8Array | null) => void): void {
    if (this.contentLength > bytesMax) {
      done(null);
      return;
    }
    let earlier: Buffer | null = null;
    let finished = false;
    this.#res.onData((chunk, isLast) => {
      if (finished) return;
      const bytes = new Uint8Array(chunk);
      if ((earlier?.length ?? 0) + bytes.length > bytesMax) {
        finished = true;
        this.#guarded(() => done(null));
      } else if (isLast) {
        finished = true;
        const body = earlier === null ? bytes : Buffer.concat([earlier, bytes]);
        this.#guarded(() => done(body));
      } else {
        // The chunk's memory is the parser's and is gone after this call, so it is copied.
        earlier = earlier === null ? Buffer.from(bytes) : Buffer.concat([earlier, bytes]);
      }
    });
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#state.onCrash(error, this);
    }
  }

  send(status: number, fields: HeaderFields, body: string, closeAfter = false): void {
    if (this.aborted || this.#answered) return;
    this.#answered = true;
    if (!closeAfter && !this.#state.draining) {
      this.#write(status, fields, body, false);
      this.aborted = true;
      return;
    }
    // The parser goes on with what stands behind this request in the same bytes, unless the answer is still owed: then it cuts
    // the connection. So what ends a connection is sent in the next turn, and nothing behind it is ever answered.
    setImmediate(() => {
      if (this.aborted) return;
      this.#write(status, fields, body, true);
      this.aborted = true;
    });
  }

  #write(status: number, fields: HeaderFields, body: string, close: boolean): void {
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
      this.#res.end(body, close);
    });
  }
}

/** The name of the second field, and all from its value on. */
function afterContentType(fields: HeaderFields): readonly [name: string, rest: string] {
  const from = fields.indexOf('\r\n') + 2;
  const colon = fields.indexOf(': ', from);
  return [fields.slice(from, colon), fields.slice(colon + 2)];
}
