import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Handler, StreamedBody } from '../../src/http/exchange.ts';
import { problem } from '../../src/contract/problem.ts';
import { sendProblem } from '../../src/http/reply.ts';
import { TrustedProxies } from '../../src/http/trusted-proxies.ts';
import { listen } from '../../src/http/listen.ts';
import type { Transport, TransportOptions } from '../../src/http/transport.ts';

/** A transport in this process with handlers of the test, for responses that no endpoint sends. */
export interface HandlersServer {
  readonly transport: Transport;
  /** Errors reported to `onCrash`. */
  readonly crashes: unknown[];
  /** Opens a connection and sends requests, each `GET /path` by default. */
  open(...requests: readonly string[]): Client;
}

export async function serveHandlers(
  name: 'uws' | 'node',
  handlers: Readonly<Record<string, Handler>>,
  tls: TransportOptions['tls'] = null,
): Promise<HandlersServer> {
  const crashes: unknown[] = [];
  const listening = await listen(name, {
    host: '127.0.0.1',
    port: 0,
    tls,
    trustedProxies: new TrustedProxies([]),
    onRequest: (head, exchange) => handlers[head.path]?.(head, exchange),
    onCrash(error, exchange) {
      crashes.push(error);
      sendProblem(exchange, problem('internal_error', 'The request failed.'), { close: true });
    },
  });
  if (listening.kind !== 'listening') throw new Error(`cannot listen by ${name}`);
  const { transport } = listening;
  return {
    transport,
    crashes,
    open(...requests) {
      const address = { port: transport.port, host: '127.0.0.1' };
      const socket = tls === null ? connectPlain(address) : connectTls({ ...address, rejectUnauthorized: false });
      socket.write(requests.map((line) => `${line} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
      return new Client(socket);
    },
  };
}

export interface Received {
  readonly status: number;
  /** The header as sent, without its last empty line. */
  readonly header: string;
  readonly body: Buffer;
}

const ENDED_EARLY = 'the connection was closed before the response was complete';

/** Reads responses from a connection, one after the other. */
export class Client {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #bytes = Buffer.alloc(0);
  #isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isClosed = true;
        resolve();
      });
    });
  }

  send(line: string): void {
    this.socket.write(`${line} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }

  /** Resolves with the next complete response. Throws if the connection ends before. */
  async response(isHead = false): Promise<Received> {
    const headEnd = await this.#until((bytes) => bytes.indexOf('\r\n\r\n'));
    const header = this.#bytes.toString('latin1', 0, headEnd);
    this.#bytes = this.#bytes.subarray(headEnd + 4);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(header)?.[1]);
    const length = /^content-length: (\d+)$/im.exec(header)?.[1];
    if (isHead || status === 304 || status === 204) return { status, header, body: Buffer.alloc(0) };
    if (length !== undefined) return { status, header, body: await this.#take(Number(length)) };
    if (!/^transfer-encoding: chunked$/im.test(header)) throw new Error(`a response without a length: ${header}`);
    return { status, header, body: await this.#chunks() };
  }

  /** Resolves with what arrived and was not part of a complete response, when the connection is closed. */
  async rest(): Promise<string> {
    while (!this.#isClosed) await this.#more();
    return this.#bytes.toString('latin1');
  }

  async #chunks(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (;;) {
      const lineEnd = await this.#until((bytes) => bytes.indexOf('\r\n'));
      const size = Number.parseInt(this.#bytes.toString('latin1', 0, lineEnd), 16);
      this.#bytes = this.#bytes.subarray(lineEnd + 2);
      const chunk = await this.#take(size + 2);
      if (size === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, size));
    }
  }

  async #take(count: number): Promise<Buffer> {
    // Joined once: a large body arrives in hundreds of parts.
    const parts = [this.#bytes];
    let length = this.#bytes.length;
    while (length < count) {
      if (this.#isClosed) throw new Error(ENDED_EARLY);
      this.#bytes = Buffer.alloc(0);
      await this.#more();
      parts.push(this.#bytes);
      length += this.#bytes.length;
    }
    const bytes = Buffer.concat(parts, length);
    this.#bytes = bytes.subarray(count);
    return bytes.subarray(0, count);
  }

  async #until(find: (bytes: Buffer) => number): Promise<number> {
    for (;;) {
      const found = find(this.#bytes);
      if (found >= 0) return found;
      if (this.#isClosed) throw new Error(ENDED_EARLY);
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const parts: Buffer[] = [this.#bytes];
    for (let part = this.socket.read() as Buffer | null; part !== null; part = this.socket.read() as Buffer | null) {
      parts.push(part);
    }
    if (parts.length > 1) {
      this.#bytes = Buffer.concat(parts);
      return;
    }
    if (this.#isClosed) return;
    await new Promise<void>((resolve) => {
      this.socket.once('readable', resolve);
      void this.closed.then(resolve);
    });
  }
}

/** A body that the test controls: counts what was requested, and notices its end. */
export class ObservedBody implements StreamedBody {
  readonly bytes: number | null;
  /** Bytes requested so far. */
  produced = 0;
  requests = 0;
  /** Resolves when `return()` was called. */
  readonly cancelled: Promise<void>;
  isCancelled = false;
  readonly #pieces: Iterator<Uint8Array | Error | 'never'>;
  #onCancelled: () => void = () => {};

  constructor(pieces: Iterable<Uint8Array | Error | 'never'>, bytes: number | null = null) {
    this.bytes = bytes;
    this.#pieces = pieces[Symbol.iterator]();
    this.cancelled = new Promise((resolve) => (this.#onCancelled = resolve));
  }

  get pieces(): AsyncIterable<Uint8Array> {
    return { [Symbol.asyncIterator]: () => ({ next: () => this.#next(), return: () => this.#return() }) };
  }

  #next(): Promise<IteratorResult<Uint8Array>> {
    this.requests++;
    const next = this.#pieces.next();
    if (next.done === true) return Promise.resolve({ done: true, value: undefined });
    if (next.value === 'never') return new Promise(() => {});
    if (next.value instanceof Error) return Promise.reject(next.value);
    this.produced += next.value.length;
    return Promise.resolve({ done: false, value: next.value });
  }

  #return(): Promise<IteratorResult<Uint8Array>> {
    this.isCancelled = true;
    this.#onCancelled();
    return Promise.resolve({ done: true, value: undefined });
  }
}
