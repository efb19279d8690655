import type { StreamedBody } from './exchange.ts';
import { ANSWER_PIECE_BYTES } from '../kernel/limits.ts';

/** Where a transport writes the body of one response. The header is written before the first byte of the body. */
export interface BodySink {
  /** Returns whether the client has disconnected. Nothing may be written then. */
  readonly isGone: boolean;
  /** Whether a piece is copied, or with the system, when `write` resolves. */
  readonly isCopying: boolean;
  /** Replaces the function that is called once when the client disconnects. */
  onGone(call: () => void): void;
  /** Resolves when the next piece may be written, or when the client has disconnected. The piece has 1 to `ANSWER_PIECE_BYTES` bytes. */
  write(piece: Uint8Array): Promise<void>;
  /** Completes the response. */
  end(): void;
}

/**
 * Reads a body piece by piece and writes each piece to the sink. Resolves when the body is written or the client has disconnected. Rejects
 * when the body fails, or when its length is not the announced one. Calls `return()` of a body that is not read to its end; `onCrash`
 * receives the error of a `return()` that fails.
 */
export async function pump(body: StreamedBody, sink: BodySink, onCrash: (error: unknown) => void): Promise<void> {
  const source = body.pieces[Symbol.asyncIterator]();
  const length = new AnnouncedLength(body.bytes);
  let isRead = false;
  try {
    for (;;) {
      const next = await nextOf(source, sink);
      if (next === null) return;
      if (next.done === true) {
        isRead = true;
        length.end();
        sink.end();
        return;
      }
      length.take(next.value.length);
      if (!(await writeAll(next.value, sink))) return;
      if (sink.isCopying) body.onWritten?.(next.value);
    }
  } catch (error) {
    // The client has every byte already.
    if (length.isReached && !sink.isGone) sink.end();
    throw error;
  } finally {
    if (!isRead) cancel(source, onCrash);
  }
}

/** Cancels a body of which nothing was requested yet. */
export function cancelBody({ pieces }: StreamedBody, onCrash: (error: unknown) => void): void {
  cancel(pieces[Symbol.asyncIterator](), onCrash);
}

/** Does not wait: a generator that waits for something runs its `finally` blocks only after that. */
function cancel(source: AsyncIterator<Uint8Array>, onCrash: (error: unknown) => void): void {
  void Promise.resolve()
    .then(() => source.return?.())
    .catch(onCrash);
}

/** Resolves to null as soon as the client has disconnected, even if the source has not responded. */
function nextOf(source: AsyncIterator<Uint8Array>, sink: BodySink): Promise<IteratorResult<Uint8Array> | null> {
  if (sink.isGone) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    sink.onGone(() => resolve(null));
    source.next().then(resolve, reject);
  });
}

/** Returns false if the client has disconnected. */
async function writeAll(piece: Uint8Array, sink: BodySink): Promise<boolean> {
  for (let from = 0; from < piece.length && !sink.isGone; from += ANSWER_PIECE_BYTES) {
    await sink.write(piece.subarray(from, from + ANSWER_PIECE_BYTES));
  }
  return !sink.isGone;
}

/** Checks a body against its announced length: a client would take missing bytes from the next response. */
class AnnouncedLength {
  readonly #bytes: number | null;
  #taken = 0;

  constructor(bytes: number | null) {
    this.#bytes = bytes;
  }

  get isReached(): boolean {
    return this.#taken === this.#bytes;
  }

  take(bytes: number): void {
    this.#taken += bytes;
    if (this.#bytes !== null && this.#taken > this.#bytes) throw this.#fault('has more');
  }

  end(): void {
    if (this.#bytes !== null && this.#taken < this.#bytes) throw this.#fault(`ended at ${this.#taken}`);
  }

  #fault(what: string): Error {
    return new Error(`the body of a response was announced with ${this.#bytes} bytes and ${what}`);
  }
}
