import { Readable } from 'node:stream';
import { BodyCutError, type EgressFault } from './faults.ts';

/** Choice: pieces that wait for their reader before the connection is left to wait; each has 64 KiB at most. */
const PIECES_AHEAD = 4;

export interface RestFlow {
  /** Enough waits for the reader; what comes is taken all the same. */
  onFull(): void;
  /** The reader wants more; also told where it never was full. */
  onWanted(): void;
  /** Nobody wants more, or it has ended. */
  onLeft(): void;
}

/** What of a body is given to its reader while it comes. */
export class RestOfBody {
  readonly stream: Readable;
  readonly #flow: RestFlow;
  /** Chunks that came at once. */
  #together: Buffer[] = [];

  constructor(flow: RestFlow) {
    this.#flow = flow;
    this.stream = new Readable({
      // Pieces as they came; together they would be copied.
      objectMode: true,
      highWaterMark: PIECES_AHEAD,
      read: () => flow.onWanted(),
      destroy: (error, done) => {
        flow.onLeft();
        done(error);
      },
    });
    // It may break off before anyone reads it, who then learns of it.
    this.stream.on('error', () => {});
  }

  /** What one read of the socket brought goes on as one piece: a body in chunks of a byte would cost its reader a turn for each. */
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
