/** Choice: larger bodies are rare. Smaller ones are concatenated, which holds them in memory twice for a moment. */
const JOINED_BYTES_MAX = 1_048_576;

/**
 * Collects a response body. A body that turns out to be large moves to a buffer of the maximum size. Pages of that buffer which are never
 * written cost no memory, and no part of the body is held twice.
 */
export class Body {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #large: Buffer | null = null;
  #bytes = 0;

  /** The caller ensures that at most `bytesMax` bytes are added. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(chunk: Buffer): void {
    const at = this.#bytes;
    this.#bytes += chunk.length;
    if (this.#large !== null) chunk.copy(this.#large, at);
    else {
      this.#chunks.push(chunk);
      if (this.#bytes > JOINED_BYTES_MAX) this.#move();
    }
  }

  /** Returns the complete body. */
  take(): Buffer {
    if (this.#large !== null) return this.#large.subarray(0, this.#bytes);
    if (this.#chunks.length === 0) return EMPTY;
    return this.#chunks.length === 1 ? (this.#chunks[0] ?? EMPTY) : Buffer.concat(this.#chunks);
  }

  #move(): void {
    this.#large = Buffer.allocUnsafeSlow(this.#bytesMax);
    let at = 0;
    for (const chunk of this.#chunks) at += chunk.copy(this.#large, at);
    this.#chunks = [];
  }
}

const EMPTY = Buffer.alloc(0);
