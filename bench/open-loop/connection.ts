import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/**
 * A keep-alive HTTP/1.1 connection with at most one request in flight, over a raw socket. A full HTTP client would cost the load generator
 * several times the processor time of the echo server that it measures.
 */

export interface ConnectionEvents {
  /** A complete response was read; the connection is free again. */
  readonly onResponse: (status: number) => void;
  /** The connection ended or failed. `wasBusy`: a request was in flight and will get no response. */
  readonly onEnd: (wasBusy: boolean) => void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const NOTHING = Buffer.alloc(0);
/** Offset and length of the status code in `HTTP/1.1 200 OK`. */
const STATUS_AT = 9;
const STATUS_CHARACTERS = 3;

export class Connection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  #received: Buffer = NOTHING;
  #isBusy = false;
  #isClosing = false;

  constructor(origin: URL, events: ConnectionEvents) {
    this.#events = events;
    const isTls = origin.protocol === 'https:';
    const port = Number(origin.port || (isTls ? 443 : 80));
    const host = origin.hostname.replace(/^\[|\]$/g, '');
    this.#socket = isTls ? connectTls({ host, port, servername: host }) : connectTcp({ host, port });
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('close', () => {
      const wasBusy = this.#isBusy;
      this.#isBusy = false;
      this.#events.onEnd(wasBusy);
    });
  }

  send(request: Uint8Array): void {
    this.#isBusy = true;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = this.#received.latin1Slice(0, headEnd).toLowerCase();
    if (!isComplete(head, this.#received, headEnd + HEAD_END.length)) return;
    this.#isClosing ||= head.includes('\r\nconnection: close');
    this.#received = NOTHING;
    this.#isBusy = false;
    this.#events.onResponse(Number(head.slice(STATUS_AT, STATUS_AT + STATUS_CHARACTERS)));
    if (this.#isClosing) this.#socket.destroy();
  }

  /** Whether the server announced that it closes the connection; nothing more may be sent on it. */
  get isClosing(): boolean {
    return this.#isClosing;
  }
}

function isComplete(head: string, received: Buffer, bodyFrom: number): boolean {
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  if (length !== undefined) return received.length >= bodyFrom + Number(length);
  return received.subarray(bodyFrom).subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
}
