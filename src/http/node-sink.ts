import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { BodySink } from './stream-body.ts';

/** Choice: as the other transport; a client that takes no byte of a response for this long is disconnected. */
const STALLED_MS_MAX = 10_000;

/** Writes a body to a response of `node:http`, which buffers at most one piece. */
export class NodeSink implements BodySink {
  /** `node:http` keeps a reference to what the system has not taken yet. */
  readonly isCopying = false;
  isGone = false;
  isBegun = false;
  isDone = false;
  readonly #res: ServerResponse;
  readonly #socket: Socket;
  readonly #writeHead: () => void;
  #onGone: () => void = () => {};

  constructor(res: ServerResponse, socket: Socket, writeHead: () => void) {
    this.#res = res;
    this.#socket = socket;
    this.#writeHead = writeHead;
    // The socket's own event, because a response that waits behind another one of its connection has none. Many may wait.
    socket.setMaxListeners(0).once('close', this.#gone);
  }

  onGone(call: () => void): void {
    this.#onGone = call;
  }

  write(piece: Uint8Array): Promise<void> {
    this.#begin();
    return this.#res.write(piece) ? Promise.resolve() : this.#drained();
  }

  end(): void {
    this.#begin();
    this.#res.end();
    this.isDone = true;
  }

  /** Must be called after the last write. */
  release(): void {
    this.#socket.off('close', this.#gone);
  }

  #begin(): void {
    if (this.isBegun) return;
    this.isBegun = true;
    this.#writeHead();
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        this.#res.off('drain', go);
        this.#res.socket?.setTimeout(0);
        resolve();
      };
      // The server destroys a socket that times out. A response that waits behind another one has none.
      this.#res.socket?.setTimeout(STALLED_MS_MAX);
      this.#res.on('drain', go);
      this.onGone(go);
    });
  }

  readonly #gone = (): void => {
    this.isGone = true;
    this.#onGone();
  };
}
