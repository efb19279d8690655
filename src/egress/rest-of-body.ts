import { Readable } from 'node:stream';
import { BodyCutError, type EgressFault } from './faults.ts';

/** Choice: chunks buffered for the reader before the connection is paused. Each has 64 KiB at most. */
const PIECES_AHEAD = 4;

export interface RestFlow {
  /** Enough is buffered for the reader. Chunks that still arrive are accepted. */
  onFull(): void;
  /** The reader wants more. Also called if the buffer never was full. */
  onWanted(): void;
  /** The reader has destroyed the stream, or the stream has ended. */
  onLeft(): void;
}

/** The remainder of a body, streamed to its reader while it arrives. */
export class RestOfBody {
  readonly stream: Readable;
  readonly #flow: RestFlow;
  /** Chunks that arrived together. */
  #together: Buffer[] = [];

  constructor(flow: RestFlow) {
    this.#flow = flow;
    this.stream = new Readable({
      // Emits chunks as they arrived. A byte stream would copy them together.
      objectMode: true,
      highWaterMark: PIECES_AHEAD,
      read: () => flow.onWanted(),
      destroy: (error, done) => {
        flow.onLeft();
        done(error);
      },
    });
    // The stream may fail before anyone reads it. The reader then gets the error.
    this.stream.on('error', () => {});
  }

  /**
   * Joins everything that one read of the socket brought into one chunk. Otherwise a body in one-byte chunks would cost its reader an event
   * loop turn for each byte.
   */
  add(chunk: Buffer): void {
    this.#together.push(chunk);
    if (this.#together.length === 1) queueMicrotask(() => this.#push());
  }

  end(): void {
    this.#push();
    this.stream.push(null);
  }

  cut(fault: EgressFault): void {
    this.stream.destroy(new BodyCutError(fault));
  }

  #push(): void {
    const chunks = this.#together;
    if (this.stream.destroyed || chunks.length === 0) return;
    this.#together = [];
    if (!this.stream.push(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))) this.#flow.onFull();
  }
}
