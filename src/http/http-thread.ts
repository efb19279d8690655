import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { unreachable } from '../kernel/brand.ts';
import { problem } from '../contract/problem.ts';
import type { Exchange, RequestHead } from './exchange.ts';
import { loadUws } from './load-uws.ts';
import { sendProblem } from './reply.ts';
import {
  type HttpThreadData,
  Outbox,
  packHead,
  type RequestEvent,
  type RequestTurn,
  type ResponseEvent,
  type ThreadOrder,
} from './thread-messages.ts';
import { TrustedProxies } from './trusted-proxies.ts';
import { listenUws, type UwsExchange, type UwsTransport } from './uws.ts';

/** Choice: some 5,000 usual requests, which the main thread needs 0.2 s for. */
const WAITING_BYTES_MAX = 16 * 1_048_576;
/** Choice: what a usual header takes in a message. */
const HEAD_BYTES = 1_024;
/** Choice: how long a body is not read on while the main thread is behind. */
const BEHIND_PAUSE_MS = 20;

/** Choice: what a slow endpoint needs; the process may take 8 s to stop. */
const LAST_RESPONSES_MS = 2_000;
const LEAVE_MS = 100;

/** Answers some requests on this thread. */
export interface RequestTaker {
  /** Returns whether `take` may answer this request, once its body is here in one piece. */
  wants(head: RequestHead): boolean;
  /** Answers the request, or calls `forward` with its body, which is valid until this returns. A throw costs this request only. */
  take(head: RequestHead, exchange: Exchange, body: Uint8Array, forward: (body: Uint8Array) => void): void;
  /** Resolves when all that was taken is answered, and what was opened for it is closed. */
  close(): Promise<void>;
}

interface OpenRequest {
  readonly exchange: UwsExchange;
  pieces: RemotePieces | null;
  resume: () => void;
}

/**
 * Serves HTTP on a separate thread: hands each request to the main thread, and writes what that responds. While more than
 * `WAITING_BYTES_MAX` bytes of requests wait there, further ones are refused here.
 */
export class HttpThreadServer {
  readonly #port: MessagePort;
  readonly #taken: Int32Array;
  readonly #open = new Map<number, OpenRequest>();
  readonly #outbox: Outbox<RequestEvent>;
  #transport: Promise<UwsTransport | null> = Promise.resolve(null);
  /** Makes what answers on this thread, with what the main thread sends over the port. */
  readonly #lead: (port: MessagePort) => Promise<RequestTaker>;
  #opening: Promise<RequestTaker> | null = null;
  #taker: RequestTaker | null = null;
  #pieces: Uint8Array[] = [];
  #turnBytes = 0;
  /** Bytes of all messages so far, modulo 2^32. */
  #sent = 0;
  #ids = 0;

  constructor(port: MessagePort, taken: SharedArrayBuffer, lead: (port: MessagePort) => Promise<RequestTaker>) {
    this.#port = port;
    this.#lead = lead;
    this.#taken = new Int32Array(taken);
    this.#outbox = new Outbox((events) => this.#send(events), setImmediate);
  }

  /** Listens, and from then on obeys the main thread. */
  start(data: HttpThreadData): void {
    this.#transport = this.#listen(data);
    this.#port.on('message', (order: ThreadOrder) => void this.#obey(order));
  }

