import type { Exchange, HeaderFields, RequestHead, StreamedBody } from './exchange.ts';
import { IncomingBody } from './incoming-body.ts';
import { type BodySink, cancelBody, pump } from './stream-body.ts';
import type { Outbox, ResponseEvent } from './thread-messages.ts';
import type { TransportState } from './transport.ts';

/** The main thread's side of one HTTP thread. */
export interface ThreadState extends TransportState {
  readonly outbox: Outbox<ResponseEvent>;
  /** The request needs no more messages. */
  forget(id: number): void;
}

/** A request that a thread of the transport has read, and its response, which that thread will write. */
export class ThreadExchange implements Exchange {
  aborted = false;
  readonly #id: number;
  readonly #head: RequestHead;
  readonly #peer: string;
  readonly #state: ThreadState;
  #isAnswered = false;
  /** Lines of `addFields`. */
  #more = '';
  #body: IncomingBody | null = null;
  #sink: ThreadSink | null = null;
  #pauses = 0;

  constructor(id: number, head: RequestHead, peer: string, state: ThreadState) {
    this.#id = id;
    this.#head = head;
    this.#peer = peer;
    this.#state = state;
  }

  remoteAddress(): string {
    return this.#state.trustedProxies.clientOf(this.#peer, this.#head.cold.get('x-forwarded-for'));
  }

  peerAddress(): string {
    return this.#peer;
  }

  readBody(
    bytesMax: number,
    done: (body: Uint8Array | null, isOwned?: boolean) => void,
    pace?: (pieceBytes: number) => Promise<void> | null,
    onGone?: () => void,
  ): void {
    const { contentLength: announced } = this.#head;
    if (announced > bytesMax) {
      done(null);
      return;
    }
    this.#body = new IncomingBody({ state: this.#state, exchange: this, announced, bytesMax, done, pace, onGone });
  }

  /** For the transport: a piece of the body has arrived. */
  takePiece(bytes: Uint8Array, isLast: boolean): void {
    try {
      this.#body?.take(bytes, isLast);
    } catch (error) {
      this.#state.onCrash(error, this);
    }
  }

  /** For the transport: the client has disconnected. */
  gone(): void {
    this.aborted = true;
    this.#state.forget(this.#id);
    if (this.#sink === null) this.#body?.gone();
    else this.#sink.gone();
  }

  /** For the transport: the next piece of a streamed body may be sent. */
  next(): void {
    this.#sink?.taken();
  }

  pauseUntil(next: Promise<void>): void {
    const pause = ++this.#pauses;
    this.#post(['pause', this.#id]);
    void next.finally(() => {
      if (pause === this.#pauses && !this.aborted) this.#post(['resume', this.#id]);
    });
  }

  addFields(lines: string): void {
    this.#more += lines;
  }

  send(status: number, fields: HeaderFields, body: string | Uint8Array, close = false): void {
    if (this.aborted || this.#isAnswered) return;
    this.#finish();
    this.#post(['send', this.#id, status, fields + this.#more, copyOf(body), close]);
  }

  async sendStream(status: number, fields: HeaderFields, body: StreamedBody): Promise<void> {
    const onCrash = (error: unknown): void => this.#state.onCrash(error, this);
    if (this.aborted || this.#isAnswered) {
      cancelBody(body, onCrash);
      return;
    }
    const begin = (): void => this.#post(['stream', this.#id, status, fields + this.#more, body.bytes]);
    if (this.#head.method === 'HEAD') {
      cancelBody(body, onCrash);
      begin();
      this.#finish();
      return;
    }
    this.#isAnswered = true;
    const sink = new ThreadSink(this.#id, this.#state.outbox, begin);
    this.#sink = sink;
    try {
      await pump(body, sink, onCrash);
      if (!this.aborted) this.#finish();
    } catch (error) {
      if (sink.isBegun && !this.aborted) {
        if (!sink.isDone) this.#post(['cut', this.#id]);
        this.#finish();
      }
      this.#isAnswered = sink.isBegun;
      this.#sink = null;
      onCrash(error);
    }
  }

  #finish(): void {
    this.#isAnswered = true;
    this.aborted = true;
    this.#state.forget(this.#id);
  }

  #post(event: ResponseEvent): void {
    this.#state.outbox.post(event);
  }
}

/** Sends the pieces of a body to the thread: the next one when the previous one was handed to the system. */
class ThreadSink implements BodySink {
  readonly isCopying = true;
  isGone = false;
  isBegun = false;
  isDone = false;
  readonly #id: number;
  readonly #outbox: Outbox<ResponseEvent>;
  readonly #begin: () => void;
  #onGone: () => void = () => {};
  #taken: () => void = () => {};

  constructor(id: number, outbox: Outbox<ResponseEvent>, begin: () => void) {
    this.#id = id;
    this.#outbox = outbox;
    this.#begin = begin;
  }

  onGone(call: () => void): void {
    this.#onGone = call;
  }

  gone(): void {
    this.isGone = true;
    this.#onGone();
  }

  taken(): void {
    this.#taken();
  }

  write(piece: Uint8Array): Promise<void> {
    this.#ensureBegun();
    this.#outbox.post(['data', this.#id, copyOf(piece)]);
    return new Promise((resolve) => {
      this.#taken = resolve;
      this.#onGone = resolve;
    });
  }

  end(): void {
    this.#ensureBegun();
    this.isDone = true;
    this.#outbox.post(['end', this.#id]);
  }

  #ensureBegun(): void {
    if (this.isBegun) return;
    this.isBegun = true;
    this.#begin();
  }
}

/** A message would copy all of the memory that a view belongs to. */
function copyOf<T extends string | Uint8Array>(body: T): T | Uint8Array {
  return typeof body === 'string' ? body : new Uint8Array(body);
}
