import type { BodySink } from './stream-body.ts';
import type { UwsResponse } from './uws-types.ts';

/**
 * Choice: bytes written at once while bytes of earlier writes wait in the library's buffer. A socket becomes writable when it has room for
 * at least twice as many, so the buffer shrinks with each of these writes, and never holds much more than one piece.
 */
const CONGESTED_WRITE_BYTES = 1_024;

/** What the sinks of both framings share: one waiter at a time, for the socket or for the client's end. */
abstract class UwsSink implements BodySink {
  readonly isCopying = true;
  isGone = false;
  /** The response is complete, so it must not be used any more. */
  isDone = false;
  protected readonly res: UwsResponse;
  readonly #writeHeader: () => void;
  #onGone: () => void = () => {};
  #isBegun = false;

  /** `writeHeader` writes status and fields, and runs before the first byte of the body. */
  constructor(res: UwsResponse, writeHeader: () => void) {
    this.res = res;
    this.#writeHeader = writeHeader;
  }

  get isBegun(): boolean {
    return this.#isBegun;
  }

  onGone(call: () => void): void {
    this.#onGone = call;
  }

  /** Must be called when the client has disconnected. */
  gone(): void {
    this.isGone = true;
    this.#onGone();
  }

  abstract write(piece: Uint8Array): Promise<void>;
  abstract end(): void;

  /** Runs `work` corked, after the header. `onWritable` is registered with the header. */
  protected corked(work: () => void, onWritable: (offset: number) => boolean): void {
    this.res.cork(() => {
      if (!this.#isBegun) {
        this.#isBegun = true;
        this.#writeHeader();
        this.res.onWritable(onWritable);
      }
      work();
    });
  }
}

/** For bodies of known length. Nothing is buffered: what the socket does not take is offered again when it is writable. */
export class UwsSizedSink extends UwsSink {
  readonly #totalBytes: number;
  #piece: Uint8Array = EMPTY;
  /** Offset of the piece in the body. */
  #from = 0;
  #written: () => void = () => {};

  constructor(res: UwsResponse, totalBytes: number, writeHeader: () => void) {
    super(res, writeHeader);
    this.#totalBytes = totalBytes;
  }

  write(piece: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.onGone(resolve);
      this.#written = resolve;
      this.#piece = piece;
      this.corked(() => {
        this.#from = this.res.getWriteOffset();
        this.#offer(this.#from);
      }, this.#offer);
    });
  }

  /** The response is complete with its last byte. */
  end(): void {
    if (this.#totalBytes === 0) this.corked(() => void this.res.end(''), this.#offer);
    this.isDone = true;
  }

  readonly #offer = (offset: number): boolean => {
    const [isWritten, isDone] = this.res.tryEnd(this.#piece.subarray(offset - this.#from), this.#totalBytes);
    this.isDone = isDone;
    if (isWritten || isDone) this.#written();
    return isWritten;
  };
}

/** For bodies of unknown length, in the chunked transfer coding. */
export class UwsChunkedSink extends UwsSink {
  /** Bytes of earlier writes wait in the library's buffer. */
  #isCongested = false;
  #writable: () => void = () => {};

  async write(piece: Uint8Array): Promise<void> {
    for (let from = 0; from < piece.length;) {
      const part = piece.subarray(from, this.#isCongested ? from + CONGESTED_WRITE_BYTES : piece.length);
      this.corked(() => (this.#isCongested = !this.res.write(part)), this.#drain);
      from += part.length;
      if (this.#isCongested) await this.#whenWritable();
      if (this.isGone) return;
    }
  }

  end(): void {
    this.corked(() => void this.res.end(''), this.#drain);
    this.isDone = true;
  }

  #whenWritable(): Promise<void> {
    return new Promise((resolve) => {
      this.onGone(resolve);
      this.#writable = resolve;
    });
  }

  /**
   * For a socket with an `onWritable` handler the library sends its own buffer only together with a write. Leaving a cork counts as a
   * write.
   */
  readonly #drain = (): boolean => {
    this.res.cork(() => {});
    this.#writable();
    return true;
  };
}

const EMPTY = new Uint8Array(0);