  async #listen({
    host,
    port,
    tls,
    connections,
    shared,
    dataDir,
    ...data
  }: HttpThreadData): Promise<UwsTransport | null> {
    const loaded = loadUws(dataDir ?? undefined);
    if (loaded.kind !== 'loaded') throw new Error(loaded.detail);
    const transport = await listenUws(loaded.uws, {
      host,
      port,
      tls,
      trustedProxies: new TrustedProxies(data.trustedProxies),
      ...(connections !== null && { connections }),
      shared,
      onRequest: (head, exchange) => this.#forward(head, exchange),
      onCrash(error) {
        // The main thread has reported why it cut a response.
        if (!(error instanceof CutBody)) throw error;
      },
    });
    // Its first message. All others are turns.
    this.#port.postMessage(transport !== null);
    return transport;
  }

  #forward(head: RequestHead, exchange: UwsExchange): void {
    if (this.#isBehind()) {
      const fault = problem('overloaded', 'The service is at its capacity.', {
        retryAfterSeconds: 1,
        reason: 'capacity',
      });
      sendProblem(exchange, fault, { close: true });
      return;
    }
    const taker = this.#taker?.wants(head) === true ? this.#taker : null;
    let id = taker === null ? this.#forwardHead(head, exchange) : null;
    exchange.readPieces(
      (piece, isLast) => {
        // Once the taker is closed, the main thread gets the request.
        if (id === null && taker !== null && isLast && taker === this.#taker) {
          try {
            taker.take(head, exchange, piece, (body) => {
              id = this.#forwardHead(head, exchange);
              this.#forwardPiece(id, exchange, body, true);
            });
          } catch (error) {
            if (id !== null) throw error;
            id = this.#crash(head, exchange, error);
          }
          return;
        }
        id ??= this.#forwardHead(head, exchange);
        this.#forwardPiece(id, exchange, piece, isLast);
      },
      () => {
        if (id !== null) this.#gone(id);
      },
    );
  }

  #forwardHead(head: RequestHead, exchange: UwsExchange): number {
    const id = this.#enter(exchange);
    this.#outbox.post(['head', id, packHead(head), exchange.peerAddress()]);
    return id;
  }

  /** Only this request is lost: the main thread counts and logs it, and responds. */
  #crash(head: RequestHead, exchange: UwsExchange, error: unknown): number {
    const id = this.#enter(exchange);
    const fault = error instanceof Error ? error : new Error(String(error));
    this.#outbox.post(['crash', id, packHead(head), exchange.peerAddress(), fault]);
    return id;
  }

  #enter(exchange: UwsExchange): number {
    const id = ++this.#ids;
    this.#open.set(id, { exchange, pieces: null, resume: () => {} });
    this.#turnBytes += HEAD_BYTES;
    return id;
  }

  #forwardPiece(id: number, exchange: UwsExchange, piece: Uint8Array, isLast: boolean): void {
    if (!this.#open.has(id)) return;
    this.#pieces.push(new Uint8Array(piece));
    this.#turnBytes += piece.length;
    this.#outbox.post(['piece', id, piece.length, isLast]);
    if (!isLast && this.#isBehind()) exchange.pauseUntil(new Promise((resume) => setTimeout(resume, BEHIND_PAUSE_MS)));
  }

  #isBehind(): boolean {
    return ((this.#sent + this.#turnBytes - Atomics.load(this.#taken, 0)) | 0) > WAITING_BYTES_MAX;
  }

  #gone(id: number): void {
    const request = this.#open.get(id);
    if (request === undefined) return;
    this.#open.delete(id);
    this.#outbox.post(['gone', id]);
  }

  #send(events: readonly RequestEvent[]): void {
    const parts = this.#pieces;
    const pieces = new Uint8Array(parts.reduce((bytes, part) => bytes + part.length, 0));
    let at = 0;
    for (const part of parts) {
      pieces.set(part, at);
      at += part.length;
    }
    const turn: RequestTurn = { events, pieces, bytes: this.#turnBytes };
    this.#sent = (this.#sent + this.#turnBytes) | 0;
    this.#pieces = [];
    this.#turnBytes = 0;
    this.#port.postMessage(turn, [pieces.buffer]);
  }

  async #obey(order: ThreadOrder): Promise<void> {
    if (order === 'drain') (await this.#transport)?.drain();
    else if (order === 'close') {
      await this.#finish();
      (await this.#transport)?.cut();
      // Ends the thread.
      this.#port.close();
    } else if ('lead' in order) {
      this.#opening = this.#lead(order.lead);
      this.#taker = await this.#opening;
    } else for (const event of order) this.#respond(event);
  }

  /** Resolves when all that was taken is answered, and what the main thread has, unless it takes longer than `LAST_RESPONSES_MS`. */
  async #finish(): Promise<void> {
    const taker = await this.#opening;
    this.#taker = null;
    await taker?.close();
    const startedAtMs = performance.now();
    while (this.#open.size > 0 && performance.now() - startedAtMs < LAST_RESPONSES_MS) await sleep(1);
    // A response that closes its connection is written in the next turn, and then needs time to leave the socket.
    await sleep(LEAVE_MS);
  }

  #respond(event: ResponseEvent): void {
    const [kind, id] = event;
    const request = this.#open.get(id);
    if (request === undefined) return;
    switch (kind) {
      case 'send': {
        const [, , status, fields, body, close] = event;
        this.#open.delete(id);
        request.exchange.send(status, fields, body, close);
        break;
      }
      case 'stream': {
        const [, , status, fields, bytes] = event;
        const pieces = new RemotePieces(() => this.#outbox.post(['next', id]));
        request.pieces = pieces;
        void request.exchange.sendStream(status, fields, { bytes, pieces }).finally(() => {
          this.#open.delete(id);
          if (pieces.isOpen) this.#outbox.post(['gone', id]);
        });
        break;
      }
      case 'data':
        request.pieces?.add(event[2]);
        break;
      case 'end':
        request.pieces?.end();
        break;
      case 'cut':
        request.pieces?.cut();
        break;
      case 'pause':
        request.exchange.pauseUntil(new Promise((resume) => (request.resume = resume)));
        break;
      case 'resume':
        request.resume();
        break;
      default:
        unreachable(kind);
    }
  }
}

class CutBody extends Error {
  constructor() {
    super('the main thread has cut the body of a response');
  }
}

/** The body of a response, of which the main thread sends the next piece when this one asks for it. */
class RemotePieces implements AsyncIterableIterator<Uint8Array> {
  readonly #ask: () => void;
  #piece: Uint8Array | null = null;
  #end: 'open' | 'done' | 'cut' = 'open';
  #isFirst = true;
  #settle: () => void = () => {};

  constructor(ask: () => void) {
    this.#ask = ask;
  }

  /** Whether the main thread has more to send. */
  get isOpen(): boolean {
    return this.#end === 'open';
  }

  add(piece: Uint8Array): void {
    this.#piece = piece;
    this.#settle();
  }

  end(): void {
    this.#end = 'done';
    this.#settle();
  }

  cut(): void {
    this.#end = 'cut';
    this.#settle();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    // The main thread sends the first piece by itself.
    if (!this.#isFirst) this.#ask();
    this.#isFirst = false;
    if (this.#piece === null && this.#end === 'open') await new Promise<void>((settle) => (this.#settle = settle));
    const value = this.#piece;
    this.#piece = null;
    if (value !== null) return { done: false, value };
    if (this.#end === 'cut') throw new CutBody();
    return { done: true, value: undefined };
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
