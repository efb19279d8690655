/**
 * Buffers of one size that are used again. V8 counts the bytes of new buffers, and after some 64 MB of them it collects its whole heap,
 * which stops the thread for several milliseconds. A buffer that is never returned is collected like any other.
 */
export class BufferPool {
  readonly #bytes: number;
  readonly #keptMax: number;
  readonly #free: Buffer[] = [];
  /** The memory of every buffer that was handed out, so that nothing else gets into the pool. */
  readonly #own = new WeakSet<ArrayBufferLike>();

  /** Keeps at most `keptMax` unused buffers. */
  constructor(bytes: number, keptMax: number) {
    this.#bytes = bytes;
    this.#keptMax = keptMax;
  }

  /** Returns a buffer with arbitrary content. */
  take(): Buffer {
    const kept = this.#free.pop();
    if (kept !== undefined) {
      this.#own.add(kept.buffer);
      return kept;
    }
    const made = Buffer.allocUnsafeSlow(this.#bytes);
    this.#own.add(made.buffer);
    return made;
  }

  /** Takes back the buffer of which `part` is a view; ignores every other one. Nobody may use the buffer afterwards. */
  give({ buffer }: Uint8Array): void {
    if (this.#own.delete(buffer) && this.#free.length < this.#keptMax) this.#free.push(Buffer.from(buffer));
  }
}
